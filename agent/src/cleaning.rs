//! Wiping disks.
//!
//! Nothing is called clean that was not read back from the disk. A disk that can't be wiped does not keep the others from
//! it, but the order has failed then: what was on a machine is gone from all of its disks, or it is said from which not.

mod ata;
pub mod device;
mod full;
pub mod machine;
mod marks;
mod metadata;
mod nvme;
pub mod spans;
#[cfg(test)]
mod tests;
mod work;
mod zeros;

use std::{collections::BTreeMap, sync::Mutex, thread};

use beskar7_agent_protocol::{
    hardware::Disk,
    order::Thoroughness,
    report::{CleanedDisk, Wiping},
};

use self::{device::Devices, work::Work};
use crate::telling::{Problem, Telling};

/// So many disks are wiped at once: more would only wait for the same buses.
const AT_ONCE: usize = 8;

/// Wipes these disks, several at a time, and says how it was done, in their order.
///
/// # Errors
/// A disk was not wiped. The others were tried.
pub fn clean(
    disks: &[Disk],
    how: Thoroughness,
    devices: &dyn Devices,
    telling: &dyn Telling,
) -> Result<Vec<CleanedDisk>, Problem> {
    let waiting = Mutex::new(groups(disks));
    let next = || waiting.lock().unwrap_or_else(|broken| broken.into_inner()).pop();
    let one_after_the_other = || {
        let mut done = Vec::new();
        while let Some(group) = next() {
            done.extend(
                group.into_iter().map(|(place, disk)| (place, clean_one(disk, how, devices, telling))),
            );
        }
        done
    };
    let mut outcomes: BTreeMap<usize, Result<CleanedDisk, Problem>> = thread::scope(|scope| {
        let workers: Vec<_> =
            (0..AT_ONCE.min(disks.len())).map(|_| scope.spawn(one_after_the_other)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap_or_default()).collect()
    });
    let outcomes = disks.iter().enumerate().map(|(place, disk)| {
        let lost =
            || Err(Problem::with_disk("wiping", &disk.path, "the agent failed in the middle: this is a bug"));
        outcomes.remove(&place).unwrap_or_else(lost)
    });
    together(outcomes.collect())
}

/// Disks with their places, in groups of which one disk after the other is wiped: namespaces of an NVMe disk, as one that
/// erases itself may take no commands for the others; and paths to the same disk, as what is written by one would be undone
/// by the other.
fn groups(disks: &[Disk]) -> Vec<Vec<(usize, &Disk)>> {
    let mut groups: Vec<Vec<(usize, &Disk)>> = Vec::new();
    for (place, disk) in disks.iter().enumerate() {
        let (with_it, others): (Vec<_>, Vec<_>) =
            groups.into_iter().partition(|group| group.iter().any(|(_, other)| belong_together(disk, other)));
        // It may be what two groups have in common.
        let mut group: Vec<_> = with_it.into_iter().flatten().chain([(place, disk)]).collect();
        group.sort_by_key(|(place, _)| *place);
        groups = others;
        groups.push(group);
    }
    // They are taken from the end: the first disk's is the last.
    groups.sort_by_key(|group| std::cmp::Reverse(group.first().map(|(place, _)| *place)));
    groups
}

fn belong_together(one: &Disk, other: &Disk) -> bool {
    let have_one_name = one.wwn.is_some() && one.wwn == other.wwn;
    have_one_name || controller(&one.path) == controller(&other.path)
}

/// `/dev/nvme0` of `/dev/nvme0n1`; all other disks have their own.
fn controller(path: &str) -> &str {
    let is_nvme = path.starts_with("/dev/nvme");
    path.rsplit_once('n').filter(|_| is_nvme).map_or(path, |(controller, _)| controller)
}

/// What came of all of them.
fn together(outcomes: Vec<Result<CleanedDisk, Problem>>) -> Result<Vec<CleanedDisk>, Problem> {
    let all = outcomes.len();
    let (mut cleaned, mut problems) = (Vec::new(), Vec::new());
    for outcome in outcomes {
        match outcome {
            Ok(disk) => cleaned.push(disk),
            Err(problem) => problems.push(problem),
        }
    }
    match problems.len() {
        0 => Ok(cleaned),
        1 => problems.pop().map_or(Ok(cleaned), Err),
        some => {
            let texts: Vec<String> = problems.iter().map(ToString::to_string).collect();
            let message = format!("{some} of {all} disks were not wiped: {}", texts.join("; "));
            Err(Problem::new("wiping", message))
        }
    }
}

fn clean_one(
    disk: &Disk,
    how: Thoroughness,
    devices: &dyn Devices,
    telling: &dyn Telling,
) -> Result<CleanedDisk, Problem> {
    let problem = |message: String| Problem::with_disk("opening", &disk.path, message);
    if disk.size_bytes == 0 {
        return Err(problem(
            "it does not tell its size, so it can't be wiped, and what is on it stays: look at the disk, its cable and its \
             controller, or take it out"
                .into(),
        ));
    }
    if disk.read_only {
        return Err(problem("it is read-only: take its write protection away, or the disk out".into()));
    }
    let device = devices
        .open(disk)
        .map_err(|error| problem(format!("it can't be opened for writing by us alone: {error}")))?;
    let size = device.size().map_err(|error| problem(format!("its size can't be read: {error}")))?;
    if size != disk.size_bytes {
        let listed = disk.size_bytes;
        return Err(problem(format!("it has {size} bytes, but had {listed} when it was listed: try again")));
    }
    let work = Work { disk, device: device.as_ref(), devices, telling };
    nvme::wait_for_sanitize(&work)?;
    ata::unlock(&work)?;
    let method = match how {
        Thoroughness::Metadata => metadata::wipe(&work).map(|()| Wiping::Metadata)?,
        Thoroughness::Full => full::wipe(&work)?,
    };
    work.log(&format!("is wiped ({})", describe(method)));
    Ok(CleanedDisk { disk: disk.path.clone(), serial_number: disk.serial_number.clone(), method })
}

fn describe(method: Wiping) -> &'static str {
    match method {
        Wiping::Metadata => "partition tables and signatures",
        Wiping::Nvme => "it erased itself by NVMe's commands",
        Wiping::Ata => "it erased itself by ATA's commands",
        Wiping::Discarded => "all blocks were discarded and read as zeros",
        Wiping::Overwritten => "all blocks were written over",
    }
}

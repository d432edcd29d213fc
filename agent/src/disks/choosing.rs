//! Which disk an image goes to.

use beskar7_agent_protocol::{
    hardware::{Disk, DiskKind},
    order::DiskHints,
};

use super::wwn;
use crate::telling::Problem;

const GIGABYTE: u64 = 1_000_000_000;
const STEP: &str = "choosing a disk";

/// So many disks are listed where hints name several.
const MOST_LISTED: usize = 4;

/// The smallest disk that fits all hints and holds so many bytes; of several the first by path. Who names a disk means one:
/// of several that have the name none is taken, for the smallest may be the wrong one.
///
/// # Errors
/// No disk fits: the text says of each why not. Or hints that name one fit several: it says what tells these apart.
pub fn choose<'a>(disks: &'a [Disk], hints: &DiskHints, least_bytes: u64) -> Result<&'a Disk, Problem> {
    check_named(disks, hints)?;
    let fitting = disks.iter().filter(|disk| misfit(disk, hints, least_bytes).is_none());
    fitting.min_by_key(|disk| (disk.size_bytes, &disk.path)).ok_or_else(|| {
        let reasons: Vec<String> = disks
            .iter()
            .filter_map(|disk| Some(format!("{} {}", disk.path, misfit(disk, hints, least_bytes)?)))
            .collect();
        let message = if reasons.is_empty() {
            "the machine has no disk of its own that the kernel has a driver for".to_owned()
        } else {
            format!("no disk fits: {}", reasons.join("; "))
        };
        Problem::new(STEP, message)
    })
}

/// Whether an image that does not tell how large it is may go to one of these: the smallest disk would lose what it holds
/// before it is known whether it is large enough. Where all that fit are of one size, another would do no better.
///
/// # Errors
/// There are several, and no hint says which, or how large it must be.
pub fn check_unknown_size(disks: &[Disk], hints: &DiskHints) -> Result<(), Problem> {
    if is_named(hints) || hints.min_size_gigabytes.is_some() {
        return Ok(());
    }
    let fitting: Vec<&Disk> = disks.iter().filter(|disk| misfit(disk, hints, 0).is_none()).collect();
    let first = fitting.first().map(|disk| disk.size_bytes);
    if fitting.iter().all(|disk| Some(disk.size_bytes) == first) {
        return Ok(());
    }
    let sizes: Vec<String> =
        fitting.iter().map(|disk| format!("{} ({})", disk.path, size(disk.size_bytes))).collect();
    let message = format!(
        "the image does not tell how large it is when it is unpacked, and several disks fit: {}. Give rootDeviceHints that \
         name one, or minSizeGigabytes; or an image that tells its size: raw, qcow2",
        sizes.join(", ")
    );
    Err(Problem::new(STEP, message))
}

fn is_named(hints: &DiskHints) -> bool {
    [&hints.device_name, &hints.hctl, &hints.serial_number, &hints.wwn].iter().any(|name| name.is_some())
}

/// Whether hints that name a disk name one only.
fn check_named(disks: &[Disk], hints: &DiskHints) -> Result<(), Problem> {
    // How large an image is says nothing of which disk is meant.
    let fitting: Vec<&Disk> = disks.iter().filter(|disk| misfit(disk, hints, 0).is_none()).collect();
    let Some((first, others)) = fitting.split_first().filter(|_| is_named(hints)) else { return Ok(()) };
    if others.iter().all(|other| is_same_disk(first, other)) {
        return Ok(());
    }
    let listed: Vec<String> = fitting.iter().take(MOST_LISTED).map(|disk| described(disk)).collect();
    let more = match fitting.len().saturating_sub(MOST_LISTED) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    let message = format!(
        "rootDeviceHints name one disk, and {} fit: {}{more}. Nothing is written: add a hint that only the right one fits \
         (deviceName, hctl, or all digits of its wwn)",
        fitting.len(),
        listed.join("; ")
    );
    Err(Problem::new(STEP, message))
}

/// Two paths may lead to one disk, which has one World Wide Name then.
fn is_same_disk(one: &Disk, other: &Disk) -> bool {
    one.wwn.is_some() && one.wwn == other.wwn
}

/// By what a person, and hints, tell it from others.
fn described(disk: &Disk) -> String {
    let named = |what: &str, value: Option<&str>| value.map(|value| format!("{what} {value}"));
    let parts = [
        named("deviceName", disk.links.first().map(String::as_str)),
        named("hctl", disk.hctl.as_deref()),
        named("wwn", disk.wwn.as_deref()),
        named("serialNumber", disk.serial_number.as_deref()),
        Some(size(disk.size_bytes)),
    ];
    format!("{} ({})", disk.path, parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
}

/// Whether the disk is there that these hints name, and no other can be meant: one that comes later is no better one. A
/// serial number is that of each namespace of an NVMe disk, and half of a World Wide Name that of several disks.
pub(super) fn has_named(disks: &[Disk], hints: &DiskHints) -> bool {
    let is_whole = |disk: &Disk| {
        let names = hints.wwn.as_deref().zip(disk.wwn.as_deref());
        names.is_some_and(|(wanted, wwn)| wwn::is_exact(wanted, wwn))
    };
    let is_only_one = |disk: &Disk| hints.device_name.is_some() || hints.hctl.is_some() || is_whole(disk);
    disks.iter().any(|disk| misfit(disk, hints, 0).is_none() && is_only_one(disk))
}

/// Why a disk does not fit: the first reason, in the order in which people look for it.
fn misfit(disk: &Disk, hints: &DiskHints, least_bytes: u64) -> Option<String> {
    let least = hints.min_size_gigabytes.unwrap_or(0).saturating_mul(GIGABYTE).max(least_bytes);
    wrong_name(disk, hints.device_name.as_deref())
        .or_else(|| differs("SCSI address", disk.hctl.as_deref(), hints.hctl.as_deref(), same))
        .or_else(|| {
            differs("serial number", disk.serial_number.as_deref(), hints.serial_number.as_deref(), same)
        })
        .or_else(|| differs("WWN", disk.wwn.as_deref(), hints.wwn.as_deref(), wwn::is_meant))
        .or_else(|| differs("vendor", disk.vendor.as_deref(), hints.vendor.as_deref(), within))
        .or_else(|| differs("model", disk.model.as_deref(), hints.model.as_deref(), within))
        .or_else(|| wrong_kind(disk.kind, hints.rotational))
        .or_else(|| too_small(disk.size_bytes, least))
        .or_else(|| disk.read_only.then(|| "is read-only".to_owned()))
}

fn wrong_name(disk: &Disk, wanted: Option<&str>) -> Option<String> {
    let wanted = wanted?.trim();
    let has_it = disk.path == wanted || disk.links.iter().any(|link| link == wanted);
    (!has_it).then(|| format!("is not {wanted}"))
}

/// What a disk has, against what is wanted of it.
fn differs(
    what: &str,
    has: Option<&str>,
    wanted: Option<&str>,
    fits: fn(wanted: &str, has: &str) -> bool,
) -> Option<String> {
    let wanted = wanted?;
    match has {
        None => Some(format!("does not tell its {what}")),
        Some(has) if fits(wanted, has) => None,
        Some(has) => Some(format!("has the {what} {has:?}, not {wanted:?}")),
    }
}

fn same(wanted: &str, has: &str) -> bool {
    wanted.trim().to_lowercase() == has.to_lowercase()
}

fn within(wanted: &str, has: &str) -> bool {
    has.to_lowercase().contains(&wanted.trim().to_lowercase())
}

fn wrong_kind(kind: DiskKind, rotational: Option<bool>) -> Option<String> {
    let spins = match kind {
        DiskKind::Hdd => true,
        DiskKind::Ssd | DiskKind::Nvme => false,
    };
    match (rotational?, spins) {
        (true, false) => Some("is not rotational".into()),
        (false, true) => Some("is rotational".into()),
        (true, true) | (false, false) => None,
    }
}

fn too_small(has: u64, least: u64) -> Option<String> {
    let (short_has, short_least) = (size(has), size(least));
    if has >= least {
        None
    } else if short_has == short_least {
        Some(format!("with {has} bytes is smaller than {least} bytes"))
    } else {
        Some(format!("{short_has} is smaller than {short_least}"))
    }
}

/// As it stands on the box.
fn size(bytes: u64) -> String {
    match bytes / GIGABYTE {
        0 => format!("{} MB", bytes / 1_000_000),
        gigabytes => format!("{gigabytes} GB"),
    }
}

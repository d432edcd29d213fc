//! The disks of a machine, and which of them an image goes to.

mod choosing;
mod elsewhere;
mod identity;
mod path_link;
mod settled;
#[cfg(test)]
mod tests;
mod wwn;

use std::path::Path;

use beskar7_agent_protocol::hardware::{Disk, DiskKind};

pub use self::choosing::choose;
pub use self::settled::{settled, settled_for};
use crate::{sysfs, telling::Problem};

/// How a disk is spoken to: what it says of itself is in other places then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bus {
    Nvme,
    Virtio,
    /// SCSI, and ATA behind it.
    Scsi,
    Other,
}

impl Bus {
    fn of(name: &str) -> Self {
        for (prefix, bus) in [("nvme", Self::Nvme), ("vd", Self::Virtio), ("sd", Self::Scsi)] {
            if name.starts_with(prefix) {
                return bus;
            }
        }
        Self::Other
    }
}

/// The disks of a machine, in the order of their names: whole ones that stay in it, and that no other machine reaches
/// over a network.
///
/// # Errors
/// The kernel does not say which there are.
pub fn all(root: &Path) -> Result<Vec<Disk>, Problem> {
    let directory = root.join("sys/block");
    Ok(names(&directory)?.iter().filter_map(|name| disk(root, &directory.join(name), name)).collect())
}

/// What is said of disks that are left alone, one line for each: they are not in the machine.
///
/// # Errors
/// The kernel does not say which there are.
pub fn left_alone(root: &Path) -> Result<Vec<String>, Problem> {
    let directory = root.join("sys/block");
    let line = |name: &String| {
        let block = directory.join(name);
        let over = is_disk(&block, name).then(|| elsewhere::reached_over(&block, name))??;
        Some(format!(
            "{} is left alone: it is reached over {over}, and other machines may use it",
            path(name)
        ))
    };
    Ok(names(&directory)?.iter().filter_map(line).collect())
}

fn names(directory: &Path) -> Result<Vec<String>, Problem> {
    sysfs::names(directory).map_err(|error| {
        Problem::new("inspecting", format!("the kernel's list of disks, /sys/block, can't be read: {error}"))
    })
}

/// The kernel writes `!` where a device's name has a slash.
fn path(name: &str) -> String {
    format!("/dev/{}", name.replace('!', "/"))
}

/// A disk. None where it is something else.
fn disk(root: &Path, block: &Path, name: &str) -> Option<Disk> {
    let sectors = sysfs::number(&block.join("size")).filter(|sectors| *sectors > 0)?;
    if !is_disk(block, name) || elsewhere::reached_over(block, name).is_some() {
        return None;
    }
    let bus = Bus::of(name);
    let identity = identity::read(block, bus);
    let mut links = path_link::all(root, block, bus);
    links.extend(identity.links(bus, sysfs::number(&block.join("nsid"))));
    Some(Disk {
        path: path(name),
        links,
        hctl: hctl(block),
        // The kernel counts in 512 bytes, whatever a sector has.
        size_bytes: sectors.saturating_mul(512),
        sector_bytes: sector_bytes(block),
        kind: kind(block, bus),
        read_only: sysfs::flag(&block.join("ro")),
        vendor: identity.vendor,
        model: identity.model,
        serial_number: identity.serial_number,
        wwn: identity.wwn,
    })
}

/// Whether it is a whole disk that stays in the machine. What the kernel makes of files, memory or other disks has no
/// device behind it. What can be taken out is no disk of the machine: a DVD, or the stick that a BMC presents.
fn is_disk(block: &Path, name: &str) -> bool {
    let is_drive = ["sr", "fd", "mtdblock"].iter().any(|prefix| name.starts_with(prefix));
    let is_boot_area = name.starts_with("mmcblk") && name.contains("boot");
    let has_device = block.join("device").exists();
    // One path of several to the same NVMe namespace, which has a disk of its own.
    let hidden = sysfs::flag(&block.join("hidden"));
    has_device && !hidden && !is_drive && !is_boot_area && !sysfs::flag(&block.join("removable"))
}

fn sector_bytes(block: &Path) -> u32 {
    let bytes = sysfs::number(&block.join("queue/logical_block_size"));
    bytes.and_then(|bytes| u32::try_from(bytes).ok()).unwrap_or(512)
}

fn kind(block: &Path, bus: Bus) -> DiskKind {
    match (bus, sysfs::flag(&block.join("queue/rotational"))) {
        (Bus::Nvme, _) => DiskKind::Nvme,
        (Bus::Virtio | Bus::Scsi | Bus::Other, true) => DiskKind::Hdd,
        (Bus::Virtio | Bus::Scsi | Bus::Other, false) => DiskKind::Ssd,
    }
}

/// The SCSI address: the name of the device behind a disk.
fn hctl(block: &Path) -> Option<String> {
    sysfs::link_name(&block.join("device")).filter(|name| numbers(name).is_some())
}

/// The four numbers of a SCSI address.
fn numbers(address: &str) -> Option<[u64; 4]> {
    let numbers: Vec<u64> = address.split(':').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    numbers.try_into().ok()
}

//! The disks of a machine, and which of them an image goes to.

mod choosing;
mod elsewhere;
mod identity;
mod path_link;
mod settled;
#[cfg(test)]
mod tests;
mod undriven;
mod wwn;

use std::path::{Path, PathBuf};

use beskar7_agent_protocol::hardware::{Disk, DiskKind};

pub use self::choosing::{check_unknown_size, choose};
pub use self::settled::{settled, settled_for};
pub use self::undriven::controllers as undriven_controllers;
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

/// The disks that have to be wiped: all, and those that should be among them but do not answer, with a size of 0. What is on
/// one of these is not gone only because nobody can read it now.
///
/// # Errors
/// The kernel does not say which there are.
pub fn to_wipe(root: &Path) -> Result<Vec<Disk>, Problem> {
    let directory = root.join("sys/block");
    let found = |name: &String| {
        let block = directory.join(name);
        disk(root, &block, name).or_else(|| silent(root, &block, name))
    };
    Ok(names(&directory)?.iter().filter_map(found).collect())
}

/// What is said of whole disks that are left alone, one line for each: why it is no disk of this machine that can be used.
/// And of controllers behind which there may be others.
///
/// # Errors
/// The kernel does not say which there are.
pub fn left_alone(root: &Path) -> Result<Vec<String>, Problem> {
    let directory = root.join("sys/block");
    let line = |name: &String| {
        let block = directory.join(name);
        let reason = is_whole(&block, name).then(|| reason_against(&block, name))??;
        Some(format!("{} is left alone: {reason}", path(name)))
    };
    let others = undriven::controllers(root).into_iter().map(|controller| undriven::line(&controller));
    Ok(names(&directory)?.iter().filter_map(line).chain(others).collect())
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
    if !is_whole(block, name) || reason_against(block, name).is_some() {
        return None;
    }
    Some(described(root, block, name, sectors(block)?))
}

/// A disk of the machine that does not tell its size: it does not answer, or its driver can't make use of it. None where it
/// is something else.
fn silent(root: &Path, block: &Path, name: &str) -> Option<Disk> {
    let is_ours = is_whole(block, name) && reason_against_using(block, name).is_none();
    let always_has_size = match Bus::of(name) {
        Bus::Nvme | Bus::Virtio | Bus::Scsi => true,
        // Nobody knows what there may be, and whether it is empty rightly.
        Bus::Other => false,
    };
    (is_ours && always_has_size && sectors(block).is_none()).then(|| described(root, block, name, 0))
}

fn described(root: &Path, block: &Path, name: &str, sectors: u64) -> Disk {
    let bus = Bus::of(name);
    let identity = identity::read(block, bus);
    let mut links = path_link::all(root, block, bus);
    links.extend(identity.links(bus, sysfs::number(&block.join("nsid"))));
    Disk {
        path: path(name),
        links,
        hctl: hctl(block),
        size_bytes: sectors.saturating_mul(512),
        sector_bytes: sector_bytes(block),
        kind: kind(block, bus),
        read_only: sysfs::flag(&block.join("ro")),
        vendor: identity.vendor,
        model: identity.model,
        serial_number: identity.serial_number,
        wwn: identity.wwn,
    }
}

/// Whether it is a whole disk, and no part or drive. What the kernel makes of files, memory or other disks has no device
/// behind it.
fn is_whole(block: &Path, name: &str) -> bool {
    let is_drive = ["sr", "fd", "mtdblock"].iter().any(|prefix| name.starts_with(prefix));
    let is_boot_area = name.starts_with("mmcblk") && name.contains("boot");
    let has_device = block.join("device").exists();
    // One path of several to the same NVMe namespace, which has a disk of its own.
    let hidden = sysfs::flag(&block.join("hidden"));
    has_device && !hidden && !is_drive && !is_boot_area
}

/// Why a whole disk is left alone, in words for people. None for those that are the machine's.
fn reason_against(block: &Path, name: &str) -> Option<String> {
    reason_against_using(block, name).or_else(|| {
        sectors(block).is_none().then(|| "it has no size: it holds no medium, or does not work".to_owned())
    })
}

/// Why a whole disk would be left alone if it worked, too. None for those that are the machine's.
fn reason_against_using(block: &Path, name: &str) -> Option<String> {
    if let Some(over) = elsewhere::reached_over(block, name) {
        return Some(format!("it is reached over {over}, and other machines may use it"));
    }
    if can_be_taken_out(block, name) {
        return Some("it can be taken out, like a stick or what a BMC presents".to_owned());
    }
    None
}

/// Whether it is made to be taken out, and so no disk of the machine: a card, or the stick that a BMC presents, which is on
/// USB. The kernel says so (before 6.10) of SATA disks, too, where their port is one for hot-plugging: these stay, and would
/// go unwiped to whoever is next.
fn can_be_taken_out(block: &Path, name: &str) -> bool {
    let is_ata = || sysfs::text(&block.join("device/vendor")).as_deref() == Some("ATA");
    let is_fixed = || Bus::of(name) == Bus::Scsi && is_ata() && !is_on_usb(block);
    sysfs::flag(&block.join("removable")) && !is_fixed()
}

fn is_on_usb(block: &Path) -> bool {
    let is_bus = |name: &str| {
        name.strip_prefix("usb")
            .is_some_and(|number| number.starts_with(|digit: char| digit.is_ascii_digit()))
    };
    let has_bus = |place: PathBuf| place.iter().any(|part| is_bus(&part.to_string_lossy()));
    [block.to_owned(), block.join("device")].iter().filter_map(|place| place.canonicalize().ok()).any(has_bus)
}

/// In 512 bytes, whatever a sector has. None where there is nothing.
fn sectors(block: &Path) -> Option<u64> {
    sysfs::number(&block.join("size")).filter(|sectors| *sectors > 0)
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

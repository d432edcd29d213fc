//! The links below `/dev/disk/by-path`: where a disk is plugged in, as udev would name it.
//!
//! USB has names of its own that are not made here: such a disk has no link by its path.

use std::path::Path;

use super::{Bus, numbers};
use crate::sysfs;

/// All links of a disk, none where it is not known how udev would name it.
pub fn all(root: &Path, block: &Path, bus: Bus) -> Vec<String> {
    let names = match bus {
        Bus::Nvme => nvme(block).into_iter().collect(),
        Bus::Virtio => virtio(block),
        Bus::Scsi => scsi(root, block).unwrap_or_default(),
        Bus::Other => Vec::new(),
    };
    names.into_iter().map(|name| format!("/dev/disk/by-path/{name}")).collect()
}

/// `pci-0000:01:00.0-nvme-1`. A namespace with several controllers belongs to none of them: the first one counts.
fn nvme(block: &Path) -> Option<String> {
    let namespace = sysfs::number(&block.join("nsid"))?;
    let address = sysfs::pci_address(block).or_else(|| {
        let subsystem = block.join("device").canonicalize().ok()?;
        let names = sysfs::names(&subsystem).ok()?;
        let controllers = names.iter().filter(|name| is_controller(name));
        controllers.filter_map(|name| sysfs::pci_address(&subsystem.join(name))).next()
    })?;
    Some(format!("pci-{address}-nvme-{namespace}"))
}

fn is_controller(name: &str) -> bool {
    name.strip_prefix("nvme").is_some_and(|rest| rest.parse::<u32>().is_ok())
}

/// Newer and older name of the same place.
fn virtio(block: &Path) -> Vec<String> {
    let address = sysfs::pci_address(block);
    address.map(|address| vec![format!("pci-{address}"), format!("virtio-pci-{address}")]).unwrap_or_default()
}

fn scsi(root: &Path, block: &Path) -> Option<Vec<String>> {
    let pci = sysfs::pci_address(block)?;
    let device = block.join("device").canonicalize().ok()?;
    let part_with = |prefix: &str| {
        device
            .ancestors()
            .find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(prefix)))
    };
    let address = numbers(&device.file_name()?.to_string_lossy())?;
    if part_with("usb").is_some() {
        return None;
    }
    if let Some(end_device) = part_with("end_device-") {
        return Some(vec![format!("pci-{pci}-{}", sas(root, end_device, address)?)]);
    }
    let host = part_with("host")?;
    if let Some(port) = host.parent().filter(|parent| last_name(parent).starts_with("ata")) {
        return Some(ata(port, address)?.map(|name| format!("pci-{pci}-{name}")).to_vec());
    }
    Some(vec![format!("pci-{pci}-{}", plain(host, address)?)])
}

fn last_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// `ata-1.0`, and the older `ata-1`. Behind a port multiplier disks have another channel, on old cables another target.
fn ata(port: &Path, [_, channel, target, _]: [u64; 4]) -> Option<[String; 2]> {
    let number = sysfs::number(&port.join("ata_port").join(last_name(port)).join("port_no"))?;
    let exact =
        if channel == 0 { format!("ata-{number}.{target}") } else { format!("ata-{number}.{channel}.0") };
    Some([exact, format!("ata-{number}")])
}

/// `scsi-0:0:1:0`: hosts are counted within their controller, as the kernel's numbers depend on the order of drivers.
fn plain(host: &Path, [number, channel, target, unit]: [u64; 4]) -> Option<String> {
    let siblings = sysfs::names(host.parent()?).ok()?;
    let hosts = siblings.iter().filter_map(|name| name.strip_prefix("host")?.parse::<u64>().ok());
    let first = hosts.min().unwrap_or(number);
    Some(format!("scsi-{}:{channel}:{target}:{unit}", number.saturating_sub(first)))
}

/// `sas-phy3-lun-0`; behind an expander with its address before, and with several lanes by the disk's own address.
fn sas(root: &Path, end_device: &Path, [_, _, _, unit]: [u64; 4]) -> Option<String> {
    let class = |kind: &str, name: &str| root.join("sys/class").join(kind).join(name);
    let disk = class("sas_device", &last_name(end_device));
    let port = end_device.parent()?;
    let lanes = sysfs::number(&class("sas_port", &last_name(port)).join("num_phys"))?;
    if lanes != 1 {
        let address = sysfs::text(&disk.join("sas_address"))?;
        return Some(format!("sas-{address}-lun-{unit}"));
    }
    let phy = sysfs::number(&disk.join("phy_identifier"))?;
    let before = class("sas_device", &last_name(port.parent()?));
    let expander = sysfs::text(&before.join("sas_address")).map(|address| format!("exp{address}-"));
    Some(format!("sas-{}phy{phy}-lun-{unit}", expander.unwrap_or_default()))
}

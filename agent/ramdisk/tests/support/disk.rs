//! Disks of a machine: files.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// How a file is a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Byte by byte.
    Raw,
    /// QEMU's.
    Qcow2,
}

/// What a disk is connected to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bus {
    /// `/dev/vda`
    Virtio,
    /// `/dev/nvme0n1`
    Nvme,
    /// `/dev/sda`, behind AHCI; Debian's cloud kernel has no driver for it.
    Sata,
    /// `/dev/sda`, behind virtio.
    Scsi,
}

/// A disk.
#[derive(Debug, Clone)]
pub struct Disk {
    /// Its file.
    pub path: PathBuf,
    /// How that is a disk.
    pub format: Format,
    /// What it is connected to.
    pub bus: Bus,
    /// What it says as its serial number, 20 letters at most.
    pub serial: String,
    /// Whether it takes back what is discarded.
    pub discards: bool,
}

impl Disk {
    /// An empty one of so many bytes, which takes no room before something is written to it.
    pub fn empty(path: &Path, bytes: u64, bus: Bus, serial: &str) -> io::Result<Self> {
        File::create(path)?.set_len(bytes)?;
        let (path, serial) = (path.to_owned(), serial.to_owned());
        Ok(Self { path, format: Format::Raw, bus, serial, discards: false })
    }

    /// What QEMU is told of it; with a turn, firmware tries it then.
    pub(super) fn arguments(&self, number: usize, turn: &str) -> Vec<String> {
        let format = match self.format {
            Format::Raw => "raw",
            Format::Qcow2 => "qcow2",
        };
        let device = match self.bus {
            Bus::Virtio => "virtio-blk-pci",
            Bus::Nvme => "nvme",
            Bus::Sata => "ide-hd",
            Bus::Scsi => "scsi-hd,bus=scsi.0",
        };
        let (path, serial) = (self.path.display(), &self.serial);
        let discard = if self.discards { "unmap" } else { "ignore" };
        vec![
            "-drive".to_owned(),
            format!("if=none,id=disk{number},format={format},discard={discard},file={path}"),
            "-device".to_owned(),
            format!("{device},drive=disk{number},serial={serial}{turn}"),
        ]
    }
}

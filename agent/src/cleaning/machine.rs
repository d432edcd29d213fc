//! The disks of the machine itself.

use std::{
    fs::{File, OpenOptions},
    io::{self, Seek as _, SeekFrom},
    os::unix::fs::{FileExt as _, OpenOptionsExt as _},
    path::PathBuf,
    thread,
    time::Duration,
};

use beskar7_agent_device::{
    DeviceError,
    ata::{self, Security},
    block,
    nvme::{self, Abilities, Erase, Sanitize, SanitizeState},
};
use beskar7_agent_protocol::hardware::Disk;
use nix::errno::Errno;
use rustix::fs::{Advice, FallocateFlags, OFlags, fadvise, fallocate};

use super::{
    device::{Ata, Device, Devices, Nvme},
    spans::Span,
};
use crate::sysfs;

/// How often a disk that erases itself is asked how far it is.
const PAUSE: Duration = Duration::from_secs(2);

/// The disks below a root directory, which is `/` but for tests.
pub struct Machine {
    root: PathBuf,
}

impl Machine {
    /// The disks below this directory's `dev`, with their partitions in its `sys`.
    #[must_use]
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    fn below(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }
}

impl Devices for Machine {
    fn open(&self, disk: &Disk) -> io::Result<Box<dyn Device>> {
        // Without O_CREAT this means: nobody else uses it, nor one of its partitions.
        let alone = OFlags::EXCL.bits().cast_signed();
        let file =
            OpenOptions::new().read(true).write(true).custom_flags(alone).open(self.below(&disk.path))?;
        let is_nvme = disk.path.starts_with("/dev/nvme");
        let is_ata = disk.vendor.as_deref() == Some("ATA");
        Ok(Box::new(BlockDevice { file, is_nvme, is_ata }))
    }

    fn partitions(&self, disk: &Disk) -> io::Result<Vec<Span>> {
        let name = disk.path.trim_start_matches("/dev/").replace('/', "!");
        let directory = self.below("sys/block").join(&name);
        let partitions = sysfs::names(&directory)?.into_iter().map(|name| directory.join(name));
        // The kernel counts in 512 bytes, whatever a sector has.
        let span = |partition: PathBuf| {
            let start = sysfs::number(&partition.join("start"))?.saturating_mul(512);
            let length = sysfs::number(&partition.join("size"))?.saturating_mul(512);
            Some(Span::new(start, length))
        };
        Ok(partitions.filter(|directory| directory.join("partition").exists()).filter_map(span).collect())
    }

    fn pause(&self) {
        thread::sleep(PAUSE);
    }
}

/// An open block device, or a file.
struct BlockDevice {
    file: File,
    is_nvme: bool,
    is_ata: bool,
}

impl Device for BlockDevice {
    fn size(&self) -> io::Result<u64> {
        (&self.file).seek(SeekFrom::End(0))
    }

    fn read(&self, at: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(buffer, at)
    }

    fn write(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, at)
    }

    fn settle(&self) -> io::Result<()> {
        self.file.sync_data()?;
        Ok(fadvise(&self.file, 0, None, Advice::DontNeed)?)
    }

    fn punch(&self, at: u64, length: u64) -> io::Result<()> {
        // Of block devices the kernel takes this only where the disk promises zeros.
        let how = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        Ok(fallocate(&self.file, how, at, length)?)
    }

    fn discard(&self, at: u64, length: u64) -> Result<(), DeviceError> {
        block::discard(&self.file, at, length)
    }

    fn reread_partitions(&self) -> Result<(), DeviceError> {
        match block::reread_partitions(&self.file) {
            // It is of a kind that has no partitions.
            Err(DeviceError::Kernel { errno: Errno::EINVAL | Errno::ENOTTY, .. }) => Ok(()),
            outcome => outcome,
        }
    }

    fn nvme(&self) -> Option<&dyn Nvme> {
        self.is_nvme.then_some(self)
    }

    fn ata(&self) -> Option<&dyn Ata> {
        self.is_ata.then_some(self)
    }
}

impl Nvme for BlockDevice {
    fn abilities(&self) -> Result<Abilities, DeviceError> {
        nvme::abilities(&self.file)
    }

    fn format(&self, erase: Erase) -> Result<(), DeviceError> {
        nvme::format(&self.file, erase)
    }

    fn sanitize(&self, how: Sanitize) -> Result<(), DeviceError> {
        nvme::sanitize(&self.file, how)
    }

    fn sanitize_state(&self) -> Result<SanitizeState, DeviceError> {
        nvme::sanitize_state(&self.file)
    }
}

impl Ata for BlockDevice {
    fn security(&self) -> Result<Security, DeviceError> {
        ata::security(&self.file)
    }

    fn set_password(&self) -> Result<(), DeviceError> {
        ata::set_password(&self.file)
    }

    fn erase(&self, enhanced: bool, limit: Duration) -> Result<(), DeviceError> {
        ata::erase(&self.file, enhanced, limit)
    }

    fn unlock(&self) -> Result<(), DeviceError> {
        ata::unlock(&self.file)
    }

    fn disable_password(&self) -> Result<(), DeviceError> {
        ata::disable_password(&self.file)
    }
}

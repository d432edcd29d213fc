//! What is needed of disks to wipe them. Tests have disks of their own, which fail and lie.

use std::{io, time::Duration};

use beskar7_agent_device::{
    DeviceError,
    ata::Security,
    nvme::{Abilities, Erase, Sanitize, SanitizeState},
};
use beskar7_agent_protocol::hardware::Disk;

use super::spans::Span;

/// Where disks are opened.
pub trait Devices: Sync {
    /// Opens a disk for reading and writing, by nobody else at the same time.
    ///
    /// # Errors
    /// It is not there, or in use.
    fn open(&self, disk: &Disk) -> io::Result<Box<dyn Device>>;

    /// The partitions that the kernel sees on a disk.
    ///
    /// # Errors
    /// They can't be read.
    fn partitions(&self, disk: &Disk) -> io::Result<Vec<Span>>;

    /// Waits a little, before a disk that erases itself is asked again how far it is.
    fn pause(&self);
}

/// An open disk.
pub trait Device {
    /// How many bytes it has.
    ///
    /// # Errors
    /// The kernel does not say so.
    fn size(&self) -> io::Result<u64>;

    /// Reads from a place until the buffer is full.
    ///
    /// # Errors
    /// The disk can't read there.
    fn read(&self, at: u64, buffer: &mut [u8]) -> io::Result<()>;

    /// Writes all bytes to a place.
    ///
    /// # Errors
    /// The disk can't write there.
    fn write(&self, at: u64, bytes: &[u8]) -> io::Result<()>;

    /// Everything written is on the disk afterwards, and what is read next comes from the disk, not from memory.
    ///
    /// # Errors
    /// The disk failed to write something.
    fn settle(&self) -> io::Result<()>;

    /// Has the disk make a place read as zeros without sending them to it.
    ///
    /// # Errors
    /// The disk can't promise that they read as zeros.
    fn punch(&self, at: u64, length: u64) -> io::Result<()>;

    /// Tells the disk that a place is not needed any more. It promises nothing of what is read there.
    ///
    /// # Errors
    /// It knows no such command.
    fn discard(&self, at: u64, length: u64) -> Result<(), DeviceError>;

    /// Has the kernel forget the partitions that are not there any more.
    ///
    /// # Errors
    /// One is in use.
    fn reread_partitions(&self) -> Result<(), DeviceError>;

    /// NVMe's commands, where it is such a disk.
    fn nvme(&self) -> Option<&dyn Nvme>;

    /// ATA's commands, where it is such a disk.
    fn ata(&self) -> Option<&dyn Ata>;
}

/// NVMe's commands, as in [`beskar7_agent_device::nvme`].
#[allow(clippy::missing_errors_doc, reason = "they are those of the functions that they are named after")]
pub trait Nvme {
    /// By which commands it can erase itself.
    fn abilities(&self) -> Result<Abilities, DeviceError>;
    /// Formats the namespace.
    fn format(&self, erase: Erase) -> Result<(), DeviceError>;
    /// Begins to erase everything.
    fn sanitize(&self, how: Sanitize) -> Result<(), DeviceError>;
    /// How far that is.
    fn sanitize_state(&self) -> Result<SanitizeState, DeviceError>;
}

/// ATA's commands, as in [`beskar7_agent_device::ata`].
#[allow(clippy::missing_errors_doc, reason = "they are those of the functions that they are named after")]
pub trait Ata {
    /// What its security is like.
    fn security(&self) -> Result<Security, DeviceError>;
    /// Gives it our password.
    fn set_password(&self) -> Result<(), DeviceError>;
    /// Has it erase all it has.
    fn erase(&self, enhanced: bool, limit: Duration) -> Result<(), DeviceError>;
    /// Unlocks it.
    fn unlock(&self) -> Result<(), DeviceError>;
    /// Takes our password away.
    fn disable_password(&self) -> Result<(), DeviceError>;
}

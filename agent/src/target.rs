//! The disk that an image is written to.
//!
//! A machine may lose its power at any moment, and what is on its disk then must not look like an installed system. So
//! the tables of the old system are wiped first, and both ends of the disk, where the new tables are, are held back in
//! memory until all else is written, verified and synced.

mod block;
mod disk_file;
mod staged;
mod writer;

pub use self::{
    block::{BLOCK, Block, Pool},
    disk_file::DiskFile,
    staged::{HELD, Staged},
    writer::{Sink, Writing, write},
};

use std::io;

/// A disk, or what stands for one.
pub trait Device: Send + Sync {
    /// How many bytes it has.
    fn length(&self) -> u64;
    /// Reads all of these bytes.
    ///
    /// # Errors
    /// They can't be read.
    fn read(&self, at: u64, bytes: &mut [u8]) -> io::Result<()>;
    /// Writes all of these bytes.
    ///
    /// # Errors
    /// They can't be written.
    fn write(&self, at: u64, bytes: &[u8]) -> io::Result<()>;
    /// Makes this many bytes read as zeros, whatever was there, in the quickest way that is sure to.
    ///
    /// # Errors
    /// They can't be written.
    fn zero(&self, at: u64, length: u64) -> io::Result<()>;
    /// Waits until all that was written is there after a power cut.
    ///
    /// # Errors
    /// Something of it is not.
    fn sync(&self) -> io::Result<()>;
}

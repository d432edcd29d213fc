//! What firmware looks at before any file system: El Torito's catalog, and partition tables.
//!
//! Apple's partition map, which some images have besides, is left as it is: no server's firmware reads it.

mod catalog;
mod gpt;
mod mbr;

pub use catalog::{Boot, boots};
pub use gpt::Gpt;
pub use mbr::Mbr;

/// Bytes in the unit that all of them count in.
pub const BLOCK: u64 = 512;

/// Where the image ended, and where it ends now.
#[derive(Debug, Clone, Copy)]
pub struct Growth {
    /// Bytes of the original.
    pub original: u64,
    /// Bytes of its file system.
    pub volume: u64,
    /// Behind the last appended extent.
    pub extents: u64,
    /// All of it.
    pub length: u64,
}

/// A file system within the image that is now elsewhere.
#[derive(Debug, Clone, Copy)]
pub struct Moved {
    /// Where it was.
    pub from: u64,
    /// Where it is.
    pub to: u64,
    /// How long it is now.
    pub length: u64,
}

/// First and last-but-one block of a partition.
pub type Span = (u64, u64);

impl Growth {
    /// Where a partition ends now. One that covers the file system covers it afterwards too: an image that is presented
    /// as a USB stick is mounted by its partition. If there is another partition behind it, there is no room.
    pub fn new_end(&self, (start, end): Span, others: &[Span]) -> Option<u64> {
        /// Images are padded for drives that read ahead, and rounded to cylinders.
        const PADDING: u64 = 1024 * 1024;
        let in_bytes = |block: u64| block.saturating_mul(BLOCK);
        let covers = in_bytes(start) <= 32 * 1024 && in_bytes(end) >= self.volume.saturating_sub(PADDING);
        let has_room = others.iter().all(|(other, _)| *other < end);
        let whole = in_bytes(end) >= self.original;
        (covers && has_room).then_some(if whole { self.length } else { self.extents } / BLOCK)
    }
}

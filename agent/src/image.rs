//! Images: what they are, and their bytes as they belong on a disk.
//!
//! An image comes as a stream and is never kept as a whole, neither in memory nor elsewhere. Its bytes go through a few
//! threads, block by block: one fetches, one computes the checksum, one unpacks, one writes.

mod checksum;
mod compression;
mod format;
pub mod qcow2;
mod raw;
mod source;

pub use self::{
    checksum::{Hasher, check},
    compression::Compression,
    format::{Kind, recognise},
    raw::Raw,
    source::{Piece, Source},
};

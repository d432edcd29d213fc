//! Reads the small parts of an image that are looked at, a bounded number of times and of bytes.
//!
//! Directories lie side by side, and each request to the image's server costs a round trip: so whole blocks are read,
//! and kept for as long as the image is looked at.

use std::{collections::BTreeMap, ops::Range};

use bytes::{Bytes, BytesMut};

use super::error::{OverlayError, damaged};
use crate::source::{self, Source};

/// What is read at once.
const BLOCK: u64 = 32 * 1024;
/// Blocks that are kept: 4 MiB.
const MOST_KEPT: usize = 128;
/// Requests for one image. A large one takes about a hundred.
const MOST_READS: u64 = 1024;
/// Bytes for one image.
const MOST_BYTES: u64 = 64 * 1024 * 1024;
/// Bytes in one piece.
const LARGEST: u64 = 8 * 1024 * 1024;

/// An image that is being looked at.
pub struct Reader<'a> {
    source: &'a dyn Source,
    blocks: BTreeMap<u64, Bytes>,
    reads: u64,
    bytes: u64,
}

impl<'a> Reader<'a> {
    /// Nothing was read yet.
    pub fn new(source: &'a dyn Source) -> Self {
        Self { source, blocks: BTreeMap::new(), reads: 0, bytes: 0 }
    }

    /// How long the image is.
    pub fn length(&self) -> u64 {
        self.source.length()
    }

    /// Some bytes of it.
    ///
    /// # Errors
    /// They are outside of it, can't be read, or were too many.
    pub async fn read(&mut self, start: u64, length: u64) -> Result<Bytes, OverlayError> {
        let end = start
            .checked_add(length)
            .filter(|end| *end <= self.length())
            .ok_or_else(|| damaged(format!("it points at {length} bytes at {start}, behind its end")))?;
        if length > LARGEST {
            return Err(OverlayError::TooMuch { what: "bytes in one piece", most: LARGEST });
        }
        if length > BLOCK {
            return self.fetch(start..end).await;
        }
        let mut all = BytesMut::new();
        let mut at = start;
        while at < end {
            let first = at - at % BLOCK;
            let block = self.block(first).await?;
            let until = end.min(first + BLOCK);
            let part = usize::try_from(at - first).ok().zip(usize::try_from(until - first).ok());
            let part = part.and_then(|(from, to)| block.get(from..to));
            all.extend_from_slice(part.ok_or_else(|| damaged("it gave fewer bytes than it has"))?);
            at = until;
        }
        Ok(all.freeze())
    }

    async fn block(&mut self, first: u64) -> Result<Bytes, OverlayError> {
        if let Some(block) = self.blocks.get(&first) {
            return Ok(block.clone());
        }
        let block = self.fetch(first..self.length().min(first + BLOCK)).await?;
        if self.blocks.len() >= MOST_KEPT {
            self.blocks.clear();
        }
        self.blocks.insert(first, block.clone());
        Ok(block)
    }

    async fn fetch(&mut self, range: Range<u64>) -> Result<Bytes, OverlayError> {
        self.reads += 1;
        self.bytes += range.end - range.start;
        if self.reads > MOST_READS {
            return Err(OverlayError::TooMuch { what: "places to read", most: MOST_READS });
        }
        if self.bytes > MOST_BYTES {
            return Err(OverlayError::TooMuch { what: "bytes to read", most: MOST_BYTES });
        }
        Ok(source::read(self.source, range).await?)
    }
}

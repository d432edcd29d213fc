//! Blocks of bytes that go from one thread to the next without being copied, and how many of them there are.

use std::{
    mem,
    sync::mpsc::{Receiver, Sender, channel},
};

/// Bytes of a block: enough for a disk to be busy, and little beside all memory.
pub const BLOCK: usize = 1 << 20;
/// What the memory of direct writes has to begin at.
const ALIGNMENT: usize = 4096;

/// Bytes in memory that a disk can read by itself. A dropped block goes back to where it was taken from.
pub struct Block {
    /// Never grows: its place in memory stays.
    bytes: Vec<u8>,
    start: usize,
    length: usize,
    home: Sender<Vec<u8>>,
}

impl Block {
    /// What is in it.
    #[must_use]
    pub fn filled(&self) -> &[u8] {
        self.bytes.get(self.start..self.start + self.length).unwrap_or_default()
    }

    /// What can still be filled.
    pub fn room(&mut self) -> &mut [u8] {
        self.bytes.get_mut(self.start + self.length..self.start + BLOCK).unwrap_or_default()
    }

    /// Counts so many more bytes of its room as filled.
    pub fn fill(&mut self, count: usize) {
        self.length = (self.length + count).min(BLOCK);
    }

    /// Whether there is no room left.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.length == BLOCK
    }

    /// Fills its room with zeros, at most so many.
    pub fn fill_zeros(&mut self, most: usize) {
        let room = self.room();
        let count = most.min(room.len());
        if let Some(room) = room.get_mut(..count) {
            room.fill(0);
        }
        self.fill(count);
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // A pool that is gone needs it no more.
        let _gone = self.home.send(mem::take(&mut self.bytes));
    }
}

/// A number of blocks. Who takes one waits until one is there: so the slowest of all threads sets the pace.
pub struct Pool {
    free: Receiver<Vec<u8>>,
    home: Sender<Vec<u8>>,
}

impl Pool {
    /// So many blocks.
    #[must_use]
    pub fn new(count: usize) -> Self {
        let (home, free) = channel();
        for _ in 0..count {
            // The other end is right here.
            let _sent = home.send(vec![0; BLOCK + ALIGNMENT]);
        }
        Self { free, home }
    }

    /// An empty block. None only when there never will be one.
    #[must_use]
    pub fn take(&self) -> Option<Block> {
        let bytes = self.free.recv().ok()?;
        let start = Some(bytes.as_ptr().align_offset(ALIGNMENT)).filter(|start| *start < ALIGNMENT);
        Some(Block { bytes, start: start.unwrap_or(0), length: 0, home: self.home.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_begins_where_a_disk_can_read_it_and_comes_back_empty() {
        let pool = Pool::new(1);
        let mut block = pool.take().unwrap();
        assert_eq!(block.room().as_ptr().align_offset(ALIGNMENT), 0);
        block.room().fill(7);
        block.fill(3);
        assert_eq!(block.filled(), [7, 7, 7]);
        block.fill_zeros(BLOCK - 4);
        assert!(!block.is_full());
        block.fill_zeros(usize::MAX);
        assert!(block.is_full() && block.room().is_empty());
        assert!(block.filled()[3..].iter().all(|byte| *byte == 0));
        drop(block);
        assert!(pool.take().unwrap().filled().is_empty());
    }
}

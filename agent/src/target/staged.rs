//! A disk whose ends are held back.

use std::io;

use super::{BLOCK, Device};

/// How much of the disk's beginning is held back: boot sector, partition tables, what BIOS loaders put behind them.
pub const HELD: usize = BLOCK;
/// The part that is written last of all. Smaller writes would be made larger by the page cache.
const LAST: usize = 4096;

/// A disk on which nothing looks installed until it is [published](Staged::publish).
pub struct Staged<'a> {
    device: &'a dyn Device,
    head: Vec<u8>,
    tail: Vec<u8>,
    tail_at: u64,
}

impl<'a> Staged<'a> {
    /// Begins with a disk: its old partition tables are gone with this.
    ///
    /// # Errors
    /// It is too small for anything, or can't be written.
    pub fn begin(device: &'a dyn Device) -> io::Result<Self> {
        let length = device.length();
        // The tail is where the last block begins that is written as a whole: one to two blocks.
        let last = (length / BLOCK as u64).checked_sub(1).filter(|last| *last > 1);
        let Some(last) = last else {
            return Err(io::Error::other(format!("the disk has only {length} bytes")));
        };
        let tail_at = last * BLOCK as u64;
        let tail = usize::try_from(length - tail_at).map_err(io::Error::other)?;
        let staged = Self { device, head: vec![0; HELD], tail: vec![0; tail], tail_at };
        device.write(0, &staged.head)?;
        device.write(tail_at, &staged.tail)?;
        device.sync()?;
        Ok(staged)
    }

    /// How many bytes the disk has.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.device.length()
    }

    /// Reads what will be there.
    ///
    /// # Errors
    /// It is beyond the disk's end, or can't be read.
    pub fn read(&self, at: u64, bytes: &mut [u8]) -> io::Result<()> {
        let parts = self.parts(at, bytes.len())?;
        let (head, rest) = split(bytes, parts.head);
        let (middle, tail) = split(rest, parts.middle);
        let held = self.head.iter().skip(offset(at, 0));
        head.iter_mut().zip(held).for_each(|(to, from)| *to = *from);
        if !middle.is_empty() {
            self.device.read(at + parts.head as u64, middle)?;
        }
        let held = self.tail.iter().skip(offset(at, self.tail_at));
        tail.iter_mut().zip(held).for_each(|(to, from)| *to = *from);
        Ok(())
    }

    /// Writes, or holds back.
    ///
    /// # Errors
    /// It is beyond the disk's end, or can't be written.
    pub fn write(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        let parts = self.parts(at, bytes.len())?;
        let (head, rest) = bytes.split_at_checked(parts.head).unwrap_or_default();
        let (middle, tail) = rest.split_at_checked(parts.middle).unwrap_or_default();
        hold(&mut self.head, offset(at, 0), head);
        if !middle.is_empty() {
            self.device.write(at + parts.head as u64, middle)?;
        }
        hold(&mut self.tail, offset(at, self.tail_at), tail);
        Ok(())
    }

    /// Makes it read as zeros, or holds that back.
    ///
    /// # Errors
    /// It is beyond the disk's end, or can't be written.
    pub fn zero(&mut self, at: u64, length: u64) -> io::Result<()> {
        let length = usize::try_from(length).map_err(io::Error::other)?;
        let parts = self.parts(at, length)?;
        hold(&mut self.head, offset(at, 0), &vec![0; parts.head]);
        if parts.middle > 0 {
            self.device.zero(at + parts.head as u64, parts.middle as u64)?;
        }
        let tail = length - parts.head - parts.middle;
        hold(&mut self.tail, offset(at, self.tail_at), &vec![0; tail]);
        Ok(())
    }

    /// Writes what was held back, when all else is there: the end, then the beginning without its first sectors, then
    /// these. Each is synced before the next is begun.
    ///
    /// # Errors
    /// It can't be written.
    pub fn publish(&mut self) -> io::Result<()> {
        let (first, rest) = self.head.split_at_checked(LAST).unwrap_or_default();
        self.device.sync()?;
        self.device.write(self.tail_at, &self.tail)?;
        self.device.write(LAST as u64, rest)?;
        self.device.sync()?;
        self.device.write(0, first)?;
        self.device.sync()
    }

    fn parts(&self, at: u64, length: usize) -> io::Result<Parts> {
        let end = at.checked_add(length as u64).filter(|end| *end <= self.length());
        let end = end.ok_or_else(|| {
            io::Error::other(format!(
                "{length} bytes at {at} do not fit on a disk of {} bytes",
                self.length()
            ))
        })?;
        let count = |from: u64, to: u64| usize::try_from(to.saturating_sub(from)).map_err(io::Error::other);
        Ok(Parts {
            head: count(at, end.min(HELD as u64))?,
            middle: count(at.max(HELD as u64), end.min(self.tail_at))?,
        })
    }
}

/// How many bytes are where; what is left is in the tail.
struct Parts {
    head: usize,
    middle: usize,
}

/// How far a place is behind a beginning: nothing where it is before that.
fn offset(at: u64, from: u64) -> usize {
    usize::try_from(at.saturating_sub(from)).unwrap_or(usize::MAX)
}

fn split(bytes: &mut [u8], at: usize) -> (&mut [u8], &mut [u8]) {
    bytes.split_at_mut_checked(at).unwrap_or_default()
}

fn hold(held: &mut [u8], at: usize, bytes: &[u8]) {
    crate::fields::put(held, at, bytes);
}

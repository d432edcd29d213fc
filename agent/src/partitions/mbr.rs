//! The table in a disk's first sector: that of old, or the one that protects a GPT.

use std::ops::Range;

use super::{PartitionError, Wanted, place_at_end};
use crate::fields::{array, put, u32_le};

const TABLE: usize = 446;
const ENTRY: usize = 16;
const ENTRIES: usize = 4;
/// A partition that stands for the whole disk, so that nobody who knows no GPT takes it for empty.
const PROTECTIVE: u8 = 0xEE;
const LINUX: u8 = 0x83;
/// "Beyond what can be said in cylinders, heads and sectors."
const BEYOND: [u8; 3] = [0xFE, 0xFF, 0xFF];

/// A table.
pub struct Mbr {
    /// The whole sector.
    pub sector: Vec<u8>,
}

/// One of its entries.
struct Entry {
    at: usize,
    kind: u8,
    start: u64,
    count: u64,
}

impl Mbr {
    /// Reads the first sector; nothing when there is no table. A boot sector of a file system ends as a table does, but
    /// has no entries.
    pub fn parse(first: &[u8]) -> Option<Self> {
        let has_signature = array(first, 510)? == [0x55_u8, 0xAA];
        let table = Self { sector: first.to_vec() };
        let flags = (0..ENTRIES).filter_map(|index| first.get(TABLE + index * ENTRY));
        let is_table = has_signature
            && flags.into_iter().all(|flag| matches!(flag, 0 | 0x80))
            && table.entries().any(|entry| entry.kind != 0 && entry.count > 0);
        is_table.then_some(table)
    }

    fn entries(&self) -> impl Iterator<Item = Entry> {
        (0..ENTRIES).filter_map(|index| {
            let at = TABLE + index * ENTRY;
            let kind = *self.sector.get(at + 4)?;
            let (start, count) = (u32_le(&self.sector, at + 8)?, u32_le(&self.sector, at + 12)?);
            Some(Entry { at, kind, start: start.into(), count: count.into() })
        })
    }

    /// Whether it stands before a GPT.
    pub fn is_protective(&self) -> bool {
        self.entries().any(|entry| entry.kind == PROTECTIVE)
    }

    /// In sectors, where the last partition ends.
    pub fn end(&self) -> u64 {
        let used = self.entries().filter(|entry| entry.kind != 0 && entry.count > 0);
        used.map(|entry| entry.start + entry.count).max().unwrap_or(0)
    }

    /// Protects a disk of so many sectors.
    pub fn protect(&mut self, sectors: u64) {
        let Some(entry) = self.entries().find(|entry| entry.kind == PROTECTIVE) else { return };
        let count = u32::try_from(sectors.saturating_sub(entry.start)).unwrap_or(u32::MAX);
        put(&mut self.sector, entry.at + 5, &[0xFF; 3]);
        put(&mut self.sector, entry.at + 12, &count.to_le_bytes());
    }

    /// Appends a partition at the end of a disk of so many sectors.
    pub fn append(
        &mut self,
        wanted: Wanted<'_>,
        sectors: u64,
        sector: u64,
    ) -> Result<Range<u64>, PartitionError> {
        let free = self.entries().find(|entry| entry.kind == 0 && entry.count == 0).ok_or_else(|| {
            PartitionError::table(
                "all four entries of the image's MBR are used, and none is left for the configuration: use an image with a GPT",
            )
        })?;
        let used_up_to = self.entries().map(|entry| entry.start + entry.count).max().unwrap_or(0);
        // It counts sectors with 32 bits.
        let end = sectors.min(u32::MAX.into());
        let place = place_at_end(used_up_to, end, wanted.length, sector)?;
        let as_u32 = |number: u64| u32::try_from(number).map(u32::to_le_bytes).unwrap_or_default();
        put(&mut self.sector, free.at, &[0]);
        put(&mut self.sector, free.at + 1, &BEYOND);
        put(&mut self.sector, free.at + 4, &[LINUX]);
        put(&mut self.sector, free.at + 5, &BEYOND);
        put(&mut self.sector, free.at + 8, &as_u32(place.start));
        put(&mut self.sector, free.at + 12, &as_u32(place.end - place.start));
        Ok(place.start * sector..place.end * sector)
    }
}

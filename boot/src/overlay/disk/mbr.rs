//! The partition table in the first sector of a hybrid image.

use super::{BLOCK, Growth, Moved, Span};
use crate::overlay::fields::{at, put, u8_at, u16_le, u32_le};

/// Where the table is.
const TABLE: usize = 446;
/// The partition of a disk that has a GPT.
const PROTECTIVE: u8 = 0xEE;
/// An EFI system partition.
const ESP: u8 = 0xEF;

/// An entry of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partition {
    /// Where the entry is.
    at: usize,
    kind: u8,
    start: u64,
    length: u64,
    /// As it is.
    bytes: Vec<u8>,
}

/// The table.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Mbr {
    partitions: Vec<Partition>,
}

impl Mbr {
    /// Reads it from the first sector; empty when there is none.
    pub fn parse(sector: &[u8]) -> Self {
        if u16_le(sector, 510) != Some(0xAA55) {
            return Self::default();
        }
        let partitions = (0..4_usize).filter_map(|index| {
            let place = TABLE + index * 16;
            let bytes = at(sector, place, 16)?;
            let (start, length) = (u32_le(bytes, 8)?, u32_le(bytes, 12)?);
            let partition = Partition {
                at: place,
                kind: u8_at(bytes, 4)?,
                start: start.into(),
                length: length.into(),
                bytes: bytes.to_vec(),
            };
            (length > 0).then_some(partition)
        });
        Self { partitions: partitions.collect() }
    }

    /// Where EFI system partitions begin, in bytes.
    pub fn system_partitions(&self) -> impl Iterator<Item = u64> + '_ {
        self.partitions
            .iter()
            .filter(|partition| partition.kind == ESP)
            .map(|partition| partition.start * BLOCK)
    }

    /// Of what the length of the image has to be a multiple: a partition that ends with a cylinder keeps doing so.
    pub fn unit(&self, original: u64) -> u64 {
        let whole = self.partitions.iter().filter(|partition| partition.end() * BLOCK >= original);
        let cylinders = whole.filter_map(|partition| {
            let cylinder = partition.cylinder()?;
            partition.end().is_multiple_of(cylinder).then_some(cylinder * BLOCK)
        });
        cylinders.max().unwrap_or(1)
    }

    /// The entries that change: where, and their bytes.
    pub fn changed(&self, growth: &Growth, moved: &[Moved]) -> Vec<(u64, Vec<u8>)> {
        let changed = self.partitions.iter().filter_map(|partition| {
            let (start, end) = self.new_span(partition, growth, moved)?;
            Some((partition.at as u64, partition.with(start, end)))
        });
        changed.collect()
    }

    fn new_span(&self, partition: &Partition, growth: &Growth, moved: &[Moved]) -> Option<Span> {
        let (start, end) = partition.span();
        if let Some(moved) = moved.iter().find(|moved| moved.from == start * BLOCK) {
            return Some((moved.to / BLOCK, (moved.to + moved.length).div_ceil(BLOCK)));
        }
        if partition.kind == PROTECTIVE {
            return (end * BLOCK >= growth.original).then_some((start, growth.length / BLOCK));
        }
        let others =
            self.partitions.iter().filter(|other| other.at != partition.at && other.kind != PROTECTIVE);
        let others: Vec<Span> = others
            .filter(|other| !moved.iter().any(|moved| moved.from == other.start * BLOCK))
            .map(Partition::span)
            .collect();
        Some((start, growth.new_end((start, end), &others)?))
    }
}

impl Partition {
    fn end(&self) -> u64 {
        self.start + self.length
    }

    fn span(&self) -> Span {
        (self.start, self.end())
    }

    /// Blocks of a cylinder, by the last sector of the partition: BIOSes guess it from there.
    fn cylinder(&self) -> Option<u64> {
        let heads = u64::from(u8_at(&self.bytes, 5)?) + 1;
        let sectors = u64::from(u8_at(&self.bytes, 6)? & 0x3F);
        (sectors > 0).then_some(heads * sectors)
    }

    /// The entry with another place.
    fn with(&self, start: u64, end: u64) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        let number = |number: u64| u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes();
        put(&mut bytes, 8, &number(start));
        put(&mut bytes, 12, &number(end.saturating_sub(start)));
        // The old way to write a place keeps its head and sector, from which the geometry is guessed.
        if start != self.start {
            put(&mut bytes, 1, &[0xFE, 0xFF, 0xFF]);
            put(&mut bytes, 5, &[0xFE, 0xFF, 0xFF]);
        } else if let Some(cylinder) = self.cylinder() {
            let last = (end.saturating_sub(1) / cylinder).min(1023);
            let sector = u8_at(&self.bytes, 6).unwrap_or_default() & 0x3F;
            let [low, high] = u16::try_from(last).unwrap_or(1023).to_le_bytes();
            put(&mut bytes, 6, &[sector | high << 6, low]);
        }
        bytes
    }
}

#[cfg(test)]
#[path = "mbr_tests.rs"]
mod tests;

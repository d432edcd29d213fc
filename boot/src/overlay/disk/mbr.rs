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

    /// Where partitions begin, in bytes.
    pub fn starts(&self) -> impl Iterator<Item = u64> + '_ {
        self.partitions.iter().map(|partition| partition.start * BLOCK)
    }

    /// Of what the length of the image has to be a multiple: a partition that ends with a cylinder keeps doing so.
    pub fn unit(&self, original: u64) -> u64 {
        let whole = self.partitions.iter().filter(|partition| partition.end() * BLOCK >= original);
        let cylinders = whole.filter_map(|partition| {
            let cylinder = partition.geometry()?.cylinder();
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

    /// Heads and sectors of the disk that the entry was written for: BIOSes guess them from its last sector.
    fn geometry(&self) -> Option<Geometry> {
        let written: [u8; 3] = at(&self.bytes, 5, 3)?.try_into().ok()?;
        let by_itself = Geometry { heads: u64::from(written[0]) + 1, sectors: u64::from(written[1] & 0x3F) };
        let known =
            [(64, 32), (255, 63), (128, 32), (16, 63)].map(|(heads, sectors)| Geometry { heads, sectors });
        let mut all = [by_itself].into_iter().chain(known);
        all.find(|geometry| geometry.sectors > 0 && geometry.write(self.end()) == written)
    }

    /// The entry with another place.
    fn with(&self, start: u64, end: u64) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        let number = |number: u64| u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes();
        put(&mut bytes, 8, &number(start));
        put(&mut bytes, 12, &number(end.saturating_sub(start)));
        let write = |end: u64| self.geometry().map_or([0xFE, 0xFF, 0xFF], |geometry| geometry.write(end));
        if start != self.start {
            put(&mut bytes, 1, &write(start + 1));
        }
        put(&mut bytes, 5, &write(end));
        bytes
    }
}

/// How places were written before blocks were counted.
#[derive(Debug, Clone, Copy)]
struct Geometry {
    heads: u64,
    sectors: u64,
}

impl Geometry {
    fn cylinder(self) -> u64 {
        self.heads * self.sectors
    }

    /// The last sector before `end`: head, sector, cylinder. What is behind the last cylinder that can be written is
    /// written as the last sector of that.
    fn write(self, end: u64) -> [u8; 3] {
        let last = end.saturating_sub(1).min(1024 * self.cylinder() - 1);
        let byte = |number: u64| u8::try_from(number & 0xFF).unwrap_or(u8::MAX);
        let cylinder = last / self.cylinder();
        let head = last / self.sectors % self.heads;
        let sector = last % self.sectors + 1;
        [byte(head), byte(sector) | byte(cylinder >> 8) << 6, byte(cylinder)]
    }
}

#[cfg(test)]
#[path = "mbr_tests.rs"]
mod tests;

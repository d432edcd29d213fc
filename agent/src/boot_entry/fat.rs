//! FAT file systems, as far as directories are to be read: 12, 16 and 32 bits.

use std::io;

use crate::{
    fields::{array, at, u16_le, u32_le},
    target::Staged,
};

/// Bytes of a directory's entry.
const SLOT: usize = 32;
/// Attributes: a part of a long name, a volume's label, a directory.
const LONG_NAME: u8 = 0x0F;
const LABEL: u8 = 0x08;
const DIRECTORY: u8 = 0x10;
const DELETED: u8 = 0xE5;
/// Directories of an EFI system partition are small; one that goes on for longer goes in circles.
const LARGEST_DIRECTORY: usize = 4 << 20;

/// How wide the entries of the table are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Width {
    Twelve,
    Sixteen,
    ThirtyTwo,
}

/// A file system on a disk.
pub struct Fat<'a, 'd> {
    disk: &'a Staged<'d>,
    start: u64,
    geometry: Geometry,
}

/// Where its parts are, in bytes from its beginning.
#[derive(Debug, PartialEq, Eq)]
struct Geometry {
    width: Width,
    table: u64,
    root: u64,
    root_length: u64,
    root_cluster: u32,
    data: u64,
    cluster: u64,
    clusters: u64,
}

/// A file or directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// Whether it is a directory.
    pub is_directory: bool,
    cluster: u32,
}

impl<'a, 'd> Fat<'a, 'd> {
    /// The file system at this place; nothing where there is none.
    pub fn open(disk: &'a Staged<'d>, start: u64) -> io::Result<Option<Self>> {
        let mut boot = [0; 512];
        disk.read(start, &mut boot)?;
        Ok(Geometry::parse(&boot).map(|geometry| Self { disk, start, geometry }))
    }

    /// What is in the root directory.
    pub fn root(&self) -> io::Result<Vec<Entry>> {
        if self.geometry.width == Width::ThirtyTwo {
            return self.chain(self.geometry.root_cluster).map(|bytes| entries(&bytes));
        }
        let mut bytes = vec![0; usize::try_from(self.geometry.root_length).unwrap_or(0)];
        self.disk.read(self.start + self.geometry.root, &mut bytes)?;
        Ok(entries(&bytes))
    }

    /// What is in a directory.
    pub fn list(&self, directory: &Entry) -> io::Result<Vec<Entry>> {
        self.chain(directory.cluster).map(|bytes| entries(&bytes))
    }

    /// All bytes of what begins at a cluster.
    fn chain(&self, first: u32) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut next = Some(first);
        while let Some(cluster) = next {
            let index = u64::from(cluster).checked_sub(2).filter(|index| *index < self.geometry.clusters);
            let index = index.filter(|_| bytes.len() < LARGEST_DIRECTORY).ok_or_else(damaged)?;
            let mut part = vec![0; usize::try_from(self.geometry.cluster).unwrap_or(0)];
            self.disk.read(self.start + self.geometry.data + index * self.geometry.cluster, &mut part)?;
            bytes.extend(part);
            next = self.next(cluster)?;
        }
        Ok(bytes)
    }

    /// The cluster behind another; none behind the last.
    fn next(&self, cluster: u32) -> io::Result<Option<u32>> {
        let number = u64::from(cluster);
        let offset = match self.geometry.width {
            Width::Twelve => number + number / 2,
            Width::Sixteen => number * 2,
            Width::ThirtyTwo => number * 4,
        };
        let mut bytes = [0; 4];
        self.disk.read(self.start + self.geometry.table + offset, &mut bytes)?;
        let entry = u32::from_le_bytes(bytes);
        let (entry, last) = match self.geometry.width {
            Width::Twelve if cluster % 2 == 1 => (entry >> 4 & 0xFFF, 0xFF8),
            Width::Twelve => (entry & 0xFFF, 0xFF8),
            Width::Sixteen => (entry & 0xFFFF, 0xFFF8),
            Width::ThirtyTwo => (entry & 0x0FFF_FFFF, 0x0FFF_FFF8),
        };
        Ok((entry < last).then_some(entry))
    }
}

fn damaged() -> io::Error {
    io::Error::other("the file system of the EFI system partition is damaged")
}

impl Geometry {
    fn parse(boot: &[u8]) -> Option<Self> {
        let sector = u64::from(u16_le(boot, 11)?);
        let [cluster_sectors] = array::<1>(boot, 13)?.map(u64::from);
        let [tables] = array::<1>(boot, 16)?.map(u64::from);
        let is_boot_sector = u16_le(boot, 510)? == 0xAA55
            && matches!(sector, 512 | 1024 | 2048 | 4096)
            && cluster_sectors.is_power_of_two()
            && tables > 0;
        if !is_boot_sector {
            return None;
        }
        let either =
            |short: u16, long: Option<u32>| if short == 0 { long.map(u64::from) } else { Some(short.into()) };
        let is_wide = u16_le(boot, 22)? == 0;
        let table_length = either(u16_le(boot, 22)?, u32_le(boot, 36))? * sector;
        let sectors = either(u16_le(boot, 19)?, u32_le(boot, 32))?;
        let table = u64::from(u16_le(boot, 14)?) * sector;
        let root = table + tables * table_length;
        let root_length = (u64::from(u16_le(boot, 17)?) * SLOT as u64).next_multiple_of(sector);
        let (data, cluster) = (root + root_length, cluster_sectors * sector);
        let clusters = (sectors * sector).checked_sub(data)? / cluster;
        let width = match clusters {
            _ if is_wide => Width::ThirtyTwo,
            0..=4084 => Width::Twelve,
            _ => Width::Sixteen,
        };
        let root_cluster = if is_wide { u32_le(boot, 44)? } else { 0 };
        Some(Self { width, table, root, root_length, root_cluster, data, cluster, clusters })
    }
}

fn entries(bytes: &[u8]) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut long: Vec<u16> = Vec::new();
    for slot in bytes.as_chunks::<SLOT>().0 {
        let (Some(first), Some(attributes)) = (slot.first(), slot.get(11)) else { break };
        match (*first, *attributes) {
            (0, _) => break,
            (DELETED, _) => long.clear(),
            (first, attributes) if attributes & 0x3F == LONG_NAME => {
                if first & 0x40 != 0 {
                    long.clear();
                }
                // The last part of a name comes first.
                long.splice(0..0, long_part(slot));
            }
            (_, attributes) if attributes & LABEL != 0 => long.clear(),
            (_, attributes) => {
                let name = if long.is_empty() { short_name(slot) } else { String::from_utf16_lossy(&long) };
                long.clear();
                let cluster = u16_le(slot, 20).zip(u16_le(slot, 26));
                let cluster = cluster.map_or(0, |(high, low)| u32::from(high) << 16 | u32::from(low));
                let is_directory = attributes & DIRECTORY != 0;
                if !matches!(name.as_str(), "." | "..") {
                    entries.push(Entry { name, is_directory, cluster });
                }
            }
        }
    }
    entries
}

/// The thirteen letters of a part of a long name.
fn long_part(slot: &[u8]) -> Vec<u16> {
    let starts = (1..11).chain(14..26).chain(28..32).step_by(2);
    starts.filter_map(|start| u16_le(slot, start)).take_while(|letter| *letter != 0).collect()
}

fn short_name(slot: &[u8]) -> String {
    let text = |start, length| {
        String::from_utf8_lossy(at(slot, start, length).unwrap_or_default()).trim_end().to_owned()
    };
    let (name, extension) = (text(0, 8), text(8, 3));
    if extension.is_empty() { name } else { format!("{name}.{extension}") }
}

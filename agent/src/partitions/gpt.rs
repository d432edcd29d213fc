//! GUID partition tables.

use std::ops::Range;

use flate2::Crc;
use ring::rand::{SecureRandom as _, SystemRandom};

use super::{Guid, PartitionError, Wanted, guid::LINUX, place_at_end};
use crate::{
    fields::{array, at, put, u32_le, u64_le},
    target::Staged,
};

/// What a header begins with.
pub const SIGNATURE: &[u8] = b"EFI PART";
const SMALLEST_HEADER: usize = 92;
const SMALLEST_ENTRY: usize = 128;
/// A usual table has 16 KiB.
const LARGEST_TABLE: usize = 512 << 10;
/// The letters of a name.
const NAME: usize = 36;

/// A table.
pub struct Gpt {
    sector: u64,
    /// The header, as long as it says itself.
    header: Vec<u8>,
    entries: Vec<u8>,
    entry_length: usize,
    /// Where the copy of the header was that the image came with.
    old_backup: u64,
}

/// A partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Partition {
    /// Its number, from 1 on.
    pub number: u32,
    /// What it is for.
    pub kind: Guid,
    /// Its own name among all.
    pub guid: Guid,
    /// Its first sector.
    pub first: u64,
    /// Its last sector.
    pub last: u64,
}

impl Gpt {
    /// Reads the table at a disk's beginning; nothing when there is none.
    ///
    /// # Errors
    /// It is damaged, or can't be read.
    pub fn read(disk: &Staged<'_>, sector: u64) -> Result<Option<Self>, PartitionError> {
        let mut first = vec![0; usize::try_from(sector).unwrap_or(512)];
        disk.read(sector, &mut first)?;
        if !first.starts_with(SIGNATURE) {
            return Ok(None);
        }
        let damaged = || PartitionError::table("the image's GPT is damaged: its checksums do not fit");
        let (header, entry_length, table_length) = header_of(&first).ok_or_else(damaged)?;
        let mut entries = vec![0; table_length];
        let entries_at = u64_le(&header, 72).and_then(|lba| lba.checked_mul(sector)).ok_or_else(damaged)?;
        disk.read(entries_at, &mut entries)?;
        if u32_le(&header, 88) != Some(checksum(&entries)) || entries_at < 2 * sector {
            return Err(damaged());
        }
        let old_backup = u64_le(&header, 32).unwrap_or_default();
        Ok(Some(Self { sector, header, entries, entry_length, old_backup }))
    }

    /// What partitions there are.
    pub fn partitions(&self) -> impl Iterator<Item = Partition> {
        (1..).zip(self.entries.chunks_exact(self.entry_length)).filter_map(|(number, entry)| {
            let kind = Guid(array(entry, 0)?);
            let (guid, first, last) = (Guid(array(entry, 16)?), u64_le(entry, 32)?, u64_le(entry, 40)?);
            (!kind.is_zero()).then_some(Partition { number, kind, guid, first, last })
        })
    }

    /// Moves the copy to the end of a disk with so many sectors.
    ///
    /// # Errors
    /// A partition would go beyond it.
    pub fn move_backup(&mut self, sectors: u64) -> Result<(), PartitionError> {
        let last_usable = sectors.saturating_sub(self.table_sectors() + 2);
        if let Some(beyond) = self.partitions().find(|partition| partition.last > last_usable) {
            return Err(PartitionError::table(format!(
                "partition {} of the image ends at sector {}, and the last one of the disk that can be used is {last_usable}: choose a larger disk",
                beyond.number, beyond.last
            )));
        }
        put(&mut self.header, 32, &(sectors - 1).to_le_bytes());
        put(&mut self.header, 48, &last_usable.to_le_bytes());
        Ok(())
    }

    /// Appends a partition at the end of the disk: its place, in bytes.
    ///
    /// # Errors
    /// There is no room, on the disk or in the table.
    pub fn append(&mut self, wanted: Wanted<'_>) -> Result<Range<u64>, PartitionError> {
        let field = |start| u64_le(&self.header, start).unwrap_or_default();
        let (first_usable, last_usable) = (field(40), field(48));
        let used_up_to = self.partitions().map(|partition| partition.last + 1).max().unwrap_or(0);
        let used_up_to = used_up_to.max(first_usable);
        let place = place_at_end(used_up_to, last_usable + 1, wanted.length, self.sector)?;
        let mut random = [0; 16];
        SystemRandom::new().fill(&mut random).map_err(|_| {
            PartitionError::table("the kernel has no random numbers for a new partition's GUID")
        })?;
        let mut entries = self.entries.chunks_exact_mut(self.entry_length);
        let free = entries.find(|entry| array::<16>(entry, 0) == Some([0; 16]));
        let free = free.ok_or_else(|| PartitionError::table("all entries of the image's GPT are used"))?;
        free.fill(0);
        put(free, 0, &LINUX.0);
        put(free, 16, &Guid::from_random(random).0);
        put(free, 32, &place.start.to_le_bytes());
        put(free, 40, &(place.end - 1).to_le_bytes());
        for (index, letter) in wanted.name.encode_utf16().take(NAME).enumerate() {
            put(free, 56 + index * 2, &letter.to_le_bytes());
        }
        Ok(place.start * self.sector..place.end * self.sector)
    }

    /// Writes the table and its copy.
    ///
    /// # Errors
    /// It can't be written.
    pub fn write(&mut self, disk: &mut Staged<'_>) -> Result<(), PartitionError> {
        let new_backup = u64_le(&self.header, 32).unwrap_or_default();
        let entries_at = u64_le(&self.header, 72).unwrap_or_default();
        self.forget_old_backup(disk, new_backup)?;
        for (own, other, entries_at) in
            [(1, new_backup, entries_at), (new_backup, 1, new_backup - self.table_sectors())]
        {
            let mut sector = vec![0; usize::try_from(self.sector).unwrap_or(512)];
            put(&mut self.header, 24, &u64::to_le_bytes(own));
            put(&mut self.header, 32, &u64::to_le_bytes(other));
            put(&mut self.header, 72, &entries_at.to_le_bytes());
            put(&mut self.header, 88, &checksum(&self.entries).to_le_bytes());
            put(&mut self.header, 16, &[0; 4]);
            let sum = checksum(&self.header);
            put(&mut self.header, 16, &sum.to_le_bytes());
            put(&mut sector, 0, &self.header);
            disk.write(own * self.sector, &sector)?;
            disk.write(entries_at * self.sector, &self.entries)?;
        }
        Ok(())
    }

    /// The copy in the middle of the disk is nobody's any more, and tools would wonder.
    fn forget_old_backup(&self, disk: &mut Staged<'_>, new_backup: u64) -> Result<(), PartitionError> {
        let is_used = |partition: Partition| (partition.first..=partition.last).contains(&self.old_backup);
        let is_free = (2..new_backup).contains(&self.old_backup) && !self.partitions().any(is_used);
        let mut old = vec![0; SIGNATURE.len()];
        let place = self.old_backup.saturating_mul(self.sector);
        if is_free {
            disk.read(place, &mut old)?;
        }
        if is_free && old == SIGNATURE {
            disk.write(place, &vec![0; usize::try_from(self.sector).unwrap_or(512)])?;
        }
        Ok(())
    }

    fn table_sectors(&self) -> u64 {
        (self.entries.len() as u64).div_ceil(self.sector)
    }
}

/// The header in a sector, the length of an entry, and that of all.
fn header_of(sector: &[u8]) -> Option<(Vec<u8>, usize, usize)> {
    let length = usize::try_from(u32_le(sector, 12)?).ok().filter(|length| *length >= SMALLEST_HEADER)?;
    let header = at(sector, 0, length)?.to_vec();
    let mut without_sum = header.clone();
    put(&mut without_sum, 16, &[0; 4]);
    let is_intact = u32_le(&header, 16)? == checksum(&without_sum) && u64_le(&header, 24)? == 1;
    let count = usize::try_from(u32_le(&header, 80)?).ok()?;
    let entry = usize::try_from(u32_le(&header, 84)?).ok()?;
    let table = count.checked_mul(entry)?;
    let is_sane = entry >= SMALLEST_ENTRY && entry.is_multiple_of(8) && (1..=LARGEST_TABLE).contains(&table);
    (is_intact && is_sane).then_some((header, entry, table))
}

fn checksum(bytes: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.sum()
}

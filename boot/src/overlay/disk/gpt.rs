//! The GUID partition table: one at the beginning of a hybrid image, its copy in the last sectors.

use bytes::Bytes;

use super::{BLOCK, Growth, Moved, Span};
use crate::overlay::{
    error::OverlayError,
    fields::{at, put, u32_le, u64_le},
    reader::Reader,
};

/// `C12A7328-F81F-11D2-BA4B-00A0C93EC93B`, as it is written.
const ESP: [u8; 16] =
    [0x28, 0x73, 0x2A, 0xC1, 0x1F, 0xF8, 0xD2, 0x11, 0xBA, 0x4B, 0x00, 0xA0, 0xC9, 0x3E, 0xC9, 0x3B];
/// There are 128 of 128 bytes; some tools write more.
const LARGEST_TABLE: u64 = 64 * 1024;

/// The table at the beginning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gpt {
    header: Bytes,
    entries: Bytes,
    entry_length: usize,
    entries_at: u64,
}

/// What both tables become.
pub struct Changed {
    /// The header at the beginning.
    pub header: Vec<u8>,
    /// The entries, of both.
    pub entries: Bytes,
    /// Where the entries at the beginning are.
    pub entries_at: u64,
    /// What the image ends with: entries and header.
    pub copy: Vec<u8>,
}

impl Gpt {
    /// Reads the one at the beginning; nothing when there is none, or when its checksums say that it is none.
    ///
    /// # Errors
    /// The image can't be read.
    pub async fn read(reader: &mut Reader<'_>) -> Result<Option<Self>, OverlayError> {
        let header = reader.read(BLOCK, BLOCK).await?;
        let Some((entries_at, length, entry_length)) = described(&header) else { return Ok(None) };
        if entries_at.checked_add(length).is_none_or(|end| end > reader.length()) {
            return Ok(None);
        }
        let entries = reader.read(entries_at, length).await?;
        let is_whole = u32_le(&header, 88) == Some(crc32(&entries));
        Ok(is_whole.then_some(Self { header, entries, entry_length, entries_at }))
    }

    /// Where EFI system partitions begin, in bytes.
    pub fn system_partitions(&self) -> impl Iterator<Item = u64> + '_ {
        self.partitions().filter(|(kind, _)| *kind == ESP).map(|(_, (start, _))| start.saturating_mul(BLOCK))
    }

    /// Where partitions begin, in bytes.
    pub fn starts(&self) -> impl Iterator<Item = u64> + '_ {
        self.partitions().map(|(_, (start, _))| start.saturating_mul(BLOCK))
    }

    /// How many bytes the copy at the end takes.
    pub fn copy_length(&self) -> u64 {
        (self.entries.len() as u64).next_multiple_of(BLOCK) + BLOCK
    }

    /// Both tables for an image of another length, whose last bytes are the copy.
    pub fn changed(&self, growth: &Growth, moved: &[Moved]) -> Changed {
        let entries = self.changed_entries(growth, moved);
        let checksum = crc32(&entries).to_le_bytes();
        let last = (growth.length / BLOCK).saturating_sub(1);
        let copy_entries = (growth.length - self.copy_length()) / BLOCK;
        let mut header = self.header.to_vec();
        put(&mut header, 32, &last.to_le_bytes());
        put(&mut header, 48, &copy_entries.saturating_sub(1).to_le_bytes());
        put(&mut header, 88, &checksum);
        seal(&mut header);
        let mut copy_header = header.clone();
        put(&mut copy_header, 24, &last.to_le_bytes());
        put(&mut copy_header, 32, &1_u64.to_le_bytes());
        put(&mut copy_header, 72, &copy_entries.to_le_bytes());
        seal(&mut copy_header);
        let mut copy = entries.clone();
        copy.resize(entries.len().next_multiple_of(512), 0);
        copy.extend_from_slice(&copy_header);
        Changed { header, entries: entries.into(), entries_at: self.entries_at, copy }
    }

    /// Kind and span of each.
    fn partitions(&self) -> impl Iterator<Item = ([u8; 16], Span)> + '_ {
        self.entries.chunks_exact(self.entry_length).filter_map(|entry| {
            let kind: [u8; 16] = at(entry, 0, 16)?.try_into().ok()?;
            let span = (u64_le(entry, 32)?, u64_le(entry, 40)?.checked_add(1)?);
            (kind != [0; 16] && span.0 < span.1).then_some((kind, span))
        })
    }

    fn changed_entries(&self, growth: &Growth, moved: &[Moved]) -> Vec<u8> {
        let mut entries = self.entries.to_vec();
        let all: Vec<Span> = self.partitions().map(|(_, span)| span).collect();
        let moved_to = |start: u64| moved.iter().find(|moved| Some(moved.from) == start.checked_mul(BLOCK));
        for entry in entries.chunks_exact_mut(self.entry_length) {
            let Some(span) = u64_le(entry, 32).zip(u64_le(entry, 40).and_then(|last| last.checked_add(1)))
            else {
                continue;
            };
            if at(entry, 0, 16) == Some(&[0; 16]) || span.0 >= span.1 {
                continue;
            }
            let others: Vec<Span> =
                all.iter().copied().filter(|other| *other != span && moved_to(other.0).is_none()).collect();
            let new = match moved_to(span.0) {
                Some(moved) => Some((moved.to / BLOCK, (moved.to + moved.length).div_ceil(BLOCK))),
                None => growth.new_end(span, &others).map(|end| (span.0, end.min(growth.extents / BLOCK))),
            };
            if let Some((start, end)) = new {
                put(entry, 32, &start.to_le_bytes());
                put(entry, 40, &end.saturating_sub(1).to_le_bytes());
            }
        }
        entries
    }
}

/// Where the entries are in bytes, how many bytes they have, and how many each.
fn described(header: &[u8]) -> Option<(u64, u64, usize)> {
    if at(header, 0, 8)? != b"EFI PART" || u64_le(header, 24)? != 1 {
        return None;
    }
    let sealed = {
        let mut again = header.to_vec();
        seal(&mut again);
        again == header
    };
    let each = u32_le(header, 84)?;
    let length = u64::from(u32_le(header, 80)?) * u64::from(each);
    let is_sane = sealed && each >= 128 && length > 0 && length <= LARGEST_TABLE;
    let entries_at = u64_le(header, 72)?.checked_mul(BLOCK)?;
    Some((entries_at, length, usize::try_from(each).ok()?)).filter(|_| is_sane)
}

/// Writes a header's checksum.
fn seal(header: &mut [u8]) {
    put(header, 16, &[0; 4]);
    let length = u32_le(header, 12).and_then(|length| usize::try_from(length).ok());
    let length = length.filter(|length| (92..=512).contains(length)).unwrap_or(92);
    let checksum = crc32(header.get(..length).unwrap_or_default());
    put(header, 16, &checksum.to_le_bytes());
}

/// The checksum of each byte.
#[allow(clippy::indexing_slicing, reason = "a constant: the compiler sees that it is within")]
const CRC: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0xEDB8_8320 } else { crc >> 1 };
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
};

/// The checksum of a GPT: CRC-32 as in zip files.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, byte: &u8| {
        let [low, ..] = crc.to_le_bytes();
        let entry = CRC.get(usize::from(low ^ byte)).copied().unwrap_or_default();
        crc >> 8 ^ entry
    };
    !bytes.iter().fold(u32::MAX, step)
}

#[cfg(test)]
#[path = "gpt_tests.rs"]
mod tests;

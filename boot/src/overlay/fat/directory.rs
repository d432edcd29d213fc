//! Directories: entries of 32 bytes, long names in those before.

use bytes::Bytes;

use super::Place;
use crate::overlay::fields::{at, u8_at, u16_le, u32_le};

/// Bytes of an entry.
pub const SLOT: usize = 32;
/// The attributes of an entry that is part of a long name.
const LONG_NAME: u8 = 0x0F;
/// An entry that nobody uses any more.
pub const DELETED: u8 = 0xE5;

/// A directory as it was read.
#[derive(Debug, Clone)]
pub struct Directory {
    /// Its path, in lower case; empty for the root.
    pub path: String,
    /// Its clusters; none for a root directory that is no file.
    pub chain: Vec<u32>,
    /// All of it.
    pub bytes: Bytes,
}

/// A file or directory in one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// Whether it is a directory.
    pub directory: bool,
    /// Its first cluster.
    pub cluster: u32,
    /// How many bytes it has.
    pub length: u32,
    /// Where its entry is, from the beginning of the directory.
    pub at: u64,
}

impl Directory {
    /// Where an offset of it is.
    pub fn place(&self, offset: u64, cluster_length: u64) -> Option<Place> {
        if self.chain.is_empty() {
            return Some(Place::Root(offset));
        }
        let cluster = self.chain.get(usize::try_from(offset / cluster_length).ok()?)?;
        Some(Place::Cluster(*cluster, offset % cluster_length))
    }

    /// What is in it.
    pub fn entries(&self) -> Vec<Entry> {
        let mut entries = Vec::new();
        let mut long: Vec<u16> = Vec::new();
        for (index, slot) in self.bytes.chunks_exact(SLOT).enumerate() {
            let (Some(first), Some(attributes)) = (u8_at(slot, 0), u8_at(slot, 11)) else { break };
            match (first, attributes) {
                (0, _) => break,
                (DELETED, _) => long.clear(),
                (first, attributes) if attributes & 0x3F == LONG_NAME => {
                    if first & 0x40 != 0 {
                        long.clear();
                    }
                    // The last part of a name comes first.
                    let part: Vec<u16> = part(slot);
                    long.splice(0..0, part);
                }
                (_, attributes) if attributes & 0x08 != 0 => long.clear(),
                (_, attributes) => {
                    let name = if long.is_empty() { short_name(slot) } else { long_name(&long) };
                    long.clear();
                    entries.extend(entry(slot, name, attributes, (index * SLOT) as u64));
                }
            }
        }
        entries
    }
}

fn entry(slot: &[u8], name: String, attributes: u8, at: u64) -> Option<Entry> {
    let cluster = u32::from(u16_le(slot, 20)?) << 16 | u32::from(u16_le(slot, 26)?);
    let length = u32_le(slot, 28)?;
    (name != "." && name != "..").then_some(Entry {
        name,
        directory: attributes & 0x10 != 0,
        cluster,
        length,
        at,
    })
}

/// The thirteen letters of a part of a long name.
fn part(slot: &[u8]) -> Vec<u16> {
    let letters = [(1, 5), (14, 6), (28, 2)];
    let all = letters.into_iter().flat_map(|(start, count)| (0..count).map(move |index| start + index * 2));
    all.filter_map(|start| u16_le(slot, start)).take_while(|letter| *letter != 0).collect()
}

fn long_name(letters: &[u16]) -> String {
    String::from_utf16_lossy(letters).trim_end_matches('\u{FFFF}').to_owned()
}

/// A short name. Two bits say which of its parts people wrote in lower case.
fn short_name(slot: &[u8]) -> String {
    let lower = u8_at(slot, 12).unwrap_or_default();
    let text = |start, length, bit: u8| {
        let text = String::from_utf8_lossy(at(slot, start, length).unwrap_or_default()).trim_end().to_owned();
        if lower & bit == 0 { text } else { text.to_lowercase() }
    };
    let (name, extension) = (text(0, 8, 0x08), text(8, 3, 0x10));
    if extension.is_empty() { name } else { format!("{name}.{extension}") }
}

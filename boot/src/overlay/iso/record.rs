//! Directory records: a file's name, place and length.

use super::{Tree, rock_ridge};
use crate::overlay::fields::{at, u8_at, u32_le};

/// Bytes in a block of every image that boots.
pub const SECTOR: u64 = 2048;
/// Where a record has its extent, in both byte orders; the length follows.
const EXTENT: u64 = 2;

/// How many bytes the blocks have that hold this many.
pub fn sectors(length: u64) -> u64 {
    length.next_multiple_of(SECTOR)
}

/// Where a name has the place and length of its file, each in both byte orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NamePlace {
    /// Where in the image.
    pub at: u64,
    /// The block from which on its tree counts.
    pub base: u32,
}

/// A name for a file, in one of the trees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRecord {
    /// Where extent and length are written.
    pub place: NamePlace,
    /// The path, without a slash at its beginning.
    pub path: String,
    /// In which tree.
    pub tree: Tree,
    /// Whether the name is Rock Ridge's.
    pub rock_ridge: bool,
    /// The first block, counted from the beginning of the image.
    pub block: u32,
    /// How many bytes it has.
    pub length: u32,
}

/// One entry of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The name, without version.
    pub name: String,
    /// Whether the name is Rock Ridge's.
    pub rock_ridge: bool,
    /// Whether it is a directory.
    pub directory: bool,
    /// Whether content is where the record says, in one piece.
    pub plain: bool,
    /// The first block.
    pub block: u32,
    /// How many bytes it has.
    pub length: u32,
    /// Where its extent is written, from the beginning of the directory.
    pub place: u64,
}

/// The entries of a directory. `skip` is what Rock Ridge leaves free before its fields; none is no Rock Ridge.
pub fn entries(directory: &[u8], tree: Tree, skip: Option<usize>) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut start = 0_usize;
    while let Some(length) = u8_at(directory, start) {
        if length == 0 {
            // No record crosses a sector: the rest of this one is empty.
            start = (start + 1).next_multiple_of(usize::try_from(SECTOR).unwrap_or(2048));
            continue;
        }
        if let Some(record) = at(directory, start, usize::from(length)) {
            entries.extend(entry(record, start as u64, tree, skip));
        }
        start += usize::from(length);
    }
    entries
}

fn entry(record: &[u8], start: u64, tree: Tree, skip: Option<usize>) -> Option<Entry> {
    let name_length = usize::from(u8_at(record, 32)?);
    let name = at(record, 33, name_length)?;
    if matches!(name, [0 | 1]) {
        return None;
    }
    let flags = u8_at(record, 25)?;
    // A padding byte makes what follows the name begin at an even offset.
    let system_use = record.get(33 + name_length + (name_length + 1) % 2..).unwrap_or_default();
    let long = skip.and_then(|skip| rock_ridge::fields(system_use.get(skip..).unwrap_or_default()));
    let rock_ridge = long.as_ref().is_some_and(|fields| fields.name.is_some());
    let moved = long.as_ref().is_some_and(|fields| fields.moved);
    Some(Entry {
        name: long.and_then(|fields| fields.name).unwrap_or_else(|| decode(name, tree)),
        rock_ridge,
        directory: flags & 2 != 0,
        // No further extents, no attributes before the content, no interleaving; not compressed, not relocated.
        plain: flags & 0x84 == 0 && u8_at(record, 1)? == 0 && at(record, 26, 2)? == [0, 0] && !moved,
        block: u32_le(record, 2)?,
        length: u32_le(record, 10)?,
        place: start + EXTENT,
    })
}

fn decode(name: &[u8], tree: Tree) -> String {
    let text = match tree {
        Tree::Primary | Tree::Enhanced => String::from_utf8_lossy(name).into_owned(),
        Tree::Joliet => {
            let units = name.chunks_exact(2).map(|pair| match pair {
                [high, low] => u16::from_be_bytes([*high, *low]),
                _ => 0,
            });
            char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
        }
    };
    let without_version = text.rsplit_once(';').map_or(text.as_str(), |(name, _)| name);
    without_version.strip_suffix('.').unwrap_or(without_version).to_owned()
}

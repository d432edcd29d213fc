//! Looks through the directories in which boot loaders keep their configuration.

use std::collections::{BTreeSet, VecDeque};

use super::{
    FileRecord, NamePlace, Volume,
    record::{self, Entry},
    rock_ridge,
};
use crate::overlay::{error::OverlayError, reader::Reader};

/// Directories at the top of an image, or of an EFI system partition, in which boot loaders keep their things.
const PLACES: [&str; 10] =
    ["arch", "boot", "efi", "grub", "grub2", "images", "isolinux", "loader", "syslinux", "extlinux"];
/// `boot/x86_64/loader/theme/…` is as deep as it gets.
const DEEPEST: usize = 5;
/// Directories in one tree.
const MOST_DIRECTORIES: u64 = 256;
/// Bytes of one directory.
const LARGEST_DIRECTORY: u64 = 1024 * 1024;
/// Entries in one tree.
const MOST_ENTRIES: u64 = 20_000;

/// What was found in one tree.
#[derive(Debug, Default)]
pub struct Found {
    /// The files of the directories that were looked at.
    pub files: Vec<FileRecord>,
    /// The names at the top, in lower case.
    pub top: BTreeSet<String>,
}

/// Whether a directory can hold boot loader configuration. The pool of packages of an installer has thousands that
/// can't.
pub fn is_worth_a_look(path: &str) -> bool {
    let top = path.split('/').next().unwrap_or_default().to_lowercase();
    PLACES.contains(&top.as_str()) && path.split('/').count() <= DEEPEST
}

/// A directory that is to be looked at.
struct Place {
    path: String,
    block: u32,
    length: u32,
}

/// Walks one tree.
///
/// # Errors
/// It points outside of the image, or is larger than such trees are.
pub async fn walk(reader: &mut Reader<'_>, volume: &Volume) -> Result<Found, OverlayError> {
    let mut found = Found::default();
    let mut seen = BTreeSet::new();
    let root = Place { path: String::new(), block: volume.root, length: volume.root_length };
    let mut waiting = VecDeque::from([root]);
    let mut skip = None;
    let mut entries = 0_u64;
    while let Some(place) = waiting.pop_front() {
        if !seen.insert(place.block) {
            continue;
        }
        if seen.len() as u64 > MOST_DIRECTORIES {
            return Err(OverlayError::TooMuch { what: "directories", most: MOST_DIRECTORIES });
        }
        let directory = read_directory(reader, &place).await?;
        if place.path.is_empty() {
            skip = rock_ridge::skip(&directory);
        }
        for entry in record::entries(&directory, volume.tree, skip) {
            entries += 1;
            if entries > MOST_ENTRIES {
                return Err(OverlayError::TooMuch { what: "files", most: MOST_ENTRIES });
            }
            take(entry, &place, volume, &mut found, &mut waiting);
        }
    }
    Ok(found)
}

async fn read_directory(reader: &mut Reader<'_>, place: &Place) -> Result<bytes::Bytes, OverlayError> {
    let length = u64::from(place.length);
    if length > LARGEST_DIRECTORY {
        return Err(OverlayError::TooMuch { what: "bytes of one directory", most: LARGEST_DIRECTORY });
    }
    reader.read(u64::from(place.block) * record::SECTOR, length).await
}

fn take(mut entry: Entry, place: &Place, volume: &Volume, found: &mut Found, waiting: &mut VecDeque<Place>) {
    let path = if place.path.is_empty() {
        found.top.insert(entry.name.to_lowercase());
        std::mem::take(&mut entry.name)
    } else {
        format!("{}/{}", place.path, entry.name)
    };
    let Some(block) = entry.block.checked_add(volume.base).filter(|_| entry.plain) else { return };
    entry.block = block;
    if entry.directory {
        if is_worth_a_look(&path) {
            waiting.push_back(Place { path, block: entry.block, length: entry.length });
        }
        return;
    }
    // Files without content share an extent that is nobody's.
    if entry.length > 0 {
        found.files.push(FileRecord {
            place: NamePlace { at: u64::from(place.block) * record::SECTOR + entry.place, base: volume.base },
            path,
            tree: volume.tree,
            rock_ridge: entry.rock_ridge,
            block: entry.block,
            length: entry.length,
        });
    }
}

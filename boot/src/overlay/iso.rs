//! ISO 9660: the volume descriptors, and the trees that they name.
//!
//! An image has up to three trees over the same files: the primary one (with Rock Ridge's names where there are any),
//! Joliet, and the enhanced one of ISO 9660:1999. Whoever changes a file has to do so in each.

mod record;
mod rock_ridge;
mod walk;

pub use record::{FileRecord, NamePlace, SECTOR, sectors};
pub use walk::{is_worth_a_look, walk};

use super::{
    error::{OverlayError, damaged},
    fields::{at, u8_at, u32_le},
    reader::Reader,
};

/// Where volume descriptors begin: the 32 KiB before are the system area.
const FIRST_DESCRIPTOR: u64 = 16;
/// There are three or four.
const MOST_DESCRIPTORS: u64 = 32;
/// Where a descriptor has the number of blocks of its volume.
const SPACE_SIZE: u64 = 80;

/// How a tree writes its names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tree {
    /// Upper case and short, or Rock Ridge's.
    Primary,
    /// UCS-2.
    Joliet,
    /// Whatever the maker thought.
    Enhanced,
}

/// A tree of an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Volume {
    /// Its kind.
    pub tree: Tree,
    /// The block of the image from which on it counts.
    pub base: u32,
    /// Where its volume's size is written in the image, in both byte orders.
    pub space_size_at: u64,
    /// How many blocks it says it has.
    pub blocks: u32,
    /// The block of its root directory, counted from the beginning of the image.
    pub root: u32,
    /// The length of its root directory.
    pub root_length: u32,
}

/// What the descriptors say.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Volumes {
    /// The trees.
    pub trees: Vec<Volume>,
    /// The block of the El Torito boot catalog.
    pub boot_catalog: Option<u32>,
}

/// Reads the descriptors.
///
/// # Errors
/// It is no ISO image, or can't be read.
pub async fn volumes(reader: &mut Reader<'_>) -> Result<Volumes, OverlayError> {
    volumes_from(reader, 0).await
}

/// The trees of a partition, where it has its own over the files of the image, so that it can be mounted by itself:
/// such count from its beginning. None where there are none.
///
/// # Errors
/// They can't be read.
pub async fn partition_trees(reader: &mut Reader<'_>, start: u64) -> Result<Vec<Volume>, OverlayError> {
    /// They begin within the system area, before the image's own descriptors are over.
    const LATEST: u64 = 64 * 1024;
    let Some(base) = u32::try_from(start / SECTOR).ok().filter(|_| start > 0 && start <= LATEST) else {
        return Ok(Vec::new());
    };
    if !start.is_multiple_of(SECTOR) {
        return Ok(Vec::new());
    }
    match volumes_from(reader, base).await {
        Ok(volumes) => Ok(volumes.trees),
        Err(OverlayError::NotIso(_)) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

async fn volumes_from(reader: &mut Reader<'_>, base: u32) -> Result<Volumes, OverlayError> {
    let mut volumes = Volumes::default();
    for sector in FIRST_DESCRIPTOR..FIRST_DESCRIPTOR + MOST_DESCRIPTORS {
        let start = (u64::from(base) + sector) * SECTOR;
        if start + SECTOR > reader.length() {
            return Err(OverlayError::NotIso("it ends before its volume descriptors do"));
        }
        let descriptor = reader.read(start, SECTOR).await?;
        if at(&descriptor, 1, 5) != Some(b"CD001") {
            return Err(OverlayError::NotIso("it has no volume descriptors"));
        }
        match u8_at(&descriptor, 0) {
            Some(0) => volumes.boot_catalog = volumes.boot_catalog.or(boot_catalog(&descriptor)),
            Some(1) if volumes.trees.is_empty() => {
                volumes.trees.push(volume(Tree::Primary, base, start, &descriptor)?);
            }
            Some(2) => {
                let tree = if is_joliet(&descriptor) { Tree::Joliet } else { Tree::Enhanced };
                volumes.trees.push(volume(tree, base, start, &descriptor)?);
            }
            Some(255) if volumes.trees.is_empty() => {
                return Err(OverlayError::NotIso("it has no primary volume descriptor"));
            }
            Some(255) => return Ok(volumes),
            Some(_) | None => {}
        }
    }
    Err(damaged("its volume descriptors have no end"))
}

fn boot_catalog(descriptor: &[u8]) -> Option<u32> {
    let is_el_torito = at(descriptor, 7, 23) == Some(b"EL TORITO SPECIFICATION");
    is_el_torito.then(|| u32_le(descriptor, 0x47)).flatten()
}

/// Joliet is told by the escape sequences of its character set.
fn is_joliet(descriptor: &[u8]) -> bool {
    matches!(at(descriptor, 88, 3), Some(b"%/@" | b"%/C" | b"%/E"))
}

fn volume(tree: Tree, base: u32, start: u64, descriptor: &[u8]) -> Result<Volume, OverlayError> {
    let parsed = || {
        let block_size = super::fields::u16_le(descriptor, 128)?;
        let root = at(descriptor, 156, 34)?;
        let volume = Volume {
            tree,
            base,
            space_size_at: start + SPACE_SIZE,
            blocks: u32_le(descriptor, 80)?,
            root: u32_le(root, 2)?.checked_add(base)?,
            root_length: u32_le(root, 10)?,
        };
        (u64::from(block_size) == SECTOR).then_some(volume)
    };
    parsed().ok_or_else(|| damaged("one of its volume descriptors has no blocks of 2048 bytes"))
}

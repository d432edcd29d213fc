//! ISO 9660 volumes: the one that an image looks for its configuration on, beside the image itself in a second drive;
//! and one that firmware starts from.
//!
//! It is a plain ISO 9660 tree with Rock Ridge, for Linux and the BSDs, and a Joliet tree, for Windows: each shows the
//! files by their exact names. The same input gives the same bytes: there is no clock and no chance in it, so every
//! replica serves the same volume. [`iso`] and [`bootable_iso`] make it in memory, for configuration and for tests;
//! [`plan_bootable`] is for images.

mod descriptor;
mod field;
mod hierarchy;
mod layout;
mod name;
mod record;

use std::fmt;

use bytes::Bytes;

use crate::error::{MOST_BYTES, VolumeError};
use crate::plan::{Entry, Part, Plan};
use crate::tree::Tree;

/// A file of a volume.
#[derive(Clone, PartialEq, Eq)]
pub struct File<'a> {
    /// Its path in the volume, with or without a slash in front.
    pub path: &'a str,
    /// What is in it.
    pub content: Bytes,
}

/// Without the content: configuration holds secrets.
impl fmt::Debug for File<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("File").field("path", &self.path).field("bytes", &self.content.len()).finish()
    }
}

/// Makes a volume with a label and files. Firmware passes over it: there is nothing to start from.
///
/// # Errors
/// The label, a path or the sizes don't fit into a volume.
pub fn iso(label: &str, files: &[File<'_>]) -> Result<Bytes, VolumeError> {
    in_memory(files, |entries| layout::plan(label_of(label)?, &Tree::new(entries)?, None))
}

/// Makes a volume that UEFI firmware starts from one of its files, which is an EFI system partition (El Torito).
///
/// # Errors
/// As with [`iso`]; or there is no such file.
pub fn bootable_iso(label: &str, files: &[File<'_>], boot_image: &str) -> Result<Bytes, VolumeError> {
    in_memory(files, |entries| plan_bootable(label, entries, boot_image))
}

/// Plans a volume that UEFI firmware starts from one of its files, as large as ISO 9660 lets it be.
///
/// # Errors
/// As with [`bootable_iso`].
pub fn plan_bootable(label: &str, files: &[Entry<'_>], boot_image: &str) -> Result<Plan, VolumeError> {
    let tree = Tree::new(files)?;
    let Some(file) = tree.file(boot_image) else {
        return Err(VolumeError::NoBootImage { path: boot_image.to_owned() });
    };
    layout::plan(label_of(label)?, &tree, Some(file))
}

fn in_memory(
    files: &[File<'_>],
    plan: impl Fn(&[Entry<'_>]) -> Result<Plan, VolumeError>,
) -> Result<Bytes, VolumeError> {
    let sized = |file: &File<'_>| file.content.len();
    fits_into_memory(files.iter().map(sized).fold(0, usize::saturating_add))?;
    let entries: Vec<Entry<'_>> =
        files.iter().map(|file| Entry { path: file.path, length: sized(file) as u64 }).collect();
    let plan = plan(&entries)?;
    let length = usize::try_from(plan.length()).unwrap_or(usize::MAX);
    fits_into_memory(length)?;
    let mut image = Vec::with_capacity(length);
    for part in plan.parts() {
        match part {
            Part::Bytes(bytes) => image.extend_from_slice(bytes),
            Part::File(number) => {
                image.extend_from_slice(files.get(*number).map(|file| &*file.content).unwrap_or_default());
            }
            Part::Zeros(count) => {
                image.resize(image.len() + usize::try_from(*count).unwrap_or_default(), 0);
            }
        }
    }
    Ok(image.into())
}

fn fits_into_memory(bytes: usize) -> Result<(), VolumeError> {
    if bytes > MOST_BYTES { Err(VolumeError::TooLarge { bytes }) } else { Ok(()) }
}

/// As blkid shows it and cloud-init looks for it. The standard knows only capitals there, and nobody keeps to it.
fn label_of(label: &str) -> Result<&str, VolumeError> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    // Joliet has room for 16.
    if (1..=16).contains(&label.len()) && label.chars().all(fits) {
        return Ok(label);
    }
    Err(VolumeError::Label(label.to_owned()))
}

#[cfg(test)]
#[path = "iso_tests.rs"]
mod tests;

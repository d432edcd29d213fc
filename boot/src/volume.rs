//! A small ISO made on the fly: the volume that an image looks for its configuration on, beside the image itself in a
//! second drive.
//!
//! It is a plain ISO 9660 tree with Rock Ridge, for Linux and the BSDs, and a Joliet tree, for Windows: each shows the
//! files by their exact names. The same input gives the same bytes: there is no clock and no chance in it, so every
//! replica serves the same volume. It is made in memory, so it is for configuration and for tests, not for images; what
//! changes an image that somebody else made is not here.

pub mod contents;
mod descriptor;
mod field;
mod hierarchy;
mod layout;
mod name;
mod record;
mod tree;

use std::fmt;

use bytes::Bytes;

use self::tree::Tree;

/// As large as a volume may be.
pub const MOST_BYTES: usize = 64 << 20;
/// As many files and directories as it may have.
pub const MOST_FILES: usize = 1000;

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

/// Why a volume can't be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VolumeError {
    /// The label can't be written.
    #[error(
        "a volume can't be labelled {0:?}: a label has 1 to 16 letters, digits, dashes and underscores, like cidata and \
         config-2"
    )]
    Label(String),
    /// A name can't be written so that every system reads it alike.
    #[error(
        "a volume can't hold {path:?}: each part of a path has 1 to 64 printable ASCII characters without * : ; ? \" < > \
         | and \\, and is neither . nor .."
    )]
    Name {
        /// The whole path.
        path: String,
    },
    /// Directories are nested deeper than ISO 9660 lets them be.
    #[error("a volume can't hold {path:?}: seven directories may be nested, no more")]
    TooDeep {
        /// The whole path.
        path: String,
    },
    /// There are two of a name.
    #[error("a volume can't hold {path:?} twice, nor as a file and as a directory")]
    Twice {
        /// The whole path.
        path: String,
    },
    /// There are too many files.
    #[error("a volume may have {MOST_FILES} files and directories, no more")]
    TooMany,
    /// It would be too large.
    #[error(
        "a volume of {bytes} bytes is too large: {MOST_BYTES} are allowed. Put what is large on a server and let the \
         configuration fetch it"
    )]
    TooLarge {
        /// What it would have, at least.
        bytes: usize,
    },
    /// What it should be started from is not in it.
    #[error("a volume can't be started from {path:?}, which is no file of it")]
    NoBootImage {
        /// The path that was named.
        path: String,
    },
}

/// Makes a volume with a label and files. Firmware passes over it: there is nothing to start from.
///
/// # Errors
/// The label, a path or the sizes don't fit into a volume.
pub fn iso(label: &str, files: &[File<'_>]) -> Result<Bytes, VolumeError> {
    layout::write(label_of(label)?, &Tree::new(files)?, None)
}

/// Makes a volume that UEFI firmware starts from one of its files, which is an EFI system partition (El Torito).
///
/// # Errors
/// As with [`iso`]; or there is no such file.
pub fn bootable_iso(label: &str, files: &[File<'_>], boot_image: &str) -> Result<Bytes, VolumeError> {
    let tree = Tree::new(files)?;
    let Some(file) = tree.file(boot_image) else {
        return Err(VolumeError::NoBootImage { path: boot_image.to_owned() });
    };
    layout::write(label_of(label)?, &tree, Some(file))
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
#[path = "volume_tests.rs"]
mod tests;

//! FAT file systems: the EFI system partition that is inside an image.
//!
//! A changed file keeps its clusters, and takes free ones when it needs more. When there are none, the file system
//! becomes larger: new tables before, new clusters behind, and all old clusters as they are, in their order. So a
//! file system of any size is rebuilt from a few kilobytes. Nothing is freed but what a file no longer needs, and no
//! kind of FAT becomes another.

mod change;
mod create;
mod directory;
mod geometry;
mod pe;
mod table;
mod walk;

use std::ops::Range;

use bytes::Bytes;

use self::{change::Change, directory::Directory, geometry::Geometry, table::Table, walk::Walked};
use super::{
    assembly::What,
    error::OverlayError,
    image::kernel_lines,
    loader::{Arguments, Kind, entry_for, loader_with_default},
    reader::Reader,
};

/// The entry that starts a unified kernel image with more parameters.
const ENTRY: &str = "beskar7.conf";

/// What is known of a file system.
#[derive(Debug, Clone)]
pub struct Fat {
    /// Where it begins in the image.
    start: u64,
    geometry: Geometry,
    table: Table,
    /// Free clusters by its own account, where it has one.
    free: Option<u32>,
    files: Vec<File>,
    /// The directories in which entries are made: the root, `loader` and `loader/entries`, as far as they are there.
    directories: Vec<Directory>,
    unified: Option<Unified>,
    started_by_firmware: Option<String>,
}

/// A configuration file.
#[derive(Debug, Clone)]
pub struct File {
    /// Its path.
    pub path: String,
    /// Whose it is.
    pub kind: Kind,
    /// What it says.
    pub text: Bytes,
    /// Its clusters.
    pub chain: Vec<u32>,
    /// Where its directory entry is.
    pub entry: Place,
}

/// A unified kernel image that systemd-boot starts.
#[derive(Debug, Clone)]
pub struct Unified {
    /// Its path.
    pub path: String,
    /// The parameters in it.
    pub command_line: String,
}

/// A place that stays the same when the file system becomes larger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// Bytes from the beginning of the root directory that is no file.
    Root(u64),
    /// Bytes from the beginning of a cluster.
    Cluster(u32, u64),
}

/// A file system with changed files.
#[derive(Debug)]
pub struct Rebuilt {
    /// What it is made of, when it has become larger; nothing when it stays where it is.
    pub pieces: Vec<(u64, What)>,
    /// The bytes that differ, from its beginning.
    pub patches: Vec<(u64, Bytes)>,
    /// The files that differ.
    pub changed_files: Vec<String>,
    /// Where these are, from its beginning.
    pub configuration: Vec<Range<u64>>,
}

impl Fat {
    /// Reads one; nothing when there is none at this place.
    ///
    /// # Errors
    /// It can't be read, or is damaged.
    pub async fn read(reader: &mut Reader<'_>, start: u64) -> Result<Option<Self>, OverlayError> {
        let Some(geometry) = Geometry::read(reader, start).await? else { return Ok(None) };
        let table = Table::read(reader, start, &geometry).await?;
        let free = geometry.read_free(reader, start).await?;
        let Walked { files, directories, unified, started_by_firmware } =
            walk::walk(reader, start, &geometry, &table).await?;
        let fat = Self { start, geometry, table, free, files, directories, unified, started_by_firmware };
        Ok(Some(fat))
    }

    /// Where it begins in the image.
    pub fn start(&self) -> u64 {
        self.start
    }

    /// How many bytes it has.
    pub fn length(&self) -> u64 {
        self.geometry.length()
    }

    /// The unified kernel image that firmware starts, where it does.
    pub fn started_by_firmware(&self) -> Option<&str> {
        self.started_by_firmware.as_deref()
    }

    /// Whether a kernel line of it can be changed.
    pub fn has_kernel(&self) -> bool {
        self.unified.is_some() || self.files.iter().any(|file| kernel_lines(file.kind, &file.text) > 0)
    }

    /// How many kernel lines its configuration has.
    pub fn kernel_lines(&self) -> usize {
        self.files.iter().map(|file| kernel_lines(file.kind, &file.text)).sum()
    }

    /// How long its configuration is.
    pub fn text_length(&self) -> usize {
        self.files.iter().map(|file| file.text.len()).sum()
    }

    /// The file system with these parameters; nothing when no kernel line is in it. A GRUB that only hands over to the
    /// configuration in the image's own tree has none.
    ///
    /// # Errors
    /// A boot loader can't hand one of them over, or there is no room.
    pub fn rebuild(&self, arguments: &Arguments) -> Result<Option<Rebuilt>, OverlayError> {
        if !self.has_kernel() {
            return Ok(None);
        }
        let mut change = Change::new(self);
        let with_entry = self.unified.as_ref().filter(|_| !self.has_entries());
        for file in &self.files {
            let is_loader = file.kind == Kind::SystemdBoot;
            let text = match with_entry {
                Some(_) if is_loader => loader_with_default(&file.text, ENTRY),
                Some(_) | None => file.kind.edit(&file.text, arguments)?.text,
            };
            if text != file.text {
                change.replace(file, &text)?;
            }
        }
        if let Some(unified) = with_entry {
            let entry = entry_for(&unified.path, "beskar7", &unified.command_line, arguments);
            let mut creator = create::Creator::new(&mut change, &self.directories);
            creator.create("loader/entries", ENTRY, &entry)?;
            if !self.files.iter().any(|file| file.kind == Kind::SystemdBoot) {
                creator.create("loader", "loader.conf", &loader_with_default(b"", ENTRY))?;
            }
        }
        change.finish().map(Some)
    }

    /// Whether systemd-boot has entries with kernels: then one of them is what it starts.
    fn has_entries(&self) -> bool {
        let entries = self.files.iter().filter(|file| file.kind == Kind::SystemdBootEntry);
        entries.into_iter().any(|file| kernel_lines(file.kind, &file.text) > 0)
    }
}

#[cfg(test)]
#[path = "fat_tests.rs"]
mod tests;

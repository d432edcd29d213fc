//! New files and directories in a FAT file system.

use beskar7_volume::fat::slot::{long_name, numbered_name, slot};
use bytes::Bytes;

use super::{
    change::Change,
    directory::{DELETED, Directory, SLOT},
};
use crate::overlay::{
    error::OverlayError,
    fields::{put, u8_at},
};

/// Makes files and the directories on the way to them.
pub struct Creator<'a, 'b> {
    change: &'a mut Change<'b>,
    directories: Vec<Directory>,
}

impl<'a, 'b> Creator<'a, 'b> {
    /// These directories are there.
    pub fn new(change: &'a mut Change<'b>, directories: &[Directory]) -> Self {
        Self { change, directories: directories.to_vec() }
    }

    /// Makes a file.
    ///
    /// # Errors
    /// There is no room.
    pub fn create(&mut self, directory: &str, name: &str, text: &[u8]) -> Result<(), OverlayError> {
        let index = self.directory(directory)?;
        let cluster = self.change.create(format!("{directory}/{name}"), text)?;
        let length = u32::try_from(text.len()).map_err(|_| OverlayError::TooLarge)?;
        self.add(index, name, 0x20, cluster, length)
    }

    /// The index of a directory; it and those on the way are made.
    fn directory(&mut self, path: &str) -> Result<usize, OverlayError> {
        if let Some(index) =
            self.directories.iter().position(|directory| directory.path.to_lowercase() == path)
        {
            return Ok(index);
        }
        let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
        let parent = if path.is_empty() { return Err(no_root()) } else { self.directory(above)? };
        let cluster = self.change.empty_cluster(None)?;
        // The root is number 0 to those in it, wherever it is.
        let first = self.directories.get(parent).and_then(|directory| directory.chain.first().copied());
        let up = first.filter(|first| *first != self.change.root_cluster()).unwrap_or(0);
        for (offset, short, target) in [(0, b".          ", cluster), (SLOT as u64, b"..         ", up)] {
            let slot = slot(short, 0x10, target, 0);
            self.change.write(super::Place::Cluster(cluster, offset), &slot);
        }
        self.add(parent, name, 0x10, cluster, 0)?;
        let mut bytes = vec![0; usize::try_from(self.change.cluster_length()).unwrap_or_default()];
        put(&mut bytes, 0, b".");
        put(&mut bytes, SLOT, b".");
        self.directories.push(Directory { path: path.to_owned(), chain: vec![cluster], bytes: bytes.into() });
        Ok(self.directories.len() - 1)
    }

    /// Adds an entry with a long name.
    fn add(
        &mut self,
        index: usize,
        name: &str,
        attributes: u8,
        cluster: u32,
        length: u32,
    ) -> Result<(), OverlayError> {
        let directory = self.directories.get(index).cloned().ok_or_else(no_root)?;
        if directory.entries().iter().any(|entry| entry.name.eq_ignore_ascii_case(name)) {
            return Err(OverlayError::Full(format!(
                "/{}/{name} is there already, and can't be used",
                directory.path
            )));
        }
        let short = short_name(name, &directory).ok_or_else(|| full(&directory))?;
        let mut slots = long_name(name, &short);
        slots.push(slot(&short, attributes, cluster, length));
        let (directory, first) = self.room(directory, slots.len())?;
        let mut bytes = directory.bytes.to_vec();
        // What follows the first free entry of a directory need not be empty: it ends behind ours.
        let was_end = u8_at(&bytes, first * SLOT) == Some(0);
        let end = (first + slots.len()) * SLOT;
        let mut writes: Vec<(usize, Vec<u8>)> =
            slots.into_iter().enumerate().map(|(number, slot)| ((first + number) * SLOT, slot)).collect();
        if was_end && end < bytes.len() {
            writes.push((end, vec![0; SLOT]));
        }
        for (offset, slot) in writes {
            put(&mut bytes, offset, &slot);
            if let Some(place) = directory.place(offset as u64, self.change.cluster_length()) {
                self.change.write(place, &slot);
            }
        }
        if let Some(kept) = self.directories.get_mut(index) {
            *kept = Directory { bytes: bytes.into(), ..directory };
        }
        Ok(())
    }

    /// A directory with room for so many entries side by side, and where that is.
    fn room(&mut self, mut directory: Directory, count: usize) -> Result<(Directory, usize), OverlayError> {
        loop {
            if let Some(first) = free_slots(&directory.bytes, count) {
                return Ok((directory, first));
            }
            let Some(last) = directory.chain.last().copied() else { return Err(full(&directory)) };
            let cluster = self.change.empty_cluster(Some(last))?;
            directory.chain.push(cluster);
            let mut bytes = directory.bytes.to_vec();
            bytes.resize(bytes.len() + usize::try_from(self.change.cluster_length()).unwrap_or_default(), 0);
            directory.bytes = Bytes::from(bytes);
        }
    }
}

fn no_root() -> OverlayError {
    OverlayError::Full("it has no root directory".to_owned())
}

fn full(directory: &Directory) -> OverlayError {
    OverlayError::Full(format!("its directory /{} is full", directory.path))
}

/// The first of `count` entries side by side that nobody uses.
fn free_slots(bytes: &[u8], count: usize) -> Option<usize> {
    let mut run = 0;
    let mut ended = false;
    for (index, slot) in bytes.chunks_exact(SLOT).enumerate() {
        ended |= u8_at(slot, 0) == Some(0);
        let is_free = ended || u8_at(slot, 0) == Some(DELETED);
        run = if is_free { run + 1 } else { 0 };
        if run == count {
            return Some(index + 1 - count);
        }
    }
    None
}

/// `BESKAR~1CON` for `beskar7.conf`: one that is not there yet.
fn short_name(name: &str, directory: &Directory) -> Option<[u8; 11]> {
    let taken = |short: &[u8; 11]| directory.bytes.chunks_exact(SLOT).any(|slot| slot.starts_with(short));
    (1..=9_u8).map(|number| numbered_name(name, number)).find(|short| !taken(short))
}

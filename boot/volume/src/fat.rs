//! FAT16 file systems from files that are known beforehand: what UEFI firmware and boot loaders read.
//!
//! Every file lies in one piece. Some clusters stay free, so that a configuration file in it can become longer.

mod geometry;
pub mod slot;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use self::geometry::{Geometry, ROOT_SLOTS};
use self::slot::{DIRECTORY, FILE, SLOT};
use crate::error::VolumeError;
use crate::plan::{Entry, Plan};
use crate::tree::{Node, Tree};

/// What an entry leads to: a directory or a file by its number.
#[derive(Debug, Clone, Copy)]
enum Target {
    Directory(usize),
    File(usize),
}

/// A directory whose entries are named.
#[derive(Debug)]
struct Directory {
    above: usize,
    entries: Vec<Named>,
}

#[derive(Debug)]
struct Named {
    long: Vec<Vec<u8>>,
    short: [u8; 11],
    target: Target,
}

/// Plans a file system with these files.
///
/// # Errors
/// A path or the sizes don't fit into it.
pub fn plan(files: &[Entry<'_>]) -> Result<Plan, VolumeError> {
    let tree = Tree::new(files)?;
    let directories = directories(&tree.root)?;
    let lengths = |cluster: u64| -> Vec<u64> {
        // The root is no chain of clusters.
        let below = directories.iter().skip(1).map(Directory::length);
        below.chain(tree.files.iter().map(|file| file.length)).map(|bytes| bytes.div_ceil(cluster)).collect()
    };
    let geometry = Geometry::new(|cluster| lengths(cluster).iter().sum())?;
    let chains = lengths(geometry.cluster());
    let mut next = 2;
    let mut firsts = Vec::new();
    for chain in &chains {
        // An empty file begins nowhere.
        firsts.push(if *chain == 0 { 0 } else { next });
        next += u32::try_from(*chain).unwrap_or_default();
    }
    let (of_directories, of_files) = firsts.split_at(directories.len().saturating_sub(1));
    let place = |target: Target| match target {
        Target::Directory(0) => 0,
        Target::Directory(number) => of_directories.get(number - 1).copied().unwrap_or_default(),
        Target::File(number) => of_files.get(number).copied().unwrap_or_default(),
    };
    let length = |number: usize| tree.files.get(number).map_or(0, |file| file.length);

    let mut head = geometry.boot();
    let table = geometry.table(&chains);
    head.extend_from_slice(&table);
    head.extend(table);
    for (number, directory) in directories.iter().enumerate() {
        let room = match number {
            0 => (ROOT_SLOTS * SLOT) as u64,
            _ => directory.length().next_multiple_of(geometry.cluster()),
        };
        let end = head.len() + usize::try_from(room).unwrap_or_default();
        head.extend(directory.bytes(number, place, length)?);
        head.resize(end, 0);
    }
    let mut plan = Plan::new(files);
    plan.bytes(head);
    for file in &tree.files {
        plan.file(file.given, geometry.cluster());
    }
    plan.zeros((geometry.clusters - chains.iter().sum::<u64>()) * geometry.cluster());
    Ok(plan)
}

/// All directories, level by level; the root is the first.
fn directories(root: &BTreeMap<String, Node>) -> Result<Vec<Directory>, VolumeError> {
    let mut directories = Vec::new();
    let mut waiting = VecDeque::from([(0, root)]);
    while let Some((above, children)) = waiting.pop_front() {
        let this = directories.len();
        let mut names = Names::default();
        let mut entries = Vec::new();
        for (name, node) in children {
            let target = match node {
                Node::File(number) => Target::File(*number),
                Node::Directory(below) => {
                    waiting.push_back((this, below));
                    Target::Directory(this + waiting.len())
                }
            };
            let (short, long) = names.give(name)?;
            entries.push(Named { long, short, target });
        }
        directories.push(Directory { above, entries });
    }
    match directories.first() {
        Some(root) if root.slots() > ROOT_SLOTS => Err(VolumeError::TooMany),
        Some(_) | None => Ok(directories),
    }
}

/// The names of one directory, which differ in more than upper and lower case.
#[derive(Debug, Default)]
struct Names {
    long: BTreeSet<String>,
    short: BTreeSet<[u8; 11]>,
}

impl Names {
    fn give(&mut self, name: &str) -> Result<([u8; 11], Vec<Vec<u8>>), VolumeError> {
        if !self.long.insert(name.to_lowercase()) {
            return Err(VolumeError::Twice { path: name.to_owned() });
        }
        if let Some(short) = slot::exact_name(name).filter(|short| self.short.insert(*short)) {
            return Ok((short, Vec::new()));
        }
        let mut numbered = (1..=u8::MAX).map(|number| slot::numbered_name(name, number));
        let short = numbered.find(|short| self.short.insert(*short)).ok_or(VolumeError::TooMany)?;
        Ok((short, slot::long_name(name, &short)))
    }
}

impl Directory {
    /// How many entries it has, without the two of every directory but the root.
    fn slots(&self) -> usize {
        self.entries.iter().map(|entry| entry.long.len() + 1).sum()
    }

    fn length(&self) -> u64 {
        ((self.slots() + 2) * SLOT) as u64
    }

    fn bytes(
        &self,
        number: usize,
        place: impl Fn(Target) -> u32,
        length: impl Fn(usize) -> u64,
    ) -> Result<Vec<u8>, VolumeError> {
        let mut bytes = Vec::new();
        if number > 0 {
            for (name, directory) in [(b".          ", number), (b"..         ", self.above)] {
                bytes.extend(slot::slot(name, DIRECTORY, place(Target::Directory(directory)), 0));
            }
        }
        for entry in &self.entries {
            let (attributes, length) = match entry.target {
                Target::Directory(_) => (DIRECTORY, 0),
                Target::File(number) => (FILE, length(number)),
            };
            let length = u32::try_from(length)
                .map_err(|_| VolumeError::LargerThanAny { bytes: length, most: u32::MAX.into() })?;
            bytes.extend(entry.long.concat());
            bytes.extend(slot::slot(&entry.short, attributes, place(entry.target), length));
        }
        Ok(bytes)
    }
}

#[cfg(test)]
#[path = "fat_tests.rs"]
mod tests;

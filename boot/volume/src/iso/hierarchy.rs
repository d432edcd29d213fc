//! One of the two trees of a volume: its directories in the order of its path table, and their bytes.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::field::Extent;
use super::name::{Plain, ucs2};
use super::record::{self, ABOVE, ITSELF};
use crate::tree::Node;

/// Which of the two trees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Plain ISO 9660 with Rock Ridge.
    Primary,
    /// Joliet.
    Joliet,
}

/// What an entry leads to, by its place in the list of all.
#[derive(Debug, Clone, Copy)]
enum Target {
    Directory(usize),
    File(usize),
}

#[derive(Debug)]
struct Entry {
    identifier: Vec<u8>,
    name: String,
    target: Target,
}

#[derive(Debug)]
struct Directory {
    identifier: Vec<u8>,
    above: usize,
    entries: Vec<Entry>,
}

/// Where everything is. All zero while sizes are taken, which do not depend on it.
#[derive(Debug, Default)]
pub(super) struct Places {
    pub(super) directories: Vec<Extent>,
    pub(super) files: Vec<Extent>,
}

impl Places {
    fn directory(&self, number: usize) -> Extent {
        self.directories.get(number).copied().unwrap_or_default()
    }

    fn file(&self, number: usize) -> Extent {
        self.files.get(number).copied().unwrap_or_default()
    }
}

/// One tree. The root is the first directory.
#[derive(Debug)]
pub(super) struct Hierarchy {
    kind: Kind,
    directories: Vec<Directory>,
}

impl Hierarchy {
    /// Level by level and sorted within each directory: this is the order of path tables (ECMA-119 6.9.1).
    pub(super) fn new(root: &BTreeMap<String, Node>, kind: Kind) -> Self {
        let mut directories = Vec::new();
        let mut waiting = VecDeque::from([(ITSELF.to_vec(), 0, root)]);
        while let Some((identifier, above, children)) = waiting.pop_front() {
            let this = directories.len();
            let mut entries = Vec::new();
            for (identifier, name, node) in sorted(children, kind) {
                let target = match node {
                    Node::File(number) => Target::File(*number),
                    Node::Directory(below) => {
                        waiting.push_back((identifier.clone(), this, below));
                        Target::Directory(this + waiting.len())
                    }
                };
                entries.push(Entry { identifier, name: name.to_owned(), target });
            }
            directories.push(Directory { identifier, above, entries });
        }
        Self { kind, directories }
    }

    /// The bytes of each directory, in order.
    pub(super) fn directories(&self, places: &Places) -> impl Iterator<Item = Vec<u8>> {
        self.directories.iter().enumerate().map(|(number, directory)| {
            let head = [(ITSELF, number), (ABOVE, directory.above)].map(|(identifier, which)| {
                let system_use = self.system_use_of_head(identifier, number, which);
                record::record(identifier, places.directory(which), true, &system_use)
            });
            let entries = directory.entries.iter().map(|entry| self.entry(entry, places));
            record::pack(head.into_iter().chain(entries))
        })
    }

    fn entry(&self, entry: &Entry, places: &Places) -> Vec<u8> {
        let (at, is_directory, links) = match entry.target {
            Target::Directory(number) => (places.directory(number), true, self.links(number)),
            Target::File(number) => (places.file(number), false, 1),
        };
        let system_use = match self.kind {
            Kind::Primary => [record::posix(is_directory, links), record::posix_name(&entry.name)].concat(),
            Kind::Joliet => Vec::new(),
        };
        record::record(&entry.identifier, at, is_directory, &system_use)
    }

    fn system_use_of_head(&self, identifier: &[u8], number: usize, which: usize) -> Vec<u8> {
        match self.kind {
            Kind::Joliet => Vec::new(),
            Kind::Primary if number == 0 && identifier == ITSELF => {
                // SP comes first of all.
                [record::rock_ridge_begins(), record::posix(true, self.links(which))].concat()
            }
            Kind::Primary => record::posix(true, self.links(which)),
        }
    }

    /// A directory is linked from above, from itself and from each directory in it.
    fn links(&self, number: usize) -> u32 {
        let entries = self.directories.get(number).map(|directory| directory.entries.iter());
        let below = entries.into_iter().flatten().filter(|e| matches!(e.target, Target::Directory(_)));
        below.fold(2, |links, _| links + 1)
    }

    /// The record of the root in the volume descriptor.
    pub(super) fn root_record(&self, places: &Places) -> Vec<u8> {
        record::record(ITSELF, places.directory(0), true, &[])
    }

    /// The path table, with its numbers in one byte order or the other.
    pub(super) fn path_table(&self, places: &Places, order: ByteOrder) -> Vec<u8> {
        let mut table = Vec::new();
        for (number, directory) in self.directories.iter().enumerate() {
            let length = u8::try_from(directory.identifier.len()).unwrap_or(u8::MAX);
            let above = u16::try_from(directory.above + 1).unwrap_or(u16::MAX);
            let sector = places.directory(number).sector;
            table.extend([length, 0]);
            match order {
                ByteOrder::Little => {
                    table.extend(sector.to_le_bytes());
                    table.extend(above.to_le_bytes());
                }
                ByteOrder::Big => {
                    table.extend(sector.to_be_bytes());
                    table.extend(above.to_be_bytes());
                }
            }
            table.extend(&directory.identifier);
            if !directory.identifier.len().is_multiple_of(2) {
                table.push(0);
            }
        }
        table
    }
}

/// Which byte of a number comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ByteOrder {
    /// The least.
    Little,
    /// The greatest.
    Big,
}

/// The children of a directory with their identifiers, in the order of their records.
fn sorted(children: &BTreeMap<String, Node>, kind: Kind) -> Vec<(Vec<u8>, &str, &Node)> {
    let is_file = |node: &Node| matches!(node, Node::File(_));
    match kind {
        // Names are ASCII, and sorted already.
        Kind::Joliet => children.iter().map(|(name, node)| (ucs2(name), name.as_str(), node)).collect(),
        Kind::Primary => {
            let mut taken = BTreeSet::new();
            let named = children
                .iter()
                .map(|(name, node)| (Plain::new(name, is_file(node), &mut taken), (name.as_str(), node)));
            let sorted: BTreeMap<Plain, (&str, &Node)> = named.collect();
            sorted.into_iter().map(|(plain, (name, node))| (plain.identifier(), name, node)).collect()
        }
    }
}

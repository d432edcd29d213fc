//! The files of a volume as a tree of directories, checked.

use std::collections::BTreeMap;

use crate::error::{MOST_FILES, VolumeError};
use crate::plan::Entry;

/// ISO 9660 has eight levels, of which the root is one.
const MOST_DIRECTORIES: usize = 7;
/// What a Joliet name has room for.
const LONGEST_NAME: usize = 64;

/// A directory or a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Node {
    /// By name.
    Directory(BTreeMap<String, Node>),
    /// Its place in [`Tree::files`].
    File(usize),
}

/// All of a volume.
#[derive(Debug)]
pub(crate) struct Tree<'a> {
    pub(crate) root: BTreeMap<String, Node>,
    /// Sorted by their paths.
    pub(crate) files: Vec<SizedFile>,
    /// All files, as they were given.
    pub(crate) given: Vec<Entry<'a>>,
}

/// A file of a tree.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SizedFile {
    /// Its place among the files as they were given.
    pub(crate) given: usize,
    pub(crate) length: u64,
}

impl<'a> Tree<'a> {
    pub(crate) fn new(given: &[Entry<'a>]) -> Result<Self, VolumeError> {
        let mut tree = Self { root: BTreeMap::new(), files: Vec::new(), given: given.to_vec() };
        let mut nodes = 0;
        // In whatever order they are given, the volume is the same.
        let mut files: Vec<(usize, &Entry<'_>)> = given.iter().enumerate().collect();
        files.sort_by_key(|(_, file)| from_root(file.path));
        for (given, file) in files {
            let (directories, name) = parts(file.path)?;
            let number = tree.files.len();
            tree.files.push(SizedFile { given, length: file.length });
            nodes += put(&mut tree.root, &directories, name, number)
                .ok_or_else(|| VolumeError::Twice { path: file.path.to_owned() })?;
            if nodes > MOST_FILES {
                return Err(VolumeError::TooMany);
            }
        }
        Ok(tree)
    }

    /// The place of a file.
    pub(crate) fn file(&self, path: &str) -> Option<usize> {
        let (directories, name) = parts(path).ok()?;
        let mut here = &self.root;
        for directory in directories {
            match here.get(directory)? {
                Node::Directory(below) => here = below,
                Node::File(_) => return None,
            }
        }
        match here.get(name)? {
            Node::File(number) => Some(*number),
            Node::Directory(_) => None,
        }
    }
}

/// Puts a file where it belongs, and says how many nodes are new; nothing if its place is taken.
fn put(here: &mut BTreeMap<String, Node>, directories: &[&str], name: &str, number: usize) -> Option<usize> {
    let Some((first, rest)) = directories.split_first() else {
        if here.contains_key(name) {
            return None;
        }
        here.insert(name.to_owned(), Node::File(number));
        return Some(1);
    };
    let new = usize::from(!here.contains_key(*first));
    match here.entry((*first).to_owned()).or_insert_with(|| Node::Directory(BTreeMap::new())) {
        Node::Directory(below) => put(below, rest, name, number).map(|below| below + new),
        Node::File(_) => None,
    }
}

fn from_root(path: &str) -> &str {
    path.strip_prefix('/').unwrap_or(path)
}

/// The directories of a path, and the file's name.
fn parts(path: &str) -> Result<(Vec<&str>, &str), VolumeError> {
    let mut parts: Vec<&str> = from_root(path).split('/').collect();
    if !parts.iter().all(|part| is_name(part)) {
        return Err(VolumeError::Name { path: path.to_owned() });
    }
    let name = parts.pop().unwrap_or_default();
    if parts.len() > MOST_DIRECTORIES {
        return Err(VolumeError::TooDeep { path: path.to_owned() });
    }
    Ok((parts, name))
}

/// Whether every system can show it: what Joliet and Windows forbid is forbidden.
fn is_name(part: &str) -> bool {
    let fits = |c: char| (c.is_ascii_graphic() || c == ' ') && !"*/:;?\\\"<>|".contains(c);
    (1..=LONGEST_NAME).contains(&part.len()) && part.chars().all(fits) && part != "." && part != ".."
}

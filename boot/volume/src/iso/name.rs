//! What a file is called in the two trees, as the bytes of its directory record.

use std::collections::BTreeSet;

/// Name and extension together in the plain tree, without the dot and the version (interchange level 2).
const LONGEST: usize = 30;
const LONGEST_EXTENSION: usize = 8;

/// A name of the plain tree: capitals, digits and underscores. It sorts as the standard wants: by the name, then by the
/// extension.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Plain {
    stem: String,
    extension: String,
    is_file: bool,
}

impl Plain {
    /// The nearest name that no other of the directory has.
    pub(super) fn new(name: &str, is_file: bool, taken: &mut BTreeSet<Self>) -> Self {
        let (stem, extension) = match name.rsplit_once('.') {
            Some((stem, extension)) if is_file && !stem.is_empty() => (stem, extension),
            Some(_) | None => (name, ""),
        };
        let extension = allowed(extension, LONGEST_EXTENSION);
        let room = LONGEST - extension.len();
        let mut plain = Self { stem: allowed(stem, room), extension, is_file };
        let mut number = 0;
        while plain.clashes(taken) {
            number += 1;
            let number = number.to_string();
            plain.stem = format!("{}{number}", allowed(stem, room - number.len()));
        }
        taken.insert(plain.clone());
        plain
    }

    /// A file and a directory must differ in more than that.
    fn clashes(&self, taken: &BTreeSet<Self>) -> bool {
        [true, false].into_iter().any(|is_file| taken.contains(&Self { is_file, ..self.clone() }))
    }

    pub(super) fn identifier(&self) -> Vec<u8> {
        if self.is_file {
            format!("{}.{};1", self.stem, self.extension).into_bytes()
        } else {
            self.stem.clone().into_bytes()
        }
    }
}

fn allowed(text: &str, longest: usize) -> String {
    let allowed = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    text.chars().take(longest).map(allowed).collect()
}

/// A text as Joliet writes it. Names have no version there: other tools write none, and every reader is used to that.
pub(super) fn ucs2(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_be_bytes).collect()
}

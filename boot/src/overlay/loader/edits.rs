//! Places of a text that are replaced.

use std::ops::Range;

/// Replacements, in the order of their places.
#[derive(Debug, Default)]
pub struct Edits {
    all: Vec<(Range<usize>, Vec<u8>)>,
}

impl Edits {
    /// Replaces a part of the text.
    pub fn replace(&mut self, range: Range<usize>, with: impl Into<Vec<u8>>) {
        self.all.push((range, with.into()));
    }

    /// Adds something before a place.
    pub fn insert(&mut self, place: usize, what: impl Into<Vec<u8>>) {
        self.replace(place..place, what);
    }

    /// The text with all of them.
    pub fn apply(mut self, text: &[u8]) -> Vec<u8> {
        self.all.sort_by_key(|(range, _)| (range.start, range.end));
        let mut done = Vec::with_capacity(text.len());
        let mut at = 0;
        for (range, with) in self.all {
            done.extend_from_slice(text.get(at..range.start).unwrap_or_default());
            done.extend_from_slice(&with);
            at = range.end.max(at);
        }
        done.extend_from_slice(text.get(at..).unwrap_or_default());
        done
    }
}

//! Puts a presented image together: the original, what is appended to it, and the places that differ.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::error::{OverlayError, damaged};

/// Where bytes come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// From the original, from this offset on.
    Original(u64),
    /// From memory.
    Memory(Bytes),
    /// They are zero.
    Zeros,
}

/// Bytes of the presented image that come from one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// Where it begins in the presented image.
    pub start: u64,
    /// How long it is.
    pub length: u64,
    /// Where its bytes come from.
    pub what: What,
}

impl Piece {
    /// Behind its last byte.
    pub fn end(&self) -> u64 {
        self.start.saturating_add(self.length)
    }

    /// A part of it. The borders are within it.
    fn part(&self, start: u64, end: u64) -> Self {
        let skipped = start.saturating_sub(self.start);
        let length = end.saturating_sub(start);
        let what = match &self.what {
            What::Original(offset) => What::Original(offset.saturating_add(skipped)),
            What::Memory(bytes) => What::Memory(slice(bytes, skipped, length)),
            What::Zeros => What::Zeros,
        };
        Self { start, length, what }
    }
}

/// A part of some bytes; less where they end.
pub fn slice(bytes: &Bytes, start: u64, length: u64) -> Bytes {
    let place = |number: u64| usize::try_from(number).map_or(bytes.len(), |number| number.min(bytes.len()));
    bytes.slice(place(start)..place(start.saturating_add(length)).max(place(start)))
}

/// A presented image in the making.
pub struct Assembly {
    pieces: Vec<Piece>,
    patches: BTreeMap<u64, Bytes>,
    end: u64,
    /// Somebody wanted other bytes in the same place.
    contradiction: bool,
}

impl Assembly {
    /// An original of this length, as it is.
    pub fn new(length: u64) -> Self {
        let original = Piece { start: 0, length, what: What::Original(0) };
        Self { pieces: vec![original], patches: BTreeMap::new(), end: length, contradiction: false }
    }

    /// Behind the last byte.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Adds bytes at the end and says where they begin.
    pub fn append(&mut self, length: u64, what: What) -> u64 {
        let start = self.end;
        if length > 0 {
            self.pieces.push(Piece { start, length, what });
            self.end = start.saturating_add(length);
        }
        start
    }

    /// Adds zeros until the end is a multiple of `unit`.
    pub fn align(&mut self, unit: u64) {
        let missing = self.end.next_multiple_of(unit.max(1)) - self.end;
        self.append(missing, What::Zeros);
    }

    /// Bytes that differ, wherever they are.
    pub fn patch(&mut self, start: u64, bytes: impl Into<Bytes>) {
        let bytes = bytes.into();
        if bytes.is_empty() {
            return;
        }
        let other = self.patches.insert(start, bytes.clone());
        self.contradiction |= other.is_some_and(|other| other != bytes);
    }

    /// All of it, in order and without gaps.
    ///
    /// # Errors
    /// Two changes are of the same bytes, or one is outside: the image names a place twice.
    pub fn finish(self) -> Result<Vec<Piece>, OverlayError> {
        if self.contradiction {
            return Err(damaged("two of its structures lie in the same place"));
        }
        let mut patches = self.patches.into_iter().map(|(start, bytes)| Piece {
            start,
            length: bytes.len() as u64,
            what: What::Memory(bytes),
        });
        let mut next = patches.next();
        let mut done: Vec<Piece> = Vec::new();
        let mut at = 0_u64;
        for piece in self.pieces {
            // A change that began in the piece before may reach into this one, or over it.
            while at < piece.end() {
                match next.take() {
                    Some(patch) if patch.start < at => {
                        return Err(damaged("two of its structures lie in the same place"));
                    }
                    Some(patch) if patch.start < piece.end() => {
                        if at < patch.start {
                            done.push(piece.part(at, patch.start));
                        }
                        at = patch.end();
                        done.push(patch);
                        next = patches.next();
                    }
                    other => {
                        next = other;
                        done.push(piece.part(at, piece.end()));
                        at = piece.end();
                    }
                }
            }
        }
        if next.is_some() || at > self.end {
            return Err(damaged("one of its structures lies behind its end"));
        }
        Ok(done)
    }
}

#[cfg(test)]
#[path = "assembly_tests.rs"]
mod tests;

//! An image's file, read at any place, through something that is made for reading on.

use std::{
    collections::VecDeque,
    io::{self, Read},
};

use ring::digest::{Context, SHA256, digest};

use super::damaged;
use crate::{
    fetching::{Fetch, passes},
    telling::Problem,
};

/// Bytes that are read and verified together, at least.
const PIECE: usize = 256 << 10;
/// Bytes of pieces that are kept: tables are never far from what they point to.
const KEPT: usize = 4 << 20;
/// Pieces that are kept however large they are: one of a table, and two for what lies across their border.
const LEAST_KEPT: usize = 3;
/// Bytes that are read over rather than asking for what is behind them.
const SKIPPED: usize = 4 << 20;
/// Digests of one file: 4 MiB of memory.
const MOST_DIGESTS: u64 = 1 << 18;

type ShortDigest = [u8; 16];

/// What each piece of a file was when its checksum was verified. What is read again later has to be the same, or another
/// image could be given than the one that was checked.
#[derive(Debug)]
pub struct Digests {
    /// Bytes of a piece: more of a larger file, so that its digests find room in the memory of a machine.
    piece: usize,
    done: Vec<ShortDigest>,
}

/// The same in the making.
pub struct Digesting {
    digests: Digests,
    /// Of the piece that is not complete, and how many bytes of it there were.
    begun: (Context, usize),
}

impl Digesting {
    /// Of a file of so many bytes, as far as that is known.
    #[must_use]
    pub fn new(total: Option<u64>) -> Self {
        let mut piece = PIECE;
        while total.is_some_and(|total| total.div_ceil(piece as u64) > MOST_DIGESTS) {
            piece = piece.saturating_mul(2);
        }
        Self { digests: Digests { piece, done: Vec::new() }, begun: (Context::new(&SHA256), 0) }
    }

    /// Goes on with the next bytes of the file.
    pub fn update(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let (digest, length) = &mut self.begun;
            let (now, later) = bytes.split_at(bytes.len().min(self.digests.piece - *length));
            digest.update(now);
            *length += now.len();
            if *length == self.digests.piece {
                self.end_piece();
            }
            bytes = later;
        }
    }

    /// The file has ended.
    #[must_use]
    pub fn complete(mut self) -> Digests {
        if self.begun.1 > 0 {
            self.end_piece();
        }
        self.digests
    }

    fn end_piece(&mut self) {
        let (digest, _) = std::mem::replace(&mut self.begun, (Context::new(&SHA256), 0));
        self.digests.done.push(short(digest.finish().as_ref()));
    }
}

impl Digests {
    fn check(&self, index: u64, bytes: &[u8]) -> Result<(), Problem> {
        let expected = usize::try_from(index).ok().and_then(|index| self.done.get(index));
        if bytes.is_empty() || expected == Some(&short(digest(&SHA256, bytes).as_ref())) {
            return Ok(());
        }
        let why =
            "the image is not the one any more that was verified before: it was changed where it is served";
        Err(Problem::new("fetching", why))
    }
}

fn short(digest: &[u8]) -> ShortDigest {
    crate::fields::array(digest, 0).unwrap_or_default()
}

/// A file that is fetched piece by piece.
pub struct ImageFile<'a> {
    fetch: &'a dyn Fetch,
    path: &'a str,
    digests: Option<Digests>,
    /// Bytes of a piece.
    size: usize,
    /// Something that is being read, and the piece that it is at.
    body: Option<(Box<dyn Read + Send>, u64)>,
    kept: VecDeque<(u64, Vec<u8>)>,
    total: Option<u64>,
}

impl<'a> ImageFile<'a> {
    /// A file, and what is known of it.
    #[must_use]
    pub fn new(fetch: &'a dyn Fetch, path: &'a str, digests: Option<Digests>) -> Self {
        let size = digests.as_ref().map_or(PIECE, |digests| digests.piece);
        Self { fetch, path, digests, size, body: None, kept: VecDeque::new(), total: None }
    }

    /// Reads all of these bytes.
    ///
    /// # Errors
    /// They can't be fetched, or the file ends before.
    pub fn read(&mut self, at: u64, bytes: &mut [u8]) -> Result<(), Problem> {
        let count = self.read_some(at, bytes)?;
        if count < bytes.len() {
            return Err(damaged(&format!("its file ends at byte {}, and more is needed", at + count as u64)));
        }
        Ok(())
    }

    /// Reads these bytes as far as the file has them.
    ///
    /// # Errors
    /// They can't be fetched.
    pub fn read_some(&mut self, at: u64, bytes: &mut [u8]) -> Result<usize, Problem> {
        let mut done = 0;
        while let Some(left) = bytes.get_mut(done..).filter(|left| !left.is_empty()) {
            let from = at + done as u64;
            let offset = usize::try_from(from % self.size as u64).unwrap_or(0);
            let piece = self.piece(from / self.size as u64)?;
            let Some(there) = piece.get(offset..).filter(|there| !there.is_empty()) else { break };
            let count = there.len().min(left.len());
            crate::fields::put(left, 0, there.get(..count).unwrap_or_default());
            done += count;
        }
        Ok(done)
    }

    fn piece(&mut self, index: u64) -> Result<&[u8], Problem> {
        let found = match self.kept.iter().position(|(kept, _)| *kept == index) {
            Some(found) => found,
            None => {
                self.fetch_up_to(index)?;
                self.kept.len() - 1
            }
        };
        Ok(self.kept.get(found).map(|(_, bytes)| bytes.as_slice()).unwrap_or_default())
    }

    /// Reads on to a piece, or begins anew there. It is the last of what is kept then.
    fn fetch_up_to(&mut self, index: u64) -> Result<(), Problem> {
        let most_kept = (KEPT / self.size).max(LEAST_KEPT);
        let skipped = (SKIPPED / self.size).max(1) as u64;
        let near = self.body.take().filter(|(_, next)| (*next..=*next + skipped).contains(&index));
        let (mut body, mut next) = match near {
            Some(near) => near,
            None => (self.open(index * self.size as u64)?, index),
        };
        while next <= index {
            let mut bytes = if self.kept.len() < most_kept { None } else { self.kept.pop_front() }
                .map_or_else(|| Vec::with_capacity(self.size), |(_, bytes)| bytes);
            bytes.clear();
            let read = body.by_ref().take(self.size as u64).read_to_end(&mut bytes);
            read.map_err(|error| damaged(&error.to_string()).that_passes(passes(&error)))?;
            if let Some(digests) = &self.digests {
                digests.check(next, &bytes)?;
            }
            self.kept.push_back((next, bytes));
            next += 1;
        }
        self.body = Some((body, next));
        Ok(())
    }

    /// Servers refuse to begin behind the end.
    fn open(&mut self, from: u64) -> Result<Box<dyn Read + Send>, Problem> {
        if self.total.is_some_and(|total| from >= total) {
            return Ok(Box::new(io::empty()));
        }
        let opened = self.fetch.open(self.path, from);
        let opened = opened
            .map_err(|error| Problem::new("fetching", error.to_string()).that_passes(error.passes()))?;
        self.total = opened.total;
        Ok(opened.body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digests_of_the_largest_image_have_room_in_a_small_machine() {
        for (total, piece) in [
            (None, PIECE),
            (Some(0), PIECE),
            (Some(64 << 30), PIECE),
            (Some((64 << 30) + 1), 2 * PIECE),
            (Some(1 << 40), 4 << 20),
            (Some(16 << 40), 64 << 20),
        ] {
            let digests = Digesting::new(total).complete();
            assert_eq!(digests.piece, piece, "{total:?}");
            let bytes = total.unwrap_or(0).div_ceil(digests.piece as u64) * size_of::<ShortDigest>() as u64;
            assert!(bytes <= 4 << 20, "{total:?}: {bytes} bytes");
        }
    }
}

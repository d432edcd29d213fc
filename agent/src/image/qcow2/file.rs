//! An image's file, read at any place, through something that is made for reading on.

use std::{
    collections::VecDeque,
    io::{self, Read},
};

use ring::digest::{SHA256, digest};

use super::damaged;
use crate::{fetching::Fetch, telling::Problem};

/// Bytes that are read and verified together.
const PIECE: usize = 256 << 10;
/// Pieces that are kept: tables are never far from what they point to.
const KEPT: usize = 16;
/// Pieces that are read over rather than asking for what is behind them.
const SKIPPED: u64 = 16;

/// What each piece of a file was when its checksum was verified. What is read again later has to be the same, or another
/// image could be given than the one that was checked.
#[derive(Debug, Default)]
pub struct Digests(Vec<[u8; 16]>);

impl Digests {
    /// Goes on with the next bytes of the file: whole pieces, but for the last time.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.extend(bytes.chunks(PIECE).map(short_digest));
    }

    fn check(&self, index: u64, bytes: &[u8]) -> Result<(), Problem> {
        let expected = usize::try_from(index).ok().and_then(|index| self.0.get(index));
        if bytes.is_empty() || expected == Some(&short_digest(bytes)) {
            return Ok(());
        }
        let why =
            "the image is not the one any more that was verified before: it was changed where it is served";
        Err(Problem::new("fetching", why))
    }
}

fn short_digest(bytes: &[u8]) -> [u8; 16] {
    crate::fields::array(digest(&SHA256, bytes).as_ref(), 0).unwrap_or_default()
}

/// A file that is fetched piece by piece.
pub struct ImageFile<'a> {
    fetch: &'a dyn Fetch,
    path: &'a str,
    digests: Option<Digests>,
    /// Something that is being read, and the piece that it is at.
    body: Option<(Box<dyn Read + Send>, u64)>,
    kept: VecDeque<(u64, Vec<u8>)>,
    total: Option<u64>,
}

impl<'a> ImageFile<'a> {
    /// A file, and what is known of it.
    #[must_use]
    pub fn new(fetch: &'a dyn Fetch, path: &'a str, digests: Option<Digests>) -> Self {
        Self { fetch, path, digests, body: None, kept: VecDeque::new(), total: None }
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
            let offset = usize::try_from(from % PIECE as u64).unwrap_or(0);
            let piece = self.piece(from / PIECE as u64)?;
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
        let near = self.body.take().filter(|(_, next)| (*next..=*next + SKIPPED).contains(&index));
        let (mut body, mut next) = match near {
            Some(near) => near,
            None => (self.open(index * PIECE as u64)?, index),
        };
        while next <= index {
            let mut bytes = if self.kept.len() < KEPT { None } else { self.kept.pop_front() }
                .map_or_else(|| Vec::with_capacity(PIECE), |(_, bytes)| bytes);
            bytes.clear();
            let read = body.by_ref().take(PIECE as u64).read_to_end(&mut bytes);
            read.map_err(|error| damaged(&error.to_string()))?;
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
        let opened = opened.map_err(|error| Problem::new("fetching", error.to_string()))?;
        self.total = opened.total;
        Ok(opened.body)
    }
}

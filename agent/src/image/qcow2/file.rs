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
/// Bytes of the largest pieces: some of them are kept, and pieces that go on growing with a file would need more memory than
/// their digests save.
const LARGEST_PIECE: usize = 4 << 20;
/// So many digests, which are 4 MiB of memory, before pieces are made larger.
const USUAL_DIGESTS: u64 = 1 << 18;
/// Digests of one file: 16 MiB of memory, for 4 TiB in the largest pieces.
const MOST_DIGESTS: u64 = 1 << 20;

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
    ///
    /// # Errors
    /// It is larger than what there can be digests of.
    pub fn new(total: Option<u64>) -> Result<Self, Problem> {
        // Where it is not known, it may be large.
        let (mut piece, total) = total.map_or((LARGEST_PIECE, 0), |total| (PIECE, total));
        while piece < LARGEST_PIECE && total.div_ceil(piece as u64) > USUAL_DIGESTS {
            piece *= 2;
        }
        if total.div_ceil(piece as u64) > MOST_DIGESTS {
            return Err(too_large());
        }
        Ok(Self { digests: Digests { piece, done: Vec::new() }, begun: (Context::new(&SHA256), 0) })
    }

    /// Goes on with the next bytes of the file.
    ///
    /// # Errors
    /// It turns out to be larger than what there can be digests of.
    pub fn update(&mut self, mut bytes: &[u8]) -> Result<(), Problem> {
        while !bytes.is_empty() {
            if self.digests.done.len() as u64 >= MOST_DIGESTS {
                return Err(too_large());
            }
            let (digest, length) = &mut self.begun;
            let (now, later) = bytes.split_at(bytes.len().min(self.digests.piece - *length));
            digest.update(now);
            *length += now.len();
            if *length == self.digests.piece {
                self.end_piece();
            }
            bytes = later;
        }
        Ok(())
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

fn too_large() -> Problem {
    let most = (LARGEST_PIECE as u64 * MOST_DIGESTS) >> 40;
    let why = format!(
        "the file of a qcow2 image that has a checksum may have at most {most} TiB, and this one has more: give it as a raw \
         image, which may be packed"
    );
    Problem::new("verifying", why)
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
    fn digests_and_pieces_of_the_largest_image_have_room_in_a_small_machine() {
        const MIB: usize = 1 << 20;
        for (total, piece, most) in [
            (None, 4 * MIB, 0),
            (Some(0), PIECE, 0),
            (Some(64 << 30), PIECE, 4),
            (Some((64 << 30) + 1), 2 * PIECE, 4),
            (Some(1 << 40), 4 * MIB, 4),
            (Some((1 << 40) + 1), 4 * MIB, 5),
            (Some(4 << 40), 4 * MIB, 16),
        ] {
            let digests = Digesting::new(total).unwrap().complete();
            assert_eq!(digests.piece, piece, "{total:?}");
            let bytes = total.unwrap_or(0).div_ceil(digests.piece as u64) * size_of::<ShortDigest>() as u64;
            assert!(bytes <= most << 20, "{total:?}: {bytes} bytes");
        }
    }

    #[test]
    fn a_file_that_is_larger_is_refused_before_it_is_read_or_when_it_turns_out_to_be() {
        for total in [(4 << 40) + 1, u64::MAX] {
            let why = Digesting::new(Some(total)).map(|_| ()).unwrap_err().message;
            assert!(why.contains("4 TiB") && why.contains("raw"), "{why}");
        }
        let mut digesting = Digesting::new(None).unwrap();
        digesting.digests.done = vec![ShortDigest::default(); (1 << 20) - 1];
        digesting.update(&vec![0; LARGEST_PIECE]).unwrap();
        assert!(digesting.update(&[]).is_ok());
        assert!(digesting.update(&[1]).unwrap_err().message.contains("raw"));
    }
}

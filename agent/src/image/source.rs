//! The bytes of an image as they are fetched, with their checksum.

use std::{
    io::{self, ErrorKind, Read},
    sync::mpsc::{Receiver, Sender, channel},
    thread,
};

use beskar7_agent_protocol::order::Algorithm;

use super::Hasher;
use crate::target::{Block, Pool};

/// Blocks that are fetched and not used yet: what a slow disk or a slow network is made up for by.
const BLOCKS: usize = 6;

/// What comes next.
pub enum Piece {
    /// Bytes: a full block, or the last one.
    Block(Block),
    /// All bytes were there. This is their checksum, where one was asked for.
    End(Option<String>),
    /// Nothing more will come.
    Failed(io::Error),
}

/// Bytes that are being fetched.
pub struct Source(Receiver<Piece>);

impl Source {
    /// Begins to fetch. It ends when it is dropped, as soon as the body gives something.
    ///
    /// # Errors
    /// There can be no more threads.
    pub fn begin(body: Box<dyn Read + Send>, algorithm: Option<Algorithm>) -> io::Result<Self> {
        let (pieces, fetched) = channel();
        thread::Builder::new().name("fetcher".into()).spawn(move || fetch(body, &pieces))?;
        let Some(algorithm) = algorithm else { return Ok(Self(fetched)) };
        let (pieces, hashed) = channel();
        let hasher = Hasher::new(algorithm);
        thread::Builder::new().name("hasher".into()).spawn(move || hash(hasher, &fetched, &pieces))?;
        Ok(Self(hashed))
    }

    /// What comes next.
    pub fn receive(&mut self) -> Piece {
        // A thread says when it is done: one that did not has died.
        let died = || Piece::Failed(io::Error::other("fetching died"));
        self.0.recv().unwrap_or_else(|_| died())
    }
}

fn fetch(mut body: Box<dyn Read + Send>, pieces: &Sender<Piece>) {
    let pool = Pool::new(BLOCKS);
    while let Some(mut block) = pool.take() {
        let filled = fill(&mut body, &mut block);
        let is_last = !block.is_full();
        if !block.filled().is_empty() && pieces.send(Piece::Block(block)).is_err() {
            return;
        }
        let last = match filled {
            Err(error) => Piece::Failed(error),
            Ok(()) if is_last => Piece::End(None),
            Ok(()) => continue,
        };
        // Whoever does not listen any more does not want to know.
        let _gone = pieces.send(last);
        return;
    }
}

/// Reads until the block is full, or nothing is left.
pub(super) fn fill(from: &mut impl Read, block: &mut Block) -> io::Result<()> {
    while !block.is_full() {
        match from.read(block.room()) {
            Ok(0) => break,
            Ok(count) => block.fill(count),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn hash(mut hasher: Hasher, fetched: &Receiver<Piece>, pieces: &Sender<Piece>) {
    for piece in fetched {
        let piece = match piece {
            Piece::Block(block) => {
                hasher.update(block.filled());
                Piece::Block(block)
            }
            Piece::End(_) => {
                let _gone = pieces.send(Piece::End(Some(hasher.finish())));
                return;
            }
            Piece::Failed(error) => Piece::Failed(error),
        };
        if pieces.send(piece).is_err() {
            return;
        }
    }
}

//! Writing blocks to a disk, in a thread of its own: while one is written, the next is made.

use std::{
    io, mem,
    sync::mpsc::{Receiver, Sender, channel},
    thread,
};

use beskar7_agent_protocol::report::Progress;

use super::{BLOCK, Block, Pool, Staged};
use crate::{
    partitions,
    telling::{Problem, Telling},
};

/// Blocks that are made or written at a time.
const BLOCKS: usize = 4;
/// How much is made zeros at a time: a disk that can do it slowly only is asked again soon whether it is still wanted.
const ZEROS: u64 = 64 << 20;

/// In which step of the work this is.
const STEP: &str = "writing";
/// The same, while many zeros are made at once: how far it is with these is another count.
const ZEROING: &str = "writing zeros";

/// A disk that an image is written to.
pub struct Writing<'a, 'd> {
    /// Where the bytes go.
    pub disk: &'a mut Staged<'d>,
    /// How large the disk's sectors are.
    pub sector: u64,
    /// The disk's path.
    pub name: &'a str,
    /// Who is told.
    pub telling: &'a dyn Telling,
}

/// What is to be written next.
enum Piece {
    Data(Block),
    Zeros(u64),
}

/// Where an image's bytes go, from the first to the last.
pub struct Sink<'a> {
    pieces: Sender<Piece>,
    pool: Pool,
    block: Option<Block>,
    zeros: u64,
    name: &'a str,
    telling: &'a dyn Telling,
}

impl Sink<'_> {
    /// Tells how far it is, and looks whether it is wanted still.
    ///
    /// # Errors
    /// It is not.
    pub fn tell(&self, done: u64, total: Option<u64>) -> Result<(), Problem> {
        if self.telling.is_unwanted() {
            return Err(unwanted(self.name));
        }
        let disk = Some(self.name.to_owned());
        self.telling.progress(Progress { step: STEP.to_owned(), disk, done: Some(done), total });
        Ok(())
    }

    /// An empty block, to be filled and given to [`Sink::block`].
    ///
    /// # Errors
    /// The writer has ended.
    pub fn take(&self) -> Result<Block, Problem> {
        self.pool.take().ok_or_else(|| self.ended())
    }

    /// Writes a block. All but the last have to be full.
    ///
    /// # Errors
    /// The writer has ended.
    pub fn block(&mut self, block: Block) -> Result<(), Problem> {
        self.flush()?;
        self.send(Piece::Data(block))
    }

    /// Writes bytes.
    ///
    /// # Errors
    /// The writer has ended.
    pub fn bytes(&mut self, mut bytes: &[u8]) -> Result<(), Problem> {
        self.flush_zeros()?;
        while !bytes.is_empty() {
            let mut block = self.open_block()?;
            let room = block.room();
            let count = room.len().min(bytes.len());
            let (now, later) = bytes.split_at_checked(count).unwrap_or_default();
            crate::fields::put(room, 0, now);
            block.fill(count);
            bytes = later;
            self.close_block(block)?;
        }
        Ok(())
    }

    /// Writes so many zeros.
    pub fn zeros(&mut self, count: u64) {
        self.zeros += count;
    }

    /// Writes what is not full yet.
    ///
    /// # Errors
    /// The writer has ended.
    pub fn flush(&mut self) -> Result<(), Problem> {
        self.flush_zeros()?;
        self.block.take().map_or(Ok(()), |block| self.send(Piece::Data(block)))
    }

    /// Zeros fill the open block first, so that all blocks stay whole.
    fn flush_zeros(&mut self) -> Result<(), Problem> {
        let mut left = mem::take(&mut self.zeros);
        if left == 0 {
            return Ok(());
        }
        if let Some(mut block) = self.block.take() {
            let room = block.room().len() as u64;
            let count = left.min(room);
            block.fill_zeros(usize::try_from(count).unwrap_or(BLOCK));
            left -= count;
            self.close_block(block)?;
        }
        let whole = left - left % BLOCK as u64;
        if whole > 0 {
            self.send(Piece::Zeros(whole))?;
        }
        let rest = usize::try_from(left - whole).unwrap_or(0);
        if rest > 0 {
            let mut block = self.open_block()?;
            block.fill_zeros(rest);
            self.close_block(block)?;
        }
        Ok(())
    }

    fn open_block(&mut self) -> Result<Block, Problem> {
        self.block.take().map_or_else(|| self.take(), Ok)
    }

    fn close_block(&mut self, block: Block) -> Result<(), Problem> {
        if block.is_full() {
            return self.send(Piece::Data(block));
        }
        self.block = Some(block);
        Ok(())
    }

    fn send(&self, piece: Piece) -> Result<(), Problem> {
        self.pieces.send(piece).map_err(|_gone| self.ended())
    }

    /// Never the whole truth: what ended the writer is.
    fn ended(&self) -> Problem {
        Problem::with_disk(STEP, self.name, "writing has ended")
    }
}

/// Writes what is produced to a disk, from its beginning on. Gives what the producer does, and how many bytes were
/// written.
///
/// # Errors
/// It can't be produced, or can't be written, or does not fit.
pub fn write<T>(
    writing: Writing<'_, '_>,
    produce: impl FnOnce(&mut Sink<'_>) -> Result<T, Problem>,
) -> Result<(T, u64), Problem> {
    let (pieces, received) = channel();
    let (name, telling) = (writing.name, writing.telling);
    thread::scope(|scope| {
        let writer = thread::Builder::new().name("writer".into());
        let writer = writer.spawn_scoped(scope, move || write_pieces(writing, &received));
        let writer = writer.map_err(|error| Problem::with_disk(STEP, name, format!("no thread: {error}")))?;
        let mut sink = Sink { pieces, pool: Pool::new(BLOCKS), block: None, zeros: 0, name, telling };
        let produced = produce(&mut sink).and_then(|produced| sink.flush().map(|()| produced));
        drop(sink);
        let written =
            writer.join().unwrap_or_else(|_| Err(Problem::with_disk(STEP, name, "the writer died")));
        // What ended the writer also ended the producer.
        written.and_then(|written| Ok((produced?, written)))
    })
}

fn write_pieces(mut writing: Writing<'_, '_>, pieces: &Receiver<Piece>) -> Result<u64, Problem> {
    // Zeros from here up to `at` are not written yet.
    let (mut zeros_from, mut at) = (0, 0);
    for piece in pieces {
        match piece {
            Piece::Zeros(count) => at += count,
            Piece::Data(block) if is_zero(block.filled()) => at += block.filled().len() as u64,
            Piece::Data(block) => {
                writing.zero(zeros_from, at)?;
                at = writing.data(at, block)?;
                zeros_from = at;
            }
        }
        writing.check_room(at)?;
    }
    writing.zero(zeros_from, at)?;
    Ok(at)
}

impl Writing<'_, '_> {
    fn data(&mut self, at: u64, mut block: Block) -> Result<u64, Problem> {
        if at == 0 {
            partitions::check_sector(block.filled(), self.sector)
                .map_err(|why| Problem::with_disk(STEP, self.name, why))?;
        }
        let end = at + block.filled().len() as u64;
        self.check_room(end)?;
        // The last block of an image may end within a sector.
        let padding = end.next_multiple_of(self.sector) - end;
        block.fill_zeros(usize::try_from(padding).unwrap_or(0));
        self.disk.write(at, block.filled()).map_err(|error| self.failed(at, &error))?;
        Ok(end)
    }

    fn zero(&mut self, from: u64, to: u64) -> Result<(), Problem> {
        let end = to.next_multiple_of(self.sector);
        let mut at = from;
        while at < end {
            if self.telling.is_unwanted() {
                return Err(unwanted(self.name));
            }
            let count = ZEROS.min(end - at);
            self.disk.zero(at, count).map_err(|error| self.failed(at, &error))?;
            at += count;
            if at < end {
                self.tell_zeros(at - from, end - from);
            }
        }
        Ok(())
    }

    /// How far the image is stands still for as long as a disk takes for many zeros: who is told nothing takes it for stuck.
    fn tell_zeros(&self, done: u64, total: u64) {
        let (step, disk) = (ZEROING.to_owned(), Some(self.name.to_owned()));
        self.telling.progress(Progress { step, disk, done: Some(done), total: Some(total) });
    }

    fn check_room(&self, end: u64) -> Result<(), Problem> {
        let length = self.disk.length();
        if end <= length {
            return Ok(());
        }
        let why = format!(
            "the image is larger than the disk, which has {length} bytes: choose a larger disk or a smaller image"
        );
        Err(Problem::with_disk(STEP, self.name, why))
    }

    fn failed(&self, at: u64, error: &io::Error) -> Problem {
        let why = format!("at byte {at}: {error}; the disk may be broken");
        Problem::with_disk(STEP, self.name, why)
    }
}

fn unwanted(name: &str) -> Problem {
    Problem::with_disk(STEP, name, "nobody wants this done any more; the disk holds no system")
}

fn is_zero(bytes: &[u8]) -> bool {
    let (chunks, rest) = bytes.as_chunks::<64>();
    chunks.iter().all(|chunk| *chunk == [0; 64]) && rest.iter().all(|byte| *byte == 0)
}

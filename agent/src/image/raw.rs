//! A disk byte by byte, as it is or packed.

use std::{
    io::{self, BufRead, Read},
    mem,
};

use super::{Compression, Piece, Source, compression::Decoder, format::check_unpacked, source::fill};
use crate::{
    fetching::passes,
    target::{Block, Sink},
    telling::Problem,
};

const FETCHING: &str = "fetching";

/// An image that is being fetched.
pub struct Raw {
    /// Its bytes.
    pub source: Source,
    /// How many bytes are fetched, where that is known.
    pub total: Option<u64>,
    /// How it is packed.
    pub compression: Option<Compression>,
}

impl Raw {
    /// Writes it, and gives the checksum of what was fetched, where one was asked for.
    ///
    /// # Errors
    /// It can't be fetched or unpacked as a whole, or not be written.
    pub fn produce(self, sink: &mut Sink<'_>) -> Result<Option<String>, Problem> {
        let Self { source, total, compression } = self;
        let mut reader = Reader { source, block: None, used: 0, fetched: 0, digest: None, has_ended: false };
        match compression {
            None => copy(&mut reader, sink, total)?,
            Some(compression) => reader = unpack(compression, reader, sink, total)?,
        }
        reader.drain()?;
        match total.filter(|total| *total != reader.fetched) {
            Some(total) => {
                let why = format!("the image ended at byte {} of {total}", reader.fetched);
                Err(Problem::new(FETCHING, why))
            }
            None => Ok(reader.digest),
        }
    }
}

/// Blocks go from the network to the disk as they are.
fn copy(reader: &mut Reader, sink: &mut Sink<'_>, total: Option<u64>) -> Result<(), Problem> {
    while let Some(block) = reader.next_block().map_err(failed)? {
        sink.block(block)?;
        sink.tell(reader.fetched, total)?;
    }
    Ok(())
}

fn unpack(
    compression: Compression,
    reader: Reader,
    sink: &mut Sink<'_>,
    total: Option<u64>,
) -> Result<Reader, Problem> {
    let mut decoder = Decoder::new(compression, reader).map_err(failed)?;
    let mut is_first = true;
    loop {
        let mut block = sink.take()?;
        fill(&mut decoder, &mut block).map_err(failed)?;
        if mem::take(&mut is_first) {
            check_unpacked(block.filled()).map_err(|why| Problem::new(FETCHING, why))?;
        }
        let is_last = !block.is_full();
        if !block.filled().is_empty() {
            sink.block(block)?;
        }
        sink.tell(decoder.inner().map_or(0, |reader| reader.fetched), total)?;
        if is_last {
            break;
        }
    }
    match decoder {
        Decoder::Gzip(decoder) => Ok(decoder.into_inner()),
        Decoder::Xz(decoder) => Ok(decoder.into_inner()),
        Decoder::Zstd(decoder) => Ok(decoder.finish()),
        Decoder::Ended(reader) => Ok(reader),
        Decoder::Between => Err(Problem::new(FETCHING, "unpacking broke off")),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn failed(error: io::Error) -> Problem {
    Problem::new(FETCHING, format!("the image: {error}")).that_passes(passes(&error))
}

/// The source as what decoders read from.
struct Reader {
    source: Source,
    block: Option<Block>,
    used: usize,
    fetched: u64,
    digest: Option<String>,
    has_ended: bool,
}

impl Reader {
    fn next_block(&mut self) -> io::Result<Option<Block>> {
        if self.has_ended {
            return Ok(None);
        }
        match self.source.receive() {
            Piece::Block(block) => {
                self.fetched += block.filled().len() as u64;
                Ok(Some(block))
            }
            Piece::End(digest) => {
                (self.digest, self.has_ended) = (digest, true);
                Ok(None)
            }
            Piece::Failed(error) => Err(error),
        }
    }

    /// Reads what is left: the checksum is that of all bytes.
    fn drain(&mut self) -> Result<(), Problem> {
        self.block = None;
        while self.next_block().map_err(failed)?.is_some() {}
        Ok(())
    }
}

impl BufRead for Reader {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.block.as_ref().is_none_or(|block| block.filled().len() <= self.used) {
            // It goes back before another is waited for.
            self.block = None;
            self.block = self.next_block()?;
            self.used = 0;
        }
        Ok(self.block.as_ref().and_then(|block| block.filled().get(self.used..)).unwrap_or_default())
    }

    fn consume(&mut self, count: usize) {
        self.used += count;
    }
}

impl Read for Reader {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let available = self.fill_buf()?;
        let count = available.len().min(bytes.len());
        crate::fields::put(bytes, 0, available.get(..count).unwrap_or_default());
        self.consume(count);
        Ok(count)
    }
}

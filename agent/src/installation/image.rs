//! The image of an order: opened, verified, written.

use std::io::{self, Cursor, Read};

use beskar7_agent_protocol::{
    hardware::Disk,
    order::{Checksum, Image},
    report::Progress,
};

use super::Work;
use crate::{
    fetching::{Fetch, FetchError, passes},
    image::{
        Compression, Kind, Piece, Raw, Source, check,
        qcow2::{Digesting, Digests, HEADER, Header, ImageFile, Qcow2},
        recognise,
    },
    target::{Staged, Writing, write},
    telling::{Problem, Telling},
};

const FETCHING: &str = "fetching";
const VERIFYING: &str = "verifying";

/// An image of which the beginning is known.
pub struct OpenedImage<'a> {
    image: &'a Image,
    fetch: &'a dyn Fetch,
    content: Content,
    total: Option<u64>,
}

enum Content {
    /// It is read once, from here.
    Raw { compression: Option<Compression>, size: Option<u64>, body: Box<dyn Read + Send> },
    /// It is read at many places. The digests are there once it was verified.
    Qcow2 { header: Header, digests: Option<Digests> },
}

impl<'a> OpenedImage<'a> {
    /// Opens it, and finds out what it is.
    ///
    /// # Errors
    /// It can't be fetched, or can't be used.
    pub fn open(image: &'a Image, fetch: &'a dyn Fetch) -> Result<Self, Problem> {
        let mut opened = fetch.open(&image.path, 0).map_err(|error| not_had(&error))?;
        let mut first = Vec::with_capacity(HEADER);
        let read = opened.body.by_ref().take(HEADER as u64).read_to_end(&mut first);
        read.map_err(|error| broke_off(&error))?;
        if first.is_empty() {
            return Err(Problem::new(FETCHING, "the image is empty"));
        }
        let kind = recognise(&first, image.format).map_err(|why| Problem::new(FETCHING, why))?;
        let content = match kind {
            Kind::Raw(compression) => {
                let size = match compression {
                    None => opened.total,
                    Some(compression) => compression.least_size(&first, opened.total),
                };
                let body = Box::new(Cursor::new(first).chain(opened.body));
                Content::Raw { compression, size, body }
            }
            Kind::Qcow2 => {
                let header = Header::parse(&first).map_err(|why| Problem::new(FETCHING, why))?;
                Content::Qcow2 { header, digests: None }
            }
        };
        Ok(Self { image, fetch, content, total: opened.total })
    }

    /// How many bytes of the disk it takes at least, where that is known.
    pub fn size(&self) -> Option<u64> {
        match &self.content {
            Content::Raw { size, .. } => *size,
            Content::Qcow2 { header, .. } => Some(header.size),
        }
    }

    /// Compares it with its checksum where that takes a time of its own: a qcow2 is not read in order when it is written.
    ///
    /// # Errors
    /// It is not what it should be.
    pub fn verify(mut self, disk: &Disk, telling: &dyn Telling) -> Result<Self, Problem> {
        if let Content::Qcow2 { header, digests } = &mut self.content
            && let Some(checksum) = &self.image.checksum
        {
            let (verified, first) = verify(self.fetch, &self.image.path, checksum, disk, telling)?;
            // What it was known by before may have been of another file.
            *header = Header::parse(&first).map_err(|why| Problem::new(VERIFYING, why))?;
            *digests = Some(verified);
        }
        Ok(self)
    }

    /// Writes it, and gives how many bytes it has on the disk, and whether they were verified.
    ///
    /// # Errors
    /// It is not what it should be, or can't be fetched or written.
    pub fn write(self, disk: &mut Staged<'_>, work: &Work<'_>) -> Result<(u64, bool), Problem> {
        let Self { image, fetch, content, total } = self;
        let name = work.disk.path.as_str();
        let writing = Writing { disk, sector: work.sector, name, telling: work.telling };
        let (digest, written) = match content {
            Content::Raw { compression, body, .. } => {
                let source = begin(body, image.checksum.as_ref())?;
                write(writing, |sink| Raw { source, total, compression }.produce(sink))?
            }
            Content::Qcow2 { header, digests } => {
                let file = ImageFile::new(fetch, &image.path, digests);
                let ((), written) = write(writing, |sink| Qcow2::new(file, header).produce(sink))?;
                (None, written)
            }
        };
        // What was verified before gives no digest now.
        if let Some((checksum, digest)) = image.checksum.as_ref().zip(digest) {
            check(checksum, &digest).map_err(|why| work.failed(VERIFYING, &why))?;
        }
        Ok((written, image.checksum.is_some()))
    }
}

fn begin(body: Box<dyn Read + Send>, checksum: Option<&Checksum>) -> Result<Source, Problem> {
    Source::begin(body, checksum.map(|checksum| checksum.algorithm))
        .map_err(|error| Problem::new(FETCHING, format!("no thread: {error}")))
}

fn not_had(error: &FetchError) -> Problem {
    Problem::new(FETCHING, error.to_string()).that_passes(error.passes())
}

fn broke_off(error: &io::Error) -> Problem {
    Problem::new(FETCHING, format!("the image: {error}")).that_passes(passes(error))
}

/// Compares it with its checksum; what it is compared by later, and how it begins.
fn verify(
    fetch: &dyn Fetch,
    path: &str,
    checksum: &Checksum,
    disk: &Disk,
    telling: &dyn Telling,
) -> Result<(Digests, Vec<u8>), Problem> {
    let opened = fetch.open(path, 0).map_err(|error| not_had(&error))?;
    let mut source = begin(opened.body, Some(checksum))?;
    let (mut digests, mut first) = (Digesting::new(opened.total)?, Vec::with_capacity(HEADER));
    let mut done = 0;
    loop {
        if telling.is_unwanted() {
            return Err(Problem::new(VERIFYING, "nobody wants this done any more; no disk was touched"));
        }
        match source.receive() {
            Piece::Block(block) => {
                digests.update(block.filled())?;
                let missing = HEADER.saturating_sub(first.len());
                first.extend(block.filled().iter().take(missing));
                done += block.filled().len() as u64;
                let (step, disk) = (VERIFYING.to_owned(), Some(disk.path.clone()));
                telling.progress(Progress { step, disk, done: Some(done), total: opened.total });
            }
            Piece::End(digest) => {
                check(checksum, &digest.unwrap_or_default()).map_err(|why| Problem::new(VERIFYING, why))?;
                return Ok((digests.complete(), first));
            }
            Piece::Failed(error) => return Err(broke_off(&error)),
        }
    }
}

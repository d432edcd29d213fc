//! QEMU's images: clusters of a disk in any order, found by two levels of tables.
//!
//! The disk's clusters are gone through in order, and what an image says of each is read from where it is in the file.
//! `qemu-img convert` writes files in that order, so that one is read as a stream; another costs a request for each jump.
//! The tables are read one after the other, too: none is needed twice.

mod entry;
mod file;
mod header;
mod unpack;

pub use self::{
    file::{Digesting, Digests, ImageFile},
    header::{Header, Packing},
};

use self::{
    entry::{Cluster, cluster, table},
    unpack::Unpacker,
};
use crate::{fields, target::Sink, telling::Problem};

/// The table of the first level is kept in memory: this is enough for 2 TiB in clusters of 4 KiB, and for 512 TiB in the
/// usual ones of 64 KiB.
const LARGEST_TABLE: u64 = 8 << 20;
/// Bytes of the header, as far as they are needed.
pub const HEADER: usize = 112;

/// An image that is being read.
pub struct Qcow2<'a> {
    file: ImageFile<'a>,
    header: Header,
    unpacker: Unpacker,
    packed: Vec<u8>,
    plain: Vec<u8>,
}

impl<'a> Qcow2<'a> {
    /// An image with this header.
    #[must_use]
    pub fn new(file: ImageFile<'a>, header: Header) -> Self {
        let unpacker = Unpacker::new(header.compression);
        Self { file, header, unpacker, packed: Vec::new(), plain: Vec::new() }
    }

    /// Writes the whole disk.
    ///
    /// # Errors
    /// The image can't be read, is damaged, or not be written.
    pub fn produce(mut self, sink: &mut Sink<'_>) -> Result<(), Problem> {
        let first_level = self.first_level()?;
        let covered = self.header.cluster() * (self.header.cluster() / 8);
        let mut at = 0;
        for bytes in first_level.as_chunks::<8>().0 {
            let length = covered.min(self.header.size - at);
            match table(u64::from_be_bytes(*bytes)) {
                None => sink.zeros(length),
                Some(place) => self.second_level(place, at, length, sink)?,
            }
            at += length;
            sink.tell(at, Some(self.header.size))?;
        }
        Ok(())
    }

    fn first_level(&mut self) -> Result<Vec<u8>, Problem> {
        let covered = self.header.cluster() * (self.header.cluster() / 8);
        let needed = self.header.size.div_ceil(covered) * 8;
        if needed > LARGEST_TABLE {
            let why = format!("its clusters of {} bytes are too small for its size", self.header.cluster());
            return Err(damaged(&why));
        }
        if u64::from(self.header.l1_entries) * 8 < needed {
            return Err(damaged("its first table is too short for its size"));
        }
        let mut bytes = vec![0; usize::try_from(needed).unwrap_or(0)];
        self.file.read(self.header.l1_at, &mut bytes)?;
        Ok(bytes)
    }

    fn second_level(
        &mut self,
        place: u64,
        from: u64,
        length: u64,
        sink: &mut Sink<'_>,
    ) -> Result<(), Problem> {
        let cluster_length = self.header.cluster();
        let mut entries = vec![0; usize::try_from(cluster_length).unwrap_or(0)];
        self.file.read(place, &mut entries)?;
        let mut done = 0;
        for bytes in entries.as_chunks::<8>().0 {
            let count = cluster_length.min(length - done);
            if count == 0 {
                break;
            }
            match cluster(u64::from_be_bytes(*bytes), &self.header) {
                Cluster::Zeros => sink.zeros(count),
                Cluster::Plain(at) => self.plain(at, count, sink)?,
                Cluster::Packed { at, most } => self.packed(at, most, count, sink)?,
            }
            done += count;
            if (from + done).is_multiple_of(16 << 20) {
                sink.tell(from + done, Some(self.header.size))?;
            }
        }
        Ok(())
    }

    fn plain(&mut self, at: u64, count: u64, sink: &mut Sink<'_>) -> Result<(), Problem> {
        self.plain.resize(usize::try_from(count).unwrap_or(0), 0);
        self.file.read(at, &mut self.plain)?;
        sink.bytes(&self.plain)
    }

    fn packed(&mut self, at: u64, most: usize, count: u64, sink: &mut Sink<'_>) -> Result<(), Problem> {
        self.packed.resize(most, 0);
        // The last one may be said to go on behind the file's end, up to a whole sector.
        let length = self.file.read_some(at, &mut self.packed)?;
        let packed = self.packed.get(..length).unwrap_or_default();
        self.plain.resize(usize::try_from(self.header.cluster()).unwrap_or(0), 0);
        self.unpacker
            .unpack(packed, &mut self.plain)
            .map_err(|error| damaged(&format!("a packed cluster at byte {at}: {error}")))?;
        sink.bytes(fields::at(&self.plain, 0, usize::try_from(count).unwrap_or(0)).unwrap_or_default())
    }
}

fn damaged(why: &str) -> Problem {
    Problem::new("fetching", format!("the qcow2 image can't be read: {why}"))
}

#[cfg(test)]
#[path = "qcow2_tests.rs"]
mod tests;

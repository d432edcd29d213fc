//! A disk behind a device file.

use std::{
    fs::{File, OpenOptions},
    io::{self, ErrorKind, Seek as _, SeekFrom},
    os::unix::fs::{FileExt as _, OpenOptionsExt as _},
    path::Path,
};

use rustix::{
    fs::{FallocateFlags, OFlags, fallocate},
    io::Errno,
};

use super::{BLOCK, Device};

/// What direct writes are aligned to: no disk has larger sectors.
const ALIGNMENT: usize = 4096;

/// A disk behind a device file, or a plain file that stands for one.
///
/// Large blocks go past the page cache: the memory that is used stays small, an error is told for the block that it is
/// about, and what counts as written is on its way to the disk. All else goes through the cache; the kernel keeps both
/// the same.
pub struct DiskFile {
    cached: File,
    direct: Option<File>,
    length: u64,
}

impl DiskFile {
    /// Opens it, for nobody else to mount.
    ///
    /// # Errors
    /// It is not there, or in use.
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut cached = open(path, OFlags::EXCL)?;
        let direct = match open(path, OFlags::DIRECT) {
            Ok(file) => Some(file),
            // Not every file system can.
            Err(error) if error.kind() == ErrorKind::InvalidInput => None,
            Err(error) => return Err(error),
        };
        let length = cached.seek(SeekFrom::End(0))?;
        Ok(Self { cached, direct, length })
    }

    fn handle(&self, at: u64, bytes: &[u8]) -> &File {
        let is_aligned = at.is_multiple_of(ALIGNMENT as u64)
            && bytes.len().is_multiple_of(ALIGNMENT)
            && bytes.as_ptr().align_offset(ALIGNMENT) == 0;
        self.direct.as_ref().filter(|_| is_aligned).unwrap_or(&self.cached)
    }

    fn write_zeros(&self, at: u64, length: u64) -> io::Result<()> {
        let zeros = vec![0; BLOCK];
        let mut done = 0;
        while done < length {
            let count = usize::try_from(length - done).unwrap_or(BLOCK).min(BLOCK);
            self.write(at + done, zeros.get(..count).unwrap_or_default())?;
            done += count as u64;
        }
        Ok(())
    }
}

fn open(path: &Path, flags: OFlags) -> io::Result<File> {
    let flags = i32::try_from(flags.bits()).map_err(io::Error::other)?;
    OpenOptions::new().read(true).write(true).custom_flags(flags).open(path)
}

/// Whether another way is to be tried.
fn is_unsupported(error: Errno) -> bool {
    matches!(error, Errno::OPNOTSUPP | Errno::INVAL | Errno::NOSYS | Errno::NODEV)
}

impl Device for DiskFile {
    fn length(&self) -> u64 {
        self.length
    }

    fn read(&self, at: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.cached.read_exact_at(bytes, at)
    }

    fn write(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.handle(at, bytes).write_all_at(bytes, at)
    }

    /// The kernel promises zeros for both ways that it is asked for: with the first, the disk may also forget the
    /// blocks; with the second, they are written where the disk can't do it by itself.
    fn zero(&self, at: u64, length: u64) -> io::Result<()> {
        for how in [FallocateFlags::PUNCH_HOLE, FallocateFlags::ZERO_RANGE] {
            match fallocate(&self.cached, how | FallocateFlags::KEEP_SIZE, at, length) {
                Ok(()) => return Ok(()),
                Err(error) if is_unsupported(error) => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.write_zeros(at, length)
    }

    fn sync(&self) -> io::Result<()> {
        self.cached.sync_all()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::Pool;

    #[test]
    fn what_is_written_in_any_way_is_read() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("disk");
        std::fs::write(&path, vec![9; 4 * BLOCK]).unwrap();
        let disk = DiskFile::open(&path).unwrap();
        assert_eq!(disk.length(), 4 * BLOCK as u64);
        let pool = Pool::new(1);
        let mut block = pool.take().unwrap();
        block.room().fill(7);
        block.fill(BLOCK);
        disk.write(0, &[1; 512]).unwrap();
        disk.write(BLOCK as u64, block.filled()).unwrap();
        disk.write(BLOCK as u64 + 512, &[2; 512]).unwrap();
        disk.zero(2 * BLOCK as u64, BLOCK as u64).unwrap();
        disk.write_zeros(3 * BLOCK as u64, 512).unwrap();
        disk.sync().unwrap();
        for (at, expected) in [
            (0, 1),
            (512, 9),
            (BLOCK, 7),
            (BLOCK + 512, 2),
            (BLOCK + 1024, 7),
            (2 * BLOCK, 0),
            (3 * BLOCK - 1, 0),
            (3 * BLOCK, 0),
            (3 * BLOCK + 512, 9),
        ] {
            let mut byte = [0];
            disk.read(at as u64, &mut byte).unwrap();
            assert_eq!(byte, [expected], "{at}");
        }
        assert_eq!(std::fs::metadata(&path).unwrap().len(), 4 * BLOCK as u64);
        assert!(DiskFile::open(&place.path().join("none")).is_err());
    }
}

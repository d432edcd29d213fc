//! What is on disks and in images: noise, and what of it is still there.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use ring::digest::{Context, SHA256};

pub const MIB: u64 = 1 << 20;

/// A MiB that is like no other: noise, with its number in every sector.
pub fn block(number: u64) -> Vec<u8> {
    let mut state = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut block = Vec::with_capacity(1 << 20);
    while block.len() < 1 << 20 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        block.extend(state.to_le_bytes());
    }
    block
}

/// Fills so many MiB of a file, from its beginning.
pub fn fill(path: &Path, mebibytes: u64) {
    let mut file =
        BufWriter::new(File::options().write(true).create(true).truncate(false).open(path).unwrap());
    for number in 0..mebibytes {
        file.write_all(&block(number)).unwrap();
    }
    file.flush().unwrap();
}

/// A part of a file.
pub fn part(path: &Path, from: u64, length: u64) -> Vec<u8> {
    let mut bytes = vec![0; usize::try_from(length).unwrap()];
    File::open(path).unwrap().read_exact_at(&mut bytes, from).unwrap();
    bytes
}

/// Whether so many bytes from here on are the same in both.
pub fn is_same(one: &Path, other: &Path, from: u64, length: u64) -> bool {
    let pieces = (from..from + length).step_by(1 << 20);
    pieces.into_iter().all(|at| {
        let length = (from + length - at).min(MIB);
        part(one, at, length) == part(other, at, length)
    })
}

/// Whether this is all zeros.
pub fn is_zero(path: &Path, from: u64, length: u64) -> bool {
    let zeros = vec![0; 1 << 20];
    let pieces = (from..from + length).step_by(1 << 20);
    pieces.into_iter().all(|at| part(path, at, MIB.min(from + length - at)) == zeros[..])
}

/// Whether a disk begins or ends with a partition table.
pub fn has_table(path: &Path) -> bool {
    let length = std::fs::metadata(path).unwrap().len();
    let first = part(path, 0, 1024);
    let last = part(path, length - 512, 512);
    first[510..512] == [0x55, 0xAA] || first[512..].starts_with(b"EFI PART") || last.starts_with(b"EFI PART")
}

/// The SHA-256 of a file, in hex.
pub fn sha256(path: &Path) -> String {
    struct Hash(Context);
    impl io::Write for Hash {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.update(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut hash = Hash(Context::new(&SHA256));
    io::copy(&mut File::open(path).unwrap(), &mut hash).unwrap();
    hash.0.finish().as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

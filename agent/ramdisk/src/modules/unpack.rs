//! Modules as the agent loads them: distributions pack them with gzip, xz or zstd, and only some kernels unpack them.

use std::io::{BufReader, Read};
use std::path::Path;

use anyhow::{Context as _, Result};

/// How a module is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packing {
    /// Not at all.
    Plain,
    /// `.gz`
    Gzip,
    /// `.xz`
    Xz,
    /// `.zst`
    Zstd,
}

impl Packing {
    /// By the end of a path, and the path without it: `.ko` and nothing behind. Nothing where it names no module.
    #[must_use]
    pub fn of(path: &str) -> Option<(Self, &str)> {
        let packed = [(".gz", Self::Gzip), (".xz", Self::Xz), (".zst", Self::Zstd)];
        let (packing, plain) = packed
            .into_iter()
            .find_map(|(end, packing)| Some((packing, path.strip_suffix(end)?)))
            .unwrap_or((Self::Plain, path));
        plain.ends_with(".ko").then_some((packing, plain))
    }
}

/// Reads a module, unpacked.
///
/// # Errors
/// It can't be read, or is damaged.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    let packing = Packing::of(&path.to_string_lossy()).map_or(Packing::Plain, |(packing, _)| packing);
    let file = std::fs::File::open(path).with_context(|| format!("opening {}", path.display()))?;
    unpack(packing, BufReader::new(file)).with_context(|| format!("reading {}", path.display()))
}

fn unpack(packing: Packing, mut packed: impl Read) -> Result<Vec<u8>> {
    let mut plain = Vec::new();
    match packing {
        Packing::Plain => packed.read_to_end(&mut plain)?,
        Packing::Gzip => flate2::read::MultiGzDecoder::new(packed).read_to_end(&mut plain)?,
        Packing::Xz => liblzma::read::XzDecoder::new_multi_decoder(packed).read_to_end(&mut plain)?,
        Packing::Zstd => zstd::stream::read::Decoder::new(packed)?.read_to_end(&mut plain)?,
    };
    Ok(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_says_how_it_is_packed() {
        for (path, expected) in [
            ("a/b.ko", Some((Packing::Plain, "a/b.ko"))),
            ("a/b.ko.xz", Some((Packing::Xz, "a/b.ko"))),
            ("a/b.ko.gz", Some((Packing::Gzip, "a/b.ko"))),
            ("a/b.ko.zst", Some((Packing::Zstd, "a/b.ko"))),
            ("a/b.xz", None),
            ("a/b", None),
        ] {
            assert_eq!(Packing::of(path), expected, "{path}");
        }
    }

    /// The word "module" and a line's end, as gzip, `xz --check=crc32 --lzma2=dict=1MiB` (which is how the kernel's own
    /// build packs) and zstd write it.
    #[test]
    fn what_others_packed_is_unpacked() {
        let gzip: &[u8] =
            b"\x1f\x8b\x08\0\0\0\0\0\x02\x03\xcb\xcd\x4f\x29\xcd\x49\xe5\x02\0\x4f\x8a\x6e\x07\x07\0\0\0";
        let xz: &[u8] = b"\xfd\x37\x7a\x58\x5a\0\0\x01\x69\x22\xde\x36\x02\0\x21\x01\x10\0\0\0\xa8\x70\x8e\x86\x01\0\x06\
            module\n\0\0\x4f\x8a\x6e\x07\0\x01\x1b\x07\x12\xeb\xd4\x17\x90\x42\x99\x0d\x01\0\0\0\0\x01\x59\x5a";
        let zstd: &[u8] = b"\x28\xb5\x2f\xfd\x04\x58\x39\0\0module\n\x26\xd1\x51\x25";
        for (packing, packed) in [
            (Packing::Plain, b"module\n".as_slice()),
            (Packing::Gzip, gzip),
            (Packing::Xz, xz),
            (Packing::Zstd, zstd),
        ] {
            assert_eq!(unpack(packing, packed).unwrap(), b"module\n", "{packing:?}");
            if packing != Packing::Plain {
                assert!(unpack(packing, &packed[..packed.len() - 9]).is_err(), "{packing:?} cut off");
            }
        }
    }
}

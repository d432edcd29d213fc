//! What an image says of itself.

use crate::fields::{array, u32_be, u64_be};

/// How packed clusters are packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packing {
    /// DEFLATE.
    Zlib,
    /// zstd.
    Zstd,
}

/// What is known of an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// 2 or 3.
    pub version: u32,
    /// A cluster's length, as a power of two.
    pub cluster_bits: u32,
    /// The disk's length.
    pub size: u64,
    /// Entries of the table of the first level.
    pub l1_entries: u32,
    /// Where that is.
    pub l1_at: u64,
    /// How packed clusters are packed.
    pub compression: Packing,
}

/// Features without which an image can't be read, by their bits.
const DIRTY: u64 = 1;
const CORRUPT: u64 = 1 << 1;
const EXTERNAL: u64 = 1 << 2;
const COMPRESSION: u64 = 1 << 3;
const SUBCLUSTERS: u64 = 1 << 4;

impl Header {
    /// Reads the header.
    ///
    /// # Errors
    /// It is none, or the image needs what can't be had here.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        Self::fields(bytes).unwrap_or_else(|| Err("the qcow2 image ends within its header".to_owned()))
    }

    fn fields(bytes: &[u8]) -> Option<Result<Self, String>> {
        let version = u32_be(bytes, 4)?;
        let (features, header_length) = match version {
            2 => (0, 72),
            3 => (u64_be(bytes, 72)?, u32_be(bytes, 100)?),
            _ => return Some(Err(format!("version {version} of qcow2 is not known"))),
        };
        let has_backing_file = u64_be(bytes, 8)? != 0;
        let encryption = u32_be(bytes, 32)?;
        let is_zstd = features & COMPRESSION != 0 && header_length > 104 && array(bytes, 104)? != [0_u8];
        let packing = array::<1>(bytes, 104).filter(|_| is_zstd);
        let header = Self {
            version,
            cluster_bits: u32_be(bytes, 20)?,
            size: u64_be(bytes, 24)?,
            l1_entries: u32_be(bytes, 36)?,
            l1_at: u64_be(bytes, 40)?,
            compression: if is_zstd { Packing::Zstd } else { Packing::Zlib },
        };
        let known = DIRTY | CORRUPT | EXTERNAL | COMPRESSION | SUBCLUSTERS;
        let refused = [
            (has_backing_file, "it has a backing file"),
            (encryption != 0, "it is encrypted"),
            (features & CORRUPT != 0, "it is marked as corrupt"),
            (features & EXTERNAL != 0, "its data is in another file"),
            (features & SUBCLUSTERS != 0, "it has subclusters (extended_l2)"),
            (features & !known != 0, "it has features that are not known"),
            (
                packing.is_some_and(|packing| packing != [1]),
                "its clusters are packed in a way that is not known",
            ),
            (!(9..=21).contains(&header.cluster_bits), "its clusters have no length that can be"),
            (!header.size.is_multiple_of(512), "its size is no number of sectors"),
            (header.size > 1 << 60, "its size can't be"),
        ];
        let why = refused.iter().find(|(is_refused, _)| *is_refused).map(|(_, why)| *why);
        let advice = "make a plain one of it with qemu-img convert";
        Some(why.map_or(Ok(header), |why| Err(format!("the qcow2 image can't be read: {why}; {advice}"))))
    }

    /// A cluster's length.
    #[must_use]
    pub fn cluster(&self) -> u64 {
        1 << self.cluster_bits
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fields::put;

    fn header(changes: &[(usize, &[u8])]) -> Vec<u8> {
        let mut bytes = vec![0; 112];
        put(&mut bytes, 0, b"QFI\xfb\0\0\0\x03");
        put(&mut bytes, 20, &16_u32.to_be_bytes());
        put(&mut bytes, 24, &(5_u64 << 30).to_be_bytes());
        put(&mut bytes, 36, &10_u32.to_be_bytes());
        put(&mut bytes, 40, &0x3_0000_u64.to_be_bytes());
        put(&mut bytes, 100, &112_u32.to_be_bytes());
        for (at, change) in changes {
            put(&mut bytes, *at, change);
        }
        bytes
    }

    #[test]
    fn a_header_says_where_everything_is() {
        let expected = Header {
            version: 3,
            cluster_bits: 16,
            size: 5 << 30,
            l1_entries: 10,
            l1_at: 0x3_0000,
            compression: Packing::Zlib,
        };
        assert_eq!(Header::parse(&header(&[])), Ok(expected.clone()));
        // It was not closed properly: what is in its tables holds nevertheless.
        assert_eq!(Header::parse(&header(&[(79, &[1])])), Ok(expected.clone()));
        let two = Header { version: 2, ..expected };
        assert_eq!(Header::parse(&header(&[(7, &[2]), (72, &[0xff; 40])])), Ok(two));
        let zstd = Header { compression: Packing::Zstd, ..expected };
        assert_eq!(Header::parse(&header(&[(79, &[8]), (104, &[1])])), Ok(zstd));
    }

    #[test]
    fn what_can_not_be_read_is_refused_by_name() {
        for (changes, expected) in [
            (&[(7, &[4][..])][..], "version 4"),
            (&[(15, &[1])], "backing file"),
            (&[(35, &[1])], "encrypted"),
            (&[(79, &[2])], "corrupt"),
            (&[(79, &[4])], "another file"),
            (&[(79, &[16])], "subclusters"),
            (&[(79, &[32])], "not known"),
            (&[(79, &[8]), (104, &[2])], "packed in a way"),
            (&[(23, &[8])], "clusters"),
            (&[(23, &[22])], "clusters"),
            (&[(31, &[1])], "sectors"),
            (&[(24, &[0xff])], "can't be"),
        ] {
            let why = Header::parse(&header(changes)).unwrap_err();
            assert!(why.contains(expected), "{why} says not {expected}");
        }
        assert!(Header::parse(&header(&[])[..99]).is_err());
    }
}

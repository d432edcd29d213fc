//! QEMU's images.

use std::io::Write as _;

use crate::{fields::put, image::qcow2::Packing};

/// What a cluster is.
pub enum Content {
    Missing,
    Zeros,
    Plain(u8),
    Packed(u8),
}

/// An image in the making. Its clusters are stored from the last to the first.
pub fn made(version: u8, cluster_bits: u8, packing: Packing, size: u64, clusters: &[Content]) -> Vec<u8> {
    let cluster = 1 << cluster_bits;
    let entries = cluster / 8;
    let tables = clusters.len().div_ceil(entries);
    let mut image = vec![0; cluster * (2 + tables)];
    put(&mut image, 0, b"QFI\xfb\0\0\0");
    put(&mut image, 7, &[version]);
    put(&mut image, 23, &[cluster_bits]);
    put(&mut image, 24, &size.to_be_bytes());
    put(&mut image, 36, &u32::try_from(tables).unwrap().to_be_bytes());
    put(&mut image, 40, &(cluster as u64).to_be_bytes());
    put(&mut image, 100, &[0, 0, 0, 112]);
    if packing == Packing::Zstd {
        put(&mut image, 79, &[8]);
        put(&mut image, 104, &[1]);
    }
    for table in 0..tables {
        let at = (2 + table) * cluster;
        put(&mut image, cluster + table * 8, &(at as u64 | 1 << 63).to_be_bytes());
    }
    for (index, content) in clusters.iter().enumerate().rev() {
        image.resize(image.len().next_multiple_of(cluster), 0xEE);
        let at = image.len() as u64;
        let entry = match content {
            Content::Missing => 0,
            Content::Zeros => {
                image.extend(vec![0xEE; cluster]);
                at | 1 << 63 | 1
            }
            Content::Plain(byte) => {
                image.extend(vec![*byte; cluster]);
                at | 1 << 63
            }
            Content::Packed(byte) => {
                let bytes = pack(packing, &vec![*byte; cluster]);
                // It begins anywhere in a sector, and ends anywhere.
                image.extend([0xEE; 100]);
                let at = image.len() as u64;
                let sectors = (at + bytes.len() as u64 - 1) / 512 - at / 512;
                image.extend(bytes);
                at | sectors << (62 - (cluster_bits - 8)) | 1 << 62
            }
        };
        put(&mut image, 2 * cluster + index * 8, &entry.to_be_bytes());
    }
    image
}

fn pack(packing: Packing, bytes: &[u8]) -> Vec<u8> {
    match packing {
        Packing::Zstd => zstd::encode_all(bytes, 1).unwrap(),
        Packing::Zlib => {
            let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        }
    }
}

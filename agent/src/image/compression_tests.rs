use std::io::{BufReader, Write as _};

use super::*;
use crate::testing::noise;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn xz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 1);
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    encoder.include_checksum(true).unwrap();
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn unpack(packed: &[u8]) -> io::Result<Vec<u8>> {
    let compression = Compression::of(packed).unwrap();
    let mut unpacked = Vec::new();
    // Members begin and end anywhere in what is fetched.
    let mut decoder = Decoder::new(compression, BufReader::with_capacity(7, packed))?;
    decoder.read_to_end(&mut unpacked)?;
    Ok(unpacked)
}

#[test]
fn what_was_packed_is_unpacked_with_all_its_members() {
    let (one, other) = (noise(300_000, 1), vec![3; 100_000]);
    let both = [one.as_slice(), &other].concat();
    for pack in [gzip, xz, zstd] {
        assert_eq!(unpack(&pack(&one)).unwrap(), one);
        assert_eq!(unpack(&pack(b"")).unwrap(), b"");
        assert_eq!(unpack(&[pack(&one), pack(&other)].concat()).unwrap(), both);
        assert_eq!(unpack(&[pack(&one), pack(b""), pack(&other)].concat()).unwrap(), both);
    }
}

#[test]
fn a_size_is_that_of_all_or_none() {
    let tells = |bytes: &[u8]| {
        let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
        encoder.set_pledged_src_size(Some(bytes.len() as u64)).unwrap();
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    };
    let (content, skipped) = (noise(300_000, 1), [0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 1, 2, 3, 4]);
    let one = tells(&content);
    for (name, packed, expected) in [
        ("one frame", one.clone(), Some(300_000)),
        ("of what does not become smaller", tells(&noise(40, 2)), Some(40)),
        ("no size", zstd(&content), None),
        ("a frame to be skipped first", [&skipped[..], &one].concat(), None),
        ("an empty frame first", [tells(b""), one.clone()].concat(), None),
        ("two frames", [one.as_slice(), &one].concat(), None),
        ("gzip", gzip(&content), None),
        ("xz", xz(&content), None),
    ] {
        let compression = Compression::of(&packed).unwrap();
        let told = compression.least_size(&packed[..30], Some(packed.len() as u64));
        assert_eq!(told, expected, "{name}");
    }
    assert_eq!(
        Compression::Zstd.least_size(&one[..30], None),
        Some(300_000),
        "where nobody says how long it is"
    );
    assert_eq!(Compression::Zstd.least_size(&[&skipped[..], &one].concat()[..30], None), None);
}

#[test]
fn what_is_cut_off_is_no_image() {
    for pack in [gzip, xz, zstd] {
        let packed = pack(&noise(100_000, 1));
        let two = [packed.as_slice(), &packed].concat();
        for length in [6, 10, 17, 50_000, packed.len() - 1, packed.len() - 4, packed.len() - 9] {
            assert!(unpack(&packed[..length]).is_err(), "{length}");
            assert!(unpack(&two[..packed.len() + length]).is_err(), "second, {length}");
        }
        let mut damaged = packed.clone();
        damaged[60_000] ^= 1;
        assert!(unpack(&damaged).is_err());
    }
}

#[test]
fn what_follows_an_image_is_taken_as_its_own_program_takes_it() {
    let content = noise(1000, 1);
    let skipped = [0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3];
    for (pack, behind, is_good) in [
        (gzip as fn(&[u8]) -> Vec<u8>, &[0; 512][..], true),
        (gzip, b"garbage", true),
        (xz, &[0; 512], true),
        (xz, &[0; 3], false),
        (xz, b"garbage!", false),
        (zstd, &skipped, true),
        (zstd, b"garbage!", false),
    ] {
        let unpacked = unpack(&[pack(&content), behind.to_vec()].concat());
        assert_eq!(unpacked.is_ok(), is_good, "{behind:?} {unpacked:?}");
        if is_good {
            assert_eq!(unpacked.unwrap(), content);
        }
    }
}

#[test]
fn what_needs_too_much_memory_is_refused_and_says_so() {
    let mut options = liblzma::stream::LzmaOptions::new_preset(0).unwrap();
    options.dict_size(64 << 20);
    let mut filters = liblzma::stream::Filters::new();
    filters.lzma2(&options);
    let stream = Stream::new_stream_encoder(&filters, liblzma::stream::Check::Crc64).unwrap();
    let mut encoder = liblzma::write::XzEncoder::new_stream(Vec::new(), stream);
    encoder.write_all(b"small").unwrap();
    let why = unpack(&encoder.finish().unwrap()).unwrap_err().to_string();
    assert!(why.contains("xz -8"), "{why}");

    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    encoder.window_log(27).unwrap();
    encoder.write_all(b"small").unwrap();
    let why = unpack(&encoder.finish().unwrap()).unwrap_err().to_string();
    assert!(why.contains("--long"), "{why}");

    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    encoder.window_log(25).unwrap();
    encoder.write_all(b"small").unwrap();
    assert_eq!(unpack(&encoder.finish().unwrap()).unwrap(), b"small");
}

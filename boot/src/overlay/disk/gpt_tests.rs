use super::*;

const MIB: u64 = 1024 * 1024;

/// A table of four entries for an image of a mebibyte: one partition over all of it, and one within.
fn image() -> Vec<u8> {
    let mut image = vec![0; 1024 * 1024];
    let entry = |kind: [u8; 16], start: u64, last: u64| {
        let mut entry = vec![0; 128];
        put(&mut entry, 0, &kind);
        put(&mut entry, 32, &start.to_le_bytes());
        put(&mut entry, 40, &last.to_le_bytes());
        entry
    };
    let mut entries = [entry([7; 16], 0, 2045), entry(ESP, 200, 399)].concat();
    entries.resize(512, 0);
    let mut header = vec![0; 512];
    put(&mut header, 0, b"EFI PART");
    for (at, number) in [(12, 92_u32), (80, 4), (84, 128), (88, crc32(&entries))] {
        put(&mut header, at, &number.to_le_bytes());
    }
    for (at, number) in [(24, 1_u64), (32, 2047), (40, 64), (48, 2045), (72, 2)] {
        put(&mut header, at, &number.to_le_bytes());
    }
    seal(&mut header);
    put(&mut image, 512, &header);
    put(&mut image, 1024, &entries);
    image
}

async fn read(image: Vec<u8>) -> Option<Gpt> {
    let image = Bytes::from(image);
    let mut reader = Reader::new(&image);
    Gpt::read(&mut reader).await.unwrap()
}

fn spans(entries: &[u8]) -> Vec<(u64, u64)> {
    let span = |entry: &[u8]| (u64_le(entry, 32).unwrap(), u64_le(entry, 40).unwrap());
    entries.chunks_exact(128).map(span).filter(|span| *span != (0, 0)).collect()
}

#[test]
fn the_checksum_is_the_one_of_zip_files() {
    assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
    assert_eq!(crc32(b""), 0);
}

#[tokio::test]
async fn what_covers_all_grows_and_what_has_moved_is_found() {
    let gpt = read(image()).await.unwrap();
    assert_eq!(gpt.system_partitions().collect::<Vec<_>>(), [200 * 512]);
    assert_eq!(gpt.copy_length(), 1024);
    let growth = Growth { original: MIB, volume: MIB - 2048, extents: MIB + 8192, length: MIB + 16384 };
    let moved = Moved { from: 200 * 512, to: MIB + 2048, length: 4000 };
    let changed = gpt.changed(&growth, &[moved]);
    assert_eq!(spans(&changed.entries), [(0, (MIB + 8192) / 512 - 1), (MIB / 512 + 4, MIB / 512 + 11)]);
    let last = growth.length / 512 - 1;
    for (header, own, other, entries) in
        [(&changed.header[..], 1, last, 2), (&changed.copy[512..], last, 1, last - 1)]
    {
        let number = |at| u64_le(header, at).unwrap();
        assert_eq!((number(24), number(32), number(72)), (own, other, entries));
        assert_eq!(number(48), last - 2, "the last block that may be used");
        assert_eq!(u32_le(header, 88), Some(crc32(&changed.entries)));
        let mut again = header.to_vec();
        seal(&mut again);
        assert_eq!(again, header);
    }
    assert_eq!(changed.copy.len() as u64, gpt.copy_length());
    assert_eq!(changed.copy[..512], changed.entries);
}

#[tokio::test]
async fn a_partition_with_another_behind_it_has_no_room_to_grow() {
    let mut image = image();
    // The first ends before the second begins.
    put(&mut image, 1024 + 40, &199_u64.to_le_bytes());
    let entries = image[1024..1536].to_vec();
    put(&mut image, 512 + 88, &crc32(&entries).to_le_bytes());
    let mut header = image[512..1024].to_vec();
    seal(&mut header);
    put(&mut image, 512, &header);
    let gpt = read(image).await.unwrap();
    let growth = Growth { original: MIB, volume: 200 * 512, extents: MIB + 8192, length: MIB + 16384 };
    assert_eq!(spans(&gpt.changed(&growth, &[]).entries), [(0, 199), (200, 399)]);
}

#[tokio::test]
async fn what_its_checksums_do_not_confirm_is_no_table() {
    for (place, value) in [(512, b'X'), (512 + 24, 2), (512 + 40, 1), (1024 + 5, 1), (512 + 72, 3)] {
        let mut image = image();
        image[place] = value;
        assert_eq!(read(image).await, None, "{place}");
    }
}

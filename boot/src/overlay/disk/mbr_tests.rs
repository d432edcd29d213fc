use super::*;

const MIB: u64 = 1024 * 1024;

fn sector(entries: &[[u8; 16]]) -> Vec<u8> {
    let mut sector = vec![0; 512];
    for (index, entry) in entries.iter().enumerate() {
        put(&mut sector, TABLE + index * 16, entry);
    }
    put(&mut sector, 510, &[0x55, 0xAA]);
    sector
}

fn entry(kind: u8, last: [u8; 3], start: u32, length: u32) -> [u8; 16] {
    let mut entry = [0; 16];
    put(&mut entry, 4, &[kind]);
    put(&mut entry, 5, &last);
    put(&mut entry, 8, &start.to_le_bytes());
    put(&mut entry, 12, &length.to_le_bytes());
    entry
}

fn growth(extents: u64, length: u64) -> Growth {
    Growth { original: 4 * MIB, volume: 4 * MIB - 300 * 1024, extents, length }
}

fn spans(changed: &[(u64, Vec<u8>)]) -> Vec<(u64, u32, u32)> {
    changed.iter().map(|(at, entry)| (*at, u32_le(entry, 8).unwrap(), u32_le(entry, 12).unwrap())).collect()
}

#[test]
fn isohybrid_grows_by_whole_cylinders_and_keeps_its_geometry() {
    // 64 heads of 32 sectors: a cylinder is a mebibyte, and this ends with the fourth.
    let mbr =
        Mbr::parse(&sector(&[entry(0x17, [63, 32, 3], 0, 8192), entry(0xEF, [0xFE, 0xFF, 0xFF], 400, 100)]));
    assert_eq!(mbr.unit(4 * MIB), MIB);
    assert_eq!(mbr.system_partitions().collect::<Vec<_>>(), [400 * 512]);
    let changed = mbr.changed(&growth(4 * MIB + 4096, 5 * MIB), &[]);
    assert_eq!(spans(&changed), [(446, 0, 5 * 2048)]);
    assert_eq!(changed[0].1[5..8], [63, 32, 4], "head, sector, cylinder");
    let moved = Moved { from: 400 * 512, to: 4 * MIB, length: 1000 };
    let changed = mbr.changed(&growth(4 * MIB + 4096, 5 * MIB), &[moved]);
    assert_eq!(spans(&changed), [(446, 0, 5 * 2048), (462, 8192, 2)]);
}

#[test]
fn a_protective_partition_covers_everything() {
    // The last block of four mebibytes, in the same geometry.
    let mbr = Mbr::parse(&sector(&[entry(0xEE, [63, 32, 3], 1, 8191)]));
    let changed = mbr.changed(&growth(4 * MIB + 4096, 4 * MIB + 40960), &[]);
    assert_eq!(spans(&changed), [(446, 1, 8191 + 80)]);
    assert_eq!(changed[0].1[5..8], [2, 16, 4], "8271 is cylinder 4, head 2, sector 16");
}

#[test]
fn what_lies_behind_stays_and_takes_the_room() {
    let mbr = Mbr::parse(&sector(&[
        entry(0x83, [0xFE, 0xFF, 0xFF], 64, 8000 - 64),
        entry(0xEF, [0xFE, 0xFF, 0xFF], 8000, 192),
    ]));
    assert_eq!(mbr.changed(&growth(4 * MIB + 4096, 4 * MIB + 4096), &[]), []);
    assert_eq!(mbr.unit(4 * MIB), 1, "nothing is rounded by a geometry that nobody wrote");
}

#[test]
fn a_place_that_can_not_be_written_is_written_as_the_last_one() {
    let geometry = Geometry { heads: 255, sectors: 63 };
    assert_eq!(geometry.write(u64::from(u32::MAX)), [0xFE, 0xFF, 0xFF]);
    assert_eq!(geometry.write(1), [0, 1, 0]);
}

#[test]
fn a_sector_without_a_table_has_no_partitions() {
    assert_eq!(Mbr::parse(&[0; 512]), Mbr::default());
    assert_eq!(Mbr::parse(&[]), Mbr::default());
    assert_eq!(Mbr::parse(&sector(&[])), Mbr::default());
}

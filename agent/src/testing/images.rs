//! Images of disks.

use flate2::Crc;

use super::noise;
use crate::{
    fields::put,
    partitions::{ESP, Guid},
};

pub const MIB: usize = 1 << 20;

/// Where a partition is, in MiB, and what for.
pub type Place = (usize, usize, Guid);

pub const ROOT: Guid = Guid::new(0x4F68_BCE3, 0xE8CD, 0x4DB1, 0x96E7_FBCA_F984_B709);

/// A disk of so many MiB with a GPT, and noise in its partitions, but for the middle of each, which is zeros.
pub fn gpt(mebibytes: usize, sector: usize, places: &[Place]) -> Vec<u8> {
    let length = mebibytes * MIB;
    let mut disk = vec![0; length];
    let sectors = length / sector;
    let mut entries = vec![0; 128 * 128];
    for (index, (start, end, kind)) in places.iter().enumerate() {
        let entry = &mut entries[index * 128..];
        put(entry, 0, &kind.0);
        put(entry, 16, &noise(16, index as u64 + 77));
        put(entry, 32, &(start * MIB / sector).to_le_bytes());
        put(entry, 40, &(end * MIB / sector - 1).to_le_bytes());
        let third = (end - start) * MIB / 3;
        put(&mut disk, start * MIB, &noise(third, index as u64));
        put(&mut disk, end * MIB - third, &noise(third, index as u64 + 7));
    }
    let table_sectors = entries.len() / sector;
    let first_usable = 2 + table_sectors;
    let last_usable = sectors - 2 - table_sectors;
    for (own, other, table) in [(1, sectors - 1, 2), (sectors - 1, 1, last_usable + 1)] {
        let mut header = vec![0; 92];
        put(&mut header, 0, b"EFI PART\0\0\x01\0\x5c");
        for (at, value) in [(24, own), (32, other), (40, first_usable), (48, last_usable), (72, table)] {
            put(&mut header, at, &value.to_le_bytes());
        }
        put(&mut header, 56, &noise(16, 99));
        put(&mut header, 80, &[128, 0, 0, 0, 128]);
        put(&mut header, 88, &crc(&entries).to_le_bytes());
        let sum = crc(&header);
        put(&mut header, 16, &sum.to_le_bytes());
        put(&mut disk, own * sector, &header);
        put(&mut disk, table * sector, &entries);
    }
    put(&mut disk, 446, &[0, 0, 2, 0, 0xEE, 0xFF, 0xFF, 0xFF, 1, 0, 0, 0]);
    put(&mut disk, 458, &u32::try_from(sectors - 1).unwrap().to_le_bytes());
    put(&mut disk, 510, &[0x55, 0xAA]);
    disk
}

/// A usual one: an EFI system partition, and a root.
pub fn usual(mebibytes: usize, sector: usize) -> Vec<u8> {
    gpt(mebibytes, sector, &[(1, 3, ESP), (3, mebibytes - 1, ROOT)])
}

pub fn crc(bytes: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.sum()
}

/// Whether something at either end of a disk can be taken for a partition table, or a boot sector.
pub fn looks_installed(disk: &[u8], sector: usize) -> bool {
    let header = |at: usize| {
        let mut header = disk[at..at + 92].to_vec();
        let sum = u32::from_le_bytes(header[16..20].try_into().unwrap());
        put(&mut header, 16, &[0; 4]);
        header.starts_with(b"EFI PART") && crc(&header) == sum
    };
    let number =
        |at: usize| usize::try_from(u64::from_le_bytes(disk[at..at + 8].try_into().unwrap())).unwrap();
    let table = |at: usize| {
        let table = number(at + 72) * sector;
        let sum = u32::from_le_bytes(disk[at + 88..at + 92].try_into().unwrap());
        disk.get(table..table + 128 * 128).is_some_and(|entries| crc(entries) == sum)
    };
    let gpt = |at: usize| header(at) && table(at);
    disk[510..512] == [0x55, 0xAA] || gpt(sector) || gpt(disk.len() - sector)
}

use super::*;
use crate::{
    fields::put,
    target::Device as _,
    testing::{
        Memory, has,
        images::{MIB, ROOT, gpt, looks_installed, usual},
        noise, run,
    },
};

/// Adapts an image on a disk that is larger by so many bytes.
fn adapted(
    image: &[u8],
    more: usize,
    sector: u64,
    wanted: Option<Wanted<'_>>,
) -> (Result<Option<Range<u64>>, PartitionError>, Vec<u8>) {
    let memory = Memory::new(vec![0xAA; image.len() + more]);
    let mut disk = Staged::begin(&memory).unwrap();
    disk.write(0, image).unwrap();
    let result = adapt(&mut disk, sector, image.len() as u64, wanted);
    disk.publish().unwrap();
    (result, memory.content())
}

fn verify(disk: &[u8], sector: u64) {
    // The tools take plain files for disks with sectors of 512 bytes.
    if sector == 4096 {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("disk"), disk).unwrap();
    if has("sgdisk") && disk[512..].starts_with(gpt::SIGNATURE) {
        let said = run(place.path(), &["sgdisk", "-v", "disk"]);
        assert!(said.contains("No problems found"), "{said}");
    }
    if has("sfdisk") {
        let said = run(place.path(), &["sfdisk", "-V", "disk"]);
        assert!(said.contains("No errors detected"), "{said}");
    }
}

const WANTED: Wanted<'static> = Wanted { name: "cidata", length: 300_000 };

#[test]
fn a_gpt_fits_the_disk_afterwards() {
    for sector in [512, 4096] {
        for more in [0, 4096, MIB, 5 * MIB + 12_288] {
            let image = usual(8, sector);
            let (result, disk) = adapted(&image, more, sector as u64, None);
            assert_eq!(result.unwrap(), None);
            assert!(looks_installed(&disk, sector));
            assert_eq!(disk[MIB..7 * MIB], image[MIB..7 * MIB]);
            let memory = Memory::new(disk.clone());
            let mut last = vec![0; 92];
            memory.read((disk.len() - sector) as u64, &mut last).unwrap();
            assert!(last.starts_with(gpt::SIGNATURE), "{sector} {more}");
            let protected = u32::from_le_bytes(disk[458..462].try_into().unwrap());
            assert_eq!(protected as usize, disk.len() / sector - 1);
            let copies = disk.chunks(sector).filter(|part| part.starts_with(gpt::SIGNATURE)).count();
            assert_eq!(copies, 2, "{sector} {more}");
            verify(&disk, sector as u64);
        }
    }
}

#[test]
fn the_configuration_gets_the_end_of_the_disk() {
    for sector in [512, 4096] {
        for (more, start) in [(MIB, 7 * MIB), (2 * MIB, 8 * MIB), (5 * MIB + 12_288, 11 * MIB)] {
            let image = usual(8, sector);
            let (place, disk) = adapted(&image, more, sector as u64, Some(WANTED));
            assert_eq!(place.unwrap(), Some(start as u64..(start + MIB) as u64), "{sector} {more}");
            verify(&disk, sector as u64);
            let entry = &disk[2 * sector + 256..][..128];
            assert_eq!(entry[..16], guid::LINUX.0);
            assert_ne!(entry[16..32], [0; 16]);
            let name: Vec<u8> = "cidata".encode_utf16().flat_map(u16::to_le_bytes).chain([0, 0]).collect();
            assert_eq!(entry[56..][..14], name);
        }
    }
}

#[test]
fn an_mbr_gets_the_configuration_where_an_entry_is_free() {
    let mut image = vec![0; 8 * MIB];
    put(&mut image, 510, &[0x55, 0xAA]);
    put(&mut image, 446, &[0x80, 0, 0, 0, 0x83, 0, 0, 0, 0, 8, 0, 0, 0, 0x10, 0, 0]);
    let (place, disk) = adapted(&image, 4 * MIB, 512, Some(WANTED));
    assert_eq!(place.unwrap(), Some(11 * MIB as u64..12 * MIB as u64));
    assert_eq!(disk[..462], image[..462]);
    assert_eq!(disk[462..478], [0, 0xFE, 0xFF, 0xFF, 0x83, 0xFE, 0xFF, 0xFF, 0, 0x58, 0, 0, 0, 8, 0, 0]);
    verify(&disk, 512);
    let (place, unchanged) = adapted(&image, 4 * MIB, 512, None);
    assert_eq!(place.unwrap(), None);
    assert_eq!(unchanged[..image.len()], image);
    // All entries are used.
    for index in 1..4 {
        put(&mut image, 446 + index * 16, &[0, 0, 0, 0, 0x83, 0, 0, 0, 0, 0x18, 0, 0, 1, 0, 0, 0]);
    }
    let why = adapted(&image, 4 * MIB, 512, Some(WANTED)).0.unwrap_err().to_string();
    assert!(why.contains("all four entries"), "{why}");
}

#[test]
fn an_mbr_for_other_sectors_is_refused() {
    /// An image of 8 MiB with one partition, in sectors.
    fn image(start: u32, count: u32) -> Vec<u8> {
        let mut image = vec![0; 8 * MIB];
        put(&mut image, 510, &[0x55, 0xAA]);
        put(&mut image, 446, &[0x80, 0, 0, 0, 0x83]);
        put(&mut image, 454, &start.to_le_bytes());
        put(&mut image, 458, &count.to_le_bytes());
        image
    }
    let (small, large) = (MIB, 120 * MIB);
    for (name, image, more, sector, is_good) in [
        ("512 on 512", image(2048, 14_336), large, 512, true),
        ("512 on 4096", image(2048, 14_336), small, 4096, false),
        ("512 on 4096, where the disk is large enough", image(2048, 14_336), large, 4096, false),
        ("512 on 4096, and the image ends before its partition", image(2048, 15_360), small, 4096, false),
        ("4096 on 4096", image(256, 1792), small, 4096, true),
        // What was made for 512 bytes would end behind such a disk, too: its table says nothing of sectors.
        ("an end behind any disk", image(2048, 1 << 30), small, 4096, true),
    ] {
        for wanted in [None, Some(WANTED)] {
            let (result, _) = adapted(&image, more, sector, wanted);
            let is_refused =
                result.as_ref().is_err_and(|why| why.to_string().contains("sectors of 512 bytes"));
            assert_eq!(is_refused, !is_good, "{name}: {result:?}");
        }
    }
    let why = adapted(&image(2048, 14_336), small, 4096, None).0.unwrap_err().to_string();
    assert!(why.contains("those of the disk have 4096") && why.contains("rootDeviceHints"), "{why}");
}

#[test]
fn what_can_not_be_is_refused_by_name() {
    let full = || gpt(8, 512, &[(1, 8, ROOT)]);
    let damaged = |at: usize| {
        let mut image = usual(8, 512);
        image[at] ^= 1;
        image
    };
    let boot_sector = || {
        let mut image = noise(8 * MIB, 3);
        put(&mut image, 510, &[0x55, 0xAA]);
        image
    };
    let too_long = Wanted { name: "cidata", length: 4 << 20 };
    for (image, wanted, expected) in [
        (damaged(512 + 60), None, "damaged"),
        (damaged(1024 + 40), None, "damaged"),
        (full(), None, "partition 1"),
        (usual(8, 512), Some(WANTED), "are left"),
        (usual(8, 512), Some(too_long), "are left"),
        (vec![0; 8 * MIB], Some(WANTED), "no partition table"),
        (boot_sector(), Some(WANTED), "no partition table"),
    ] {
        let why = adapted(&image, 0, 512, wanted).0.unwrap_err().to_string();
        assert!(why.contains(expected), "{why} says not {expected}");
    }
    for image in [vec![0; 8 * MIB], boot_sector()] {
        let (place, disk) = adapted(&image, 0, 512, None);
        assert_eq!(place.unwrap(), None);
        assert!(disk == image, "a disk without a table stays as it is");
    }
}

#[test]
fn an_image_for_other_sectors_is_refused() {
    for (made_for, sector, is_good) in
        [(512, 512, true), (4096, 4096, true), (512, 4096, false), (4096, 512, false)]
    {
        let checked = check_sector(&usual(4, made_for)[..MIB], sector);
        assert_eq!(checked.is_ok(), is_good, "{made_for} {sector}");
    }
    assert_eq!(check_sector(b"short", 512), Ok(()));
    assert_eq!(check_sector(&[0; 8192], 4096), Ok(()));
}

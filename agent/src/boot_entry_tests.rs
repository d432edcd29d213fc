use std::{collections::BTreeMap, fs, path::PathBuf};

use super::*;
use crate::{
    fields::put,
    testing::{
        Memory, has,
        images::{MIB, ROOT, gpt, usual},
        run,
    },
};

const VENDOR: &str = "8be4df61-93ca-11d2-aa0d-00e098032b8c";

/// Writes the entry for a disk with this EFI system partition.
fn entry(
    mebibytes: usize,
    esp: &[u8],
    variables: &Path,
    architecture: Architecture,
) -> Result<Written, NoEntry> {
    let mut disk = gpt(mebibytes, 512, &[(1, mebibytes - 2, ESP), (mebibytes - 2, mebibytes - 1, ROOT)]);
    put(&mut disk, MIB, esp);
    let memory = Memory::new(vec![0; disk.len()]);
    let mut staged = Staged::begin(&memory).unwrap();
    staged.write(0, &disk).unwrap();
    write(&staged, 512, variables, architecture)
}

/// The path in an entry's file.
fn path_in(variables: &Path, name: &str) -> String {
    let bytes = fs::read(variables.join(format!("{name}-{VENDOR}"))).unwrap();
    assert_eq!(bytes[..4], [7, 0, 0, 0]);
    let file = 4 + 6 + 2 * (DESCRIPTION.len() + 1) + 42;
    assert_eq!(bytes[file..file + 2], [4, 4]);
    let letters = bytes[file + 4..bytes.len() - 6].as_chunks::<2>().0;
    String::from_utf16(&letters.iter().map(|pair| u16::from_le_bytes(*pair)).collect::<Vec<_>>()).unwrap()
}

fn slot(name: &[u8; 11], attributes: u8, cluster: u8) -> Vec<u8> {
    let mut slot = vec![0; 32];
    put(&mut slot, 0, name);
    put(&mut slot, 11, &[attributes]);
    put(&mut slot, 26, &[cluster]);
    slot
}

/// A FAT with 12 bits: directories EFI in cluster 2 and BOOT in 3 and 5, and a loader behind it.
fn small_fat() -> Vec<u8> {
    let mut fat = vec![0; 64 * 512];
    put(&mut fat, 0, &[0xEB, 0x3C, 0x90]);
    put(&mut fat, 11, &[0, 2, 1, 1, 0, 1, 16, 0, 64, 0, 0xF8, 1, 0]);
    put(&mut fat, 510, &[0x55, 0xAA]);
    put(&mut fat, 512, &[0xF8, 0xFF, 0xFF, 0xFF, 0x5F, 0x00, 0xFF, 0xFF, 0xFF]);
    let root =
        [slot(b"BESKAR     ", 0x08, 0), slot(b"\xE5FI        ", 0x10, 9), slot(b"EFI        ", 0x10, 2)];
    put(&mut fat, 1024, &root.concat());
    put(&mut fat, 1536, &[slot(b".          ", 0x10, 2), slot(b"BOOT       ", 0x10, 3)].concat());
    put(&mut fat, 2048, &slot(b"OTHER   BIN", 0x20, 4).repeat(16));
    put(&mut fat, 3072, &slot(b"BOOTX64 EFI", 0x20, 4));
    fat
}

#[test]
fn firmware_is_told_to_start_what_was_installed() {
    let place = tempfile::tempdir().unwrap();
    let order = place.path().join(format!("BootOrder-{VENDOR}"));
    let old = place.path().join(format!("Boot0003-{VENDOR}"));
    let name: Vec<u8> = "beskar7\0".encode_utf16().flat_map(u16::to_le_bytes).collect();
    fs::write(place.path().join(format!("Boot0000-{VENDOR}")), b"\x07\0\0\0\x01\0\0\0\0\0c\0d\0\0\0")
        .unwrap();
    fs::write(&old, [&[7, 0, 0, 0, 1, 0, 0, 0, 0, 0][..], &name].concat()).unwrap();
    fs::write(place.path().join("Boot0001-00000000-0000-0000-0000-000000000000"), "another's").unwrap();
    fs::write(&order, [7, 0, 0, 0, 3, 0, 0, 0]).unwrap();
    for _ in 0..2 {
        // The second time, everything is there.
        let written = entry(8, &small_fat(), place.path(), Architecture::X64);
        assert_eq!(written, Ok(Written::Entry("Boot0001".into())));
        assert_eq!(path_in(place.path(), "Boot0001"), r"\EFI\BOOT\BOOTX64.EFI");
        assert_eq!(fs::read(&order).unwrap(), [7, 0, 0, 0, 1, 0, 0, 0]);
        assert!(!old.exists());
    }
}

#[test]
fn without_firmware_that_has_entries_or_a_loader_there_is_none() {
    let place = tempfile::tempdir().unwrap();
    let is_none = |written: Result<Written, NoEntry>| matches!(written, Ok(Written::None(_)));
    assert!(is_none(entry(8, &small_fat(), &place.path().join("none"), Architecture::X64)));
    assert!(is_none(entry(8, &small_fat(), place.path(), Architecture::Aa64)));
    assert!(is_none(entry(8, &[], place.path(), Architecture::X64)));
    let memory = Memory::new(vec![0; 8 * MIB]);
    let mut staged = Staged::begin(&memory).unwrap();
    assert!(is_none(write(&staged, 512, place.path(), Architecture::X64)));
    staged.write(0, &gpt(8, 512, &[(1, 7, ROOT)])).unwrap();
    assert!(is_none(write(&staged, 512, place.path(), Architecture::X64)));
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
}

#[test]
fn what_goes_in_circles_is_an_error() {
    let place = tempfile::tempdir().unwrap();
    let mut fat = small_fat();
    // The directory EFI goes on with itself.
    put(&mut fat, 515, &[0x02, 0x50]);
    put(&mut fat, 1536 + 64, &slot(b"OTHER   BIN", 0x20, 4).repeat(14));
    let error = entry(8, &fat, place.path(), Architecture::X64).unwrap_err();
    assert!(error.why.contains("damaged") && !error.has_fallback, "{error:?}");
}

#[test]
fn firmware_that_keeps_nothing_is_told_with_whether_it_finds_the_loader() {
    let place = tempfile::tempdir().unwrap();
    // What is to be a file is a directory: it can't be written.
    fs::create_dir(place.path().join(format!("BootOrder-{VENDOR}"))).unwrap();
    let error = entry(8, &small_fat(), place.path(), Architecture::X64).unwrap_err();
    assert!(error.has_fallback, "{error:?}");
}

/// An EFI system partition with these files, made by others.
fn made_by_others(place: &Path, bits: &str, mebibytes: usize, files: &[&str]) -> Vec<u8> {
    let image: PathBuf = place.join("esp");
    fs::write(&image, vec![0; mebibytes * MIB]).unwrap();
    run(place, &["mkfs.vfat", "-F", bits, "esp"]);
    fs::write(place.join("loader"), "MZ").unwrap();
    let mut made = BTreeMap::new();
    for file in files {
        let parts: Vec<&str> = file.split('/').collect();
        for depth in 1..parts.len() {
            let directory = format!("::{}", parts[..depth].join("/"));
            if made.insert(directory.to_lowercase(), ()).is_none() {
                run(place, &["mmd", "-i", "esp", &directory]);
            }
        }
        run(place, &["mcopy", "-i", "esp", "loader", &format!("::{file}")]);
    }
    fs::read(image).unwrap()
}

#[test]
fn the_best_loader_is_found_in_what_others_make() {
    if !has("mkfs.vfat") || !has("mcopy") {
        return beskar7_skipped::skipped(
            "the_best_loader_is_found_in_what_others_make",
            "mkfs.vfat or mtools is not installed",
        );
    }
    let many: Vec<String> = (0..40).map(|number| format!("EFI/debian/A long name {number}.efi")).collect();
    let mut full: Vec<&str> = many.iter().map(String::as_str).collect();
    full.extend(["EFI/debian/grubx64.efi", "EFI/BOOT/BOOTX64.EFI"]);
    for (bits, mebibytes, files, expected) in [
        ("12", 4, &["EFI/BOOT/BOOTX64.EFI"][..], Some(r"\EFI\BOOT\BOOTX64.EFI")),
        ("16", 16, &["efi/boot/bootx64.efi", "EFI/ubuntu/grubx64.efi"], Some(r"\efi\ubuntu\grubx64.efi")),
        (
            "32",
            40,
            &[
                "EFI/BOOT/BOOTX64.EFI",
                "EFI/ubuntu/grubx64.efi",
                "EFI/ubuntu/shimx64.efi",
                "EFI/a/grubx64.efi",
            ],
            Some(r"\EFI\ubuntu\shimx64.efi"),
        ),
        (
            "32",
            40,
            &["EFI/systemd/systemd-bootx64.efi", "EFI/BOOT/BOOTX64.EFI"],
            Some(r"\EFI\systemd\systemd-bootx64.efi"),
        ),
        ("16", 16, &full, Some(r"\EFI\debian\grubx64.efi")),
        ("16", 16, &["EFI/BOOT/BOOTAA64.EFI", "loader/a.efi"], None),
        ("32", 40, &["readme.txt"], None),
    ] {
        let place = tempfile::tempdir().unwrap();
        let variables = place.path().join("efivars");
        fs::create_dir(&variables).unwrap();
        let esp = made_by_others(place.path(), bits, mebibytes, files);
        let written = entry(mebibytes + 3, &esp, &variables, Architecture::X64).unwrap();
        match expected {
            Some(path) => {
                assert_eq!(written, Written::Entry("Boot0000".into()));
                let found = path_in(&variables, "Boot0000");
                assert!(found.eq_ignore_ascii_case(path), "FAT{bits} {files:?} {found}");
            }
            None => assert!(matches!(written, Written::None(_)), "FAT{bits} {files:?} {written:?}"),
        }
    }
}

#[test]
fn a_usual_disk_without_a_file_system_has_no_loader() {
    let place = tempfile::tempdir().unwrap();
    let memory = Memory::new(vec![0; 8 * MIB]);
    let mut staged = Staged::begin(&memory).unwrap();
    staged.write(0, &usual(8, 512)).unwrap();
    assert!(matches!(write(&staged, 512, place.path(), Architecture::X64), Ok(Written::None(_))));
}

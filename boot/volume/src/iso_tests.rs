use super::*;
use crate::error::MOST_FILES;

const SECTOR: usize = 2048;

fn file(path: &str, content: impl Into<Bytes>) -> File<'_> {
    File { path, content: content.into() }
}

fn sector(image: &[u8], number: usize) -> &[u8] {
    &image[number * SECTOR..][..SECTOR]
}

fn le32(bytes: &[u8], at: usize) -> usize {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize
}

fn be32(bytes: &[u8], at: usize) -> usize {
    u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap()) as usize
}

/// The directory records of an extent.
fn records(image: &[u8], at: usize, bytes: usize) -> Vec<&[u8]> {
    let mut found = Vec::new();
    for number in 0..bytes / SECTOR {
        let mut rest = sector(image, at + number);
        while let Some(length) = rest.first().copied().filter(|length| *length > 0) {
            let (record, after) = rest.split_at(usize::from(length));
            found.push(record);
            rest = after;
        }
    }
    found
}

/// Every path below a directory with its content, by a reader that is told how to name a record.
fn walk(
    image: &[u8],
    directory: &[u8],
    above: &str,
    name: &dyn Fn(&[u8]) -> String,
    found: &mut Vec<(String, Vec<u8>)>,
) {
    assert_eq!((le32(directory, 2), le32(directory, 10)), (be32(directory, 6), be32(directory, 14)));
    for record in records(image, le32(directory, 2), le32(directory, 10)).into_iter().skip(2) {
        let path = format!("{above}/{}", name(record));
        if record[25] & 2 == 2 {
            walk(image, record, &path, name, found);
        } else {
            let content = &image[le32(record, 2) * SECTOR..][..le32(record, 10)];
            found.push((path, content.to_vec()));
        }
    }
}

fn identifier(record: &[u8]) -> &[u8] {
    &record[33..33 + usize::from(record[32])]
}

fn rock_ridge_name(record: &[u8]) -> String {
    let start = 33 + usize::from(record[32]) + usize::from(record[32].is_multiple_of(2));
    let mut fields = &record[start..];
    loop {
        let (field, rest) = fields.split_at(usize::from(fields[2]));
        if field.starts_with(b"NM") {
            return String::from_utf8(field[5..].to_vec()).unwrap();
        }
        fields = rest;
    }
}

fn joliet_name(record: &[u8]) -> String {
    let units: Vec<u16> =
        identifier(record).chunks(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]])).collect();
    String::from_utf16(&units).unwrap()
}

fn plain_name(record: &[u8]) -> String {
    String::from_utf8(identifier(record).to_vec()).unwrap()
}

/// All files as one of the trees shows them.
fn tree(image: &[u8], descriptor: usize, name: &dyn Fn(&[u8]) -> String) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    walk(image, &sector(image, descriptor)[156..190], "", name, &mut found);
    found.sort();
    found
}

fn config_drive() -> Vec<File<'static>> {
    vec![
        file("openstack/latest/user_data", "#cloud-config\n"),
        file("openstack/latest/meta_data.json", "{}"),
        file("/openstack/latest/vendor_data.json", vec![7; 5000]),
        file("empty", ""),
        file("openstack/content/0000", "x"),
    ]
}

fn expected(files: &[File<'_>]) -> Vec<(String, Vec<u8>)> {
    let named = |file: &File<'_>| format!("/{}", file.path.trim_start_matches('/'));
    let mut expected: Vec<_> = files.iter().map(|file| (named(file), file.content.to_vec())).collect();
    expected.sort();
    expected
}

#[test]
fn every_tree_shows_every_file() {
    let files = config_drive();
    let image = iso("config-2", &files).unwrap();
    assert_eq!(tree(&image, 16, &rock_ridge_name), expected(&files));
    assert_eq!(tree(&image, 17, &joliet_name), expected(&files));
    let plain: Vec<String> = tree(&image, 16, &plain_name).into_iter().map(|(path, _)| path).collect();
    assert_eq!(
        plain,
        [
            "/EMPTY.;1",
            "/OPENSTACK/CONTENT/0000.;1",
            "/OPENSTACK/LATEST/META_DATA.JSON;1",
            "/OPENSTACK/LATEST/USER_DATA.;1",
            "/OPENSTACK/LATEST/VENDOR_DATA.JSON;1",
        ]
    );
}

#[test]
fn the_label_is_exact_and_the_sizes_agree() {
    for label in ["cidata", "config-2"] {
        let image = iso(label, &config_drive()).unwrap();
        assert_eq!(&sector(&image, 16)[40..72], format!("{label:32}").as_bytes());
        let joliet: Vec<u8> = format!("{label:16}").encode_utf16().flat_map(u16::to_be_bytes).collect();
        assert_eq!(sector(&image, 17)[40..72], joliet);
        for (number, kind) in [(16, 1), (17, 2), (18, 255)] {
            assert_eq!(&sector(&image, number)[..7], [&[kind][..], b"CD001\x01"].concat(), "{number}");
        }
        for number in [16, 17] {
            assert_eq!(le32(sector(&image, number), 80) * SECTOR, image.len());
            assert_eq!(be32(sector(&image, number), 84) * SECTOR, image.len());
        }
    }
}

#[test]
fn path_tables_lead_to_the_directories_in_both_byte_orders() {
    let image = iso("cidata", &config_drive()).unwrap();
    for number in [16, 17] {
        let descriptor = sector(&image, number);
        let length = le32(descriptor, 132);
        let little = &sector(&image, le32(descriptor, 140))[..length];
        let big = &sector(&image, be32(descriptor, 148))[..length];
        let (mut at, mut above) = (0, Vec::new());
        while at < length {
            let (named, place) = (usize::from(little[at]), le32(little, at + 2));
            assert_eq!(place, be32(big, at + 2));
            above.push(little[at + 6]);
            assert_eq!((little[at + 7], big[at + 6], big[at + 7]), (0, 0, little[at + 6]));
            let first = records(&image, place, SECTOR)[0];
            assert_eq!(
                (le32(first, 2), identifier(first)),
                (place, &[0][..]),
                "a directory begins with itself"
            );
            at += 8 + named + named % 2;
        }
        // The root, openstack, and in it content and latest.
        assert_eq!(above, [1, 1, 2, 2]);
    }
}

#[test]
fn the_same_files_are_the_same_bytes_in_any_order() {
    let mut files = config_drive();
    let image = iso("cidata", &files).unwrap();
    assert_eq!(iso("cidata", &files).unwrap(), image);
    files.swap(0, 1);
    assert_eq!(iso("cidata", &files).unwrap(), image);
    assert_ne!(iso("config-2", &files).unwrap(), image);
}

#[test]
fn even_an_empty_volume_is_as_large_as_those_of_other_tools() {
    let image = iso("cidata", &[]).unwrap();
    assert!((350 << 10..400 << 10).contains(&image.len()), "{}", image.len());
    assert!(image.len().is_multiple_of(SECTOR));
}

#[test]
fn many_files_with_long_names_go_over_sectors_and_stay_apart() {
    let names: Vec<String> = (0..300).map(|number| format!("{:-<60}{number:04}", "Same.beginning")).collect();
    let files: Vec<File<'_>> = names.iter().map(|name| file(name, name.clone())).collect();
    let image = iso("cidata", &files).unwrap();
    assert_eq!(tree(&image, 16, &rock_ridge_name), expected(&files));
    assert_eq!(tree(&image, 17, &joliet_name), expected(&files));
    let plain = tree(&image, 16, &plain_name);
    let mut different: Vec<&str> = plain.iter().map(|(path, _)| path.as_str()).collect();
    different.dedup();
    assert_eq!(different.len(), 300);
    let root = &sector(&image, 16)[156..190];
    let sorted: Vec<_> =
        records(&image, le32(root, 2), le32(root, 10)).into_iter().skip(2).map(plain_name).collect();
    assert!(sorted.is_sorted(), "{sorted:?}");
}

#[test]
fn names_that_the_plain_tree_can_not_hold_are_replaced_there_alone() {
    let files = [
        file("a-b.tar.gz", "1"),
        file("A_B.tar.gz", "2"),
        file(".profile", "3"),
        file("a_b", "4"),
        file("a-b/c", "5"),
    ];
    let image = iso("x", &files).unwrap();
    assert_eq!(tree(&image, 16, &rock_ridge_name), expected(&files));
    let plain: Vec<String> = tree(&image, 16, &plain_name).into_iter().map(|(path, _)| path).collect();
    assert_eq!(plain, ["/A_B/C.;1", "/A_B1.;1", "/A_B_TAR.GZ;1", "/A_B_TAR1.GZ;1", "/_PROFILE.;1"]);
}

#[test]
fn what_can_not_be_a_volume_is_said() {
    let too_long = "x".repeat(65);
    let deep = "1/2/3/4/5/6/7/8/file";
    for label in ["", "with space", "ümlaut", "seventeen-letters"] {
        assert_eq!(iso(label, &[]), Err(VolumeError::Label(label.to_owned())));
    }
    for path in ["", "/", "a//b", "a/", "../a", "a/./b", "a:b", "a;1", "ä", "a\nb", &too_long] {
        assert_eq!(iso("x", &[file(path, "")]), Err(VolumeError::Name { path: path.to_owned() }), "{path}");
    }
    assert_eq!(iso("x", &[file(deep, "")]), Err(VolumeError::TooDeep { path: deep.to_owned() }));
    assert!(iso("x", &[file(&deep[2..], "")]).is_ok());
    for second in ["a", "/a", "a/b"] {
        let files = [file("a", ""), file(second, "")];
        assert_eq!(iso("x", &files), Err(VolumeError::Twice { path: second.to_owned() }));
    }
    assert!(iso("x", &[file("a", "1"), file("b/a", "2")]).is_ok());
    let large = Bytes::from(vec![0; MOST_BYTES]);
    for files in [vec![file("a", large.clone())], vec![file("a", large.clone()), file("b", large)]] {
        let error = iso("x", &files).unwrap_err();
        assert!(matches!(error, VolumeError::TooLarge { bytes } if bytes > MOST_BYTES), "{error}");
    }
    let names: Vec<String> = (0..=MOST_FILES).map(|number| number.to_string()).collect();
    let many: Vec<File<'_>> = names.iter().map(|name| file(name, "")).collect();
    assert_eq!(iso("x", &many), Err(VolumeError::TooMany));
    assert!(iso("x", &many[1..]).is_ok());
}

#[test]
fn a_volume_that_can_be_started_leads_firmware_to_its_image() {
    let files = [file("efi.img", vec![9; 3000]), file("boot/grub/grub.cfg", "menuentry x {}\n")];
    let image = bootable_iso("installer", &files, "/efi.img").unwrap();
    assert_eq!(tree(&image, 16, &rock_ridge_name), expected(&files));
    assert_eq!(tree(&image, 18, &joliet_name), expected(&files));
    let boot = sector(&image, 17);
    assert_eq!(&boot[..7], b"\0CD001\x01");
    assert_eq!(&boot[7..30], b"EL TORITO SPECIFICATION");
    let catalog = sector(&image, le32(boot, 71));
    let words = catalog[..32].chunks(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
    assert_eq!(words.fold(0, u16::wrapping_add), 0, "the checksum");
    assert_eq!((catalog[1], catalog[32], &catalog[38..40]), (0xEF, 0x88, &6_u16.to_le_bytes()[..]));
    assert_eq!(&sector(&image, le32(catalog, 40))[..SECTOR], &[9; SECTOR]);
    let absent = bootable_iso("installer", &files, "boot").unwrap_err();
    assert_eq!(absent, VolumeError::NoBootImage { path: "boot".to_owned() });
}

#[test]
fn firmware_is_not_told_a_length_that_is_too_large_to_be_said() {
    for (length, blocks) in [(65_535 * 512, u16::MAX), (65_535 * 512 + 1, 0), (300 << 20, 0)] {
        let plan = plan_bootable("x", &[Entry { path: "efi.img", length }], "efi.img").unwrap();
        let [Part::Zeros(32_768), Part::Bytes(head), Part::File(0), ..] = plan.parts() else {
            panic!("{:?}", plan.parts().len())
        };
        // Behind four descriptors.
        assert_eq!(sector(head, 4)[38..40], blocks.to_le_bytes());
    }
    let whole = [Entry { path: "efi.img", length: 4 << 30 }];
    assert!(matches!(plan_bootable("x", &whole, "efi.img"), Err(VolumeError::LargerThanAny { .. })));
}

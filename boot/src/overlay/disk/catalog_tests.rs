use super::*;

fn catalog(platform: u8, entries: &[(usize, &[u8])]) -> Vec<u8> {
    let mut catalog = vec![0; 2048];
    catalog[0] = 1;
    catalog[1] = platform;
    catalog[30..32].copy_from_slice(&[0x55, 0xAA]);
    for (index, bytes) in entries {
        catalog[index * 32..index * 32 + bytes.len()].copy_from_slice(bytes);
    }
    catalog
}

const BOOT: &[u8] = &[0x88, 0, 0, 0, 0, 0, 4, 0, 0x21, 0, 0, 0];

#[test]
fn entries_belong_to_the_platform_of_their_section() {
    let catalog = catalog(
        0,
        &[(1, BOOT), (2, &[0x91, 0xEF, 1, 0]), (3, &[0x88, 0, 0, 0, 0, 0, 0x40, 0x0B, 0x39, 0x30, 0, 0])],
    );
    let expected = vec![
        Boot { at: 4096 + 32, uefi: false, count: 4, block: 0x21 },
        Boot { at: 4096 + 96, uefi: true, count: 0x0B40, block: 12345 },
    ];
    assert_eq!(parse(&catalog, 4096), Some(expected));
}

#[test]
fn an_image_for_uefi_alone_says_so_in_its_first_entry() {
    let boots = parse(&catalog(0xEF, &[(1, BOOT)]), 0).unwrap();
    assert_eq!(boots, [Boot { at: 32, uefi: true, count: 4, block: 0x21 }]);
}

#[test]
fn what_is_no_catalog_is_not_taken_for_one() {
    assert_eq!(parse(&[], 0), None);
    assert_eq!(parse(&[0; 2048], 0), None);
    assert_eq!(parse(&catalog(0, &[]), 0), Some(Vec::new()));
}

//! Volume descriptors (ECMA-119 8) and the boot catalog (El Torito).

use super::field::{Extent, SECTOR, both16, both32, to_sector_end};
use super::hierarchy::Kind;
use super::name::ucs2;

/// The last of the descriptors.
const END: u8 = 255;
const BOOT: u8 = 0;
const PRIMARY: u8 = 1;
const SUPPLEMENTARY: u8 = 2;
/// The mark of UCS-2 at level 3, by which Joliet is known.
const JOLIET: &[u8] = b"%/E";
const DATE: &[u8; 17] = b"2000010100000000\0";
const NO_DATE: &[u8; 17] = b"0000000000000000\0";
/// UEFI, as El Torito numbers platforms.
const EFI: u8 = 0xEF;

/// What a descriptor says of its tree.
#[derive(Debug)]
pub(super) struct Volume<'a> {
    pub(super) label: &'a str,
    pub(super) sectors: u32,
    pub(super) root_record: Vec<u8>,
    pub(super) little_table: Extent,
    pub(super) big_table: Extent,
}

/// The descriptor of one tree.
pub(super) fn of_tree(kind: Kind, volume: &Volume<'_>) -> Vec<u8> {
    let text = |text: &str, width: usize| text_field(kind, text, width);
    let mut sector = match kind {
        Kind::Primary => head(PRIMARY),
        Kind::Joliet => head(SUPPLEMENTARY),
    };
    sector.push(0);
    sector.extend(text("", 32));
    sector.extend(text(volume.label, 32));
    sector.extend([0; 8]);
    sector.extend(both32(volume.sectors));
    let mut escapes = match kind {
        Kind::Primary => Vec::new(),
        Kind::Joliet => JOLIET.to_vec(),
    };
    escapes.resize(32, 0);
    sector.extend(escapes);
    sector.extend([both16(1), both16(1), both16(2048)].concat());
    sector.extend(both32(volume.little_table.bytes));
    // There are no second copies of the tables.
    sector.extend(volume.little_table.sector.to_le_bytes());
    sector.extend([0; 4]);
    sector.extend(volume.big_table.sector.to_be_bytes());
    sector.extend([0; 4]);
    sector.extend(&volume.root_record);
    // Volume set, publisher, preparer, application; then three files that could say more.
    for (said, width) in [("", 128), ("", 128), ("", 128), ("BESKAR7", 128), ("", 37), ("", 37), ("", 37)] {
        sector.extend(text(said, width));
    }
    for date in [DATE, DATE, NO_DATE, NO_DATE] {
        sector.extend(date);
    }
    sector.push(1);
    to_sector_end(&mut sector);
    sector
}

/// Leads firmware to the boot catalog.
pub(super) fn of_boot(catalog: Extent) -> Vec<u8> {
    let mut sector = head(BOOT);
    let mut name = b"EL TORITO SPECIFICATION".to_vec();
    name.resize(64, 0);
    sector.extend(name);
    sector.extend(catalog.sector.to_le_bytes());
    to_sector_end(&mut sector);
    sector
}

/// The last descriptor.
pub(super) fn end() -> Vec<u8> {
    let mut sector = head(END);
    to_sector_end(&mut sector);
    sector
}

/// A catalog with one entry: an image that UEFI firmware starts as a file system.
pub(super) fn catalog(image: Extent) -> Vec<u8> {
    let mut validation = vec![1, EFI];
    validation.resize(28, 0);
    // All words of the entry add up to nothing.
    let checksum = 0_u16.wrapping_sub(u16::from_le_bytes([1, EFI])).wrapping_sub(0xAA55);
    validation.extend(checksum.to_le_bytes());
    validation.extend([0x55, 0xAA]);
    let mut entry = vec![0x88, 0, 0, 0, 0, 0];
    // An image that is larger than can be said goes on to the end: that is what none means to UEFI.
    let blocks = u16::try_from(image.bytes.div_ceil(512)).unwrap_or(0);
    entry.extend(blocks.to_le_bytes());
    entry.extend(image.sector.to_le_bytes());
    let mut catalog = [validation, entry].concat();
    catalog.resize(SECTOR, 0);
    catalog
}

fn head(kind: u8) -> Vec<u8> {
    let mut head = vec![kind];
    head.extend(b"CD001\x01");
    head
}

/// A text filled up with blanks, in the letters of its tree.
fn text_field(kind: Kind, text: &str, width: usize) -> Vec<u8> {
    match kind {
        Kind::Primary => format!("{text:width$}").into_bytes(),
        Kind::Joliet => {
            let letters = width / 2;
            let mut field = ucs2(&format!("{text:letters$}"));
            field.resize(width, 0);
            field
        }
    }
}

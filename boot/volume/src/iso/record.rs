//! Directory records (ECMA-119 9.1) and the Rock Ridge fields in them (RRIP 1991A over SUSP).

use super::field::{Extent, SECTOR, both16, both32};

/// The first of January 2000: it has to be some time, and the same each time.
const DATE: [u8; 7] = [100, 1, 1, 0, 0, 0, 0];
const DIRECTORY_FLAG: u8 = 2;

/// The record of a directory itself, and of the one above.
pub(super) const ITSELF: &[u8] = &[0];
pub(super) const ABOVE: &[u8] = &[1];

/// A record of what begins at an extent.
pub(super) fn record(identifier: &[u8], at: Extent, is_directory: bool, system_use: &[u8]) -> Vec<u8> {
    let mut record = vec![0, 0];
    record.extend(both32(at.sector));
    record.extend(both32(at.bytes));
    record.extend(DATE);
    record.push(if is_directory { DIRECTORY_FLAG } else { 0 });
    // Neither interleaved nor on another volume of a set.
    record.extend([0, 0]);
    record.extend(both16(1));
    record.push(byte(identifier.len()));
    record.extend(identifier);
    if identifier.len().is_multiple_of(2) {
        record.push(0);
    }
    record.extend(system_use);
    if !record.len().is_multiple_of(2) {
        record.push(0);
    }
    let length = byte(record.len());
    if let Some(first) = record.first_mut() {
        *first = length;
    }
    record
}

/// Puts records one after the other; none goes over the end of a sector.
pub(super) fn pack(records: impl IntoIterator<Item = Vec<u8>>) -> Vec<u8> {
    let mut packed = Vec::new();
    for record in records {
        if packed.len() % SECTOR + record.len() > SECTOR {
            super::field::to_sector_end(&mut packed);
        }
        packed.extend(record);
    }
    super::field::to_sector_end(&mut packed);
    packed
}

/// Names are checked to be short, so that this is never cut: the longest record has 171 bytes.
fn byte(length: usize) -> u8 {
    u8::try_from(length).unwrap_or(u8::MAX)
}

/// Tells readers that Rock Ridge fields are in use: in the first record of the root.
pub(super) fn rock_ridge_begins() -> Vec<u8> {
    let mut fields = b"SP\x07\x01\xbe\xef\x00".to_vec();
    let (id, text, source) = (b"RRIP_1991A", b"POSIX names and modes", b"Rock Ridge Interchange Protocol");
    let length = 8 + id.len() + text.len() + source.len();
    fields.extend(b"ER");
    fields.extend([byte(length), 1, byte(id.len()), byte(text.len()), byte(source.len()), 1]);
    fields.extend(id);
    fields.extend(text);
    fields.extend(source);
    fields
}

/// Who may do what. Configuration holds secrets, and whoever reads it at boot is root: nobody else may, wherever it is
/// mounted.
pub(super) fn posix(is_directory: bool, links: u32) -> Vec<u8> {
    let mode: u32 = if is_directory { 0o040_555 } else { 0o100_400 };
    let mut field = b"PX\x24\x01".to_vec();
    for value in [mode, links, 0, 0] {
        field.extend(both32(value));
    }
    field
}

/// The exact name.
pub(super) fn posix_name(name: &str) -> Vec<u8> {
    let mut field = b"NM".to_vec();
    field.extend([byte(5 + name.len()), 1, 0]);
    field.extend(name.as_bytes());
    field
}

//! Numbers as ISO 9660 writes them, and the pieces of sectors.

/// A logical sector.
pub(super) const SECTOR: usize = 2048;

/// How many sectors hold so many bytes.
pub(super) const fn sectors(bytes: usize) -> usize {
    bytes.div_ceil(SECTOR)
}

/// Something in consecutive sectors. A volume has less than 4 GiB, so 32 bits hold both.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) sector: u32,
    pub(super) bytes: u32,
}

/// 16 bits in both byte orders.
pub(super) fn both16(value: u16) -> [u8; 4] {
    let ([a, b], [c, d]) = (value.to_le_bytes(), value.to_be_bytes());
    [a, b, c, d]
}

/// 32 bits in both byte orders.
pub(super) fn both32(value: u32) -> [u8; 8] {
    let ([a, b, c, d], [e, f, g, h]) = (value.to_le_bytes(), value.to_be_bytes());
    [a, b, c, d, e, f, g, h]
}

/// Fills up the last sector.
pub(super) fn to_sector_end(bytes: &mut Vec<u8>) {
    bytes.resize(sectors(bytes.len()) * SECTOR, 0);
}

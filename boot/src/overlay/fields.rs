//! Numbers in bytes, at a place that may not be there.

/// Some of the bytes.
pub fn at(bytes: &[u8], start: usize, length: usize) -> Option<&[u8]> {
    bytes.get(start..start.checked_add(length)?)
}

/// One byte.
pub fn u8_at(bytes: &[u8], start: usize) -> Option<u8> {
    bytes.get(start).copied()
}

/// Two bytes, the small end first.
pub fn u16_le(bytes: &[u8], start: usize) -> Option<u16> {
    Some(u16::from_le_bytes(at(bytes, start, 2)?.try_into().ok()?))
}

/// Four bytes, the small end first.
pub fn u32_le(bytes: &[u8], start: usize) -> Option<u32> {
    Some(u32::from_le_bytes(at(bytes, start, 4)?.try_into().ok()?))
}

/// Eight bytes, the small end first.
pub fn u64_le(bytes: &[u8], start: usize) -> Option<u64> {
    Some(u64::from_le_bytes(at(bytes, start, 8)?.try_into().ok()?))
}

/// Writes over some of the bytes; what does not fit is not written.
pub fn put(bytes: &mut [u8], start: usize, what: &[u8]) {
    let end = start.saturating_add(what.len());
    if let Some(place) = bytes.get_mut(start..end) {
        place.copy_from_slice(what);
    }
}

/// A number as ISO 9660 writes it: the small end first, then the big end first.
pub fn both_orders(number: u32) -> Vec<u8> {
    [number.to_le_bytes(), number.to_be_bytes()].concat()
}

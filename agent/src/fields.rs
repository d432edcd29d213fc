//! Numbers in bytes, at a place that may not be there.

/// Some of the bytes.
#[must_use]
pub fn at(bytes: &[u8], start: usize, length: usize) -> Option<&[u8]> {
    bytes.get(start..start.checked_add(length)?)
}

/// So many bytes, of a known number.
#[must_use]
pub fn array<const N: usize>(bytes: &[u8], start: usize) -> Option<[u8; N]> {
    at(bytes, start, N)?.try_into().ok()
}

/// Two bytes, the small end first.
#[must_use]
pub fn u16_le(bytes: &[u8], start: usize) -> Option<u16> {
    array(bytes, start).map(u16::from_le_bytes)
}

/// Four bytes, the small end first.
#[must_use]
pub fn u32_le(bytes: &[u8], start: usize) -> Option<u32> {
    array(bytes, start).map(u32::from_le_bytes)
}

/// Eight bytes, the small end first.
#[must_use]
pub fn u64_le(bytes: &[u8], start: usize) -> Option<u64> {
    array(bytes, start).map(u64::from_le_bytes)
}

/// Four bytes, the big end first.
#[must_use]
pub fn u32_be(bytes: &[u8], start: usize) -> Option<u32> {
    array(bytes, start).map(u32::from_be_bytes)
}

/// Eight bytes, the big end first.
#[must_use]
pub fn u64_be(bytes: &[u8], start: usize) -> Option<u64> {
    array(bytes, start).map(u64::from_be_bytes)
}

/// Writes over some of the bytes; what does not fit is not written.
pub fn put(bytes: &mut [u8], start: usize, what: &[u8]) {
    let end = start.saturating_add(what.len());
    if let Some(place) = bytes.get_mut(start..end) {
        place.copy_from_slice(what);
    }
}

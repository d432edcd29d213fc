//! GUIDs as they are on a disk: three parts with the small end first, then eight bytes.

use std::fmt;

/// A GUID.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Guid(pub [u8; 16]);

/// The type of the partition that firmware starts from: C12A7328-F81F-11D2-BA4B-00A0C93EC93B.
pub const ESP: Guid = Guid::new(0xC12A_7328, 0xF81F, 0x11D2, 0xBA4B_00A0_C93E_C93B);
/// The type of a partition with a Linux file system: 0FC63DAF-8483-4772-8E79-3D69D8477DE4.
pub const LINUX: Guid = Guid::new(0x0FC6_3DAF, 0x8483, 0x4772, 0x8E79_3D69_D847_7DE4);

impl Guid {
    /// By its parts, as they are written.
    #[must_use]
    pub const fn new(first: u32, second: u16, third: u16, rest: u64) -> Self {
        let [a, b, c, d] = first.to_le_bytes();
        let [e, f] = second.to_le_bytes();
        let [g, h] = third.to_le_bytes();
        let [i, j, k, l, m, n, o, p] = rest.to_be_bytes();
        Self([a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p])
    }

    /// One that nobody else has: version 4, from random bytes.
    #[must_use]
    pub const fn from_random(random: [u8; 16]) -> Self {
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = random;
        Self([a, b, c, d, e, f, g, h & 0x0F | 0x40, i & 0x3F | 0x80, j, k, l, m, n, o, p])
    }

    /// Whether it says that there is nothing.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.0 == [0; 16]
    }
}

impl fmt::Display for Guid {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, index) in
            [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15].into_iter().enumerate()
        {
            if matches!(position, 4 | 6 | 8 | 10) {
                to.write_str("-")?;
            }
            write!(to, "{:02X}", self.0.get(index).copied().unwrap_or_default())?;
        }
        Ok(())
    }
}

impl fmt::Debug for Guid {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guid_is_written_as_people_write_it() {
        assert_eq!(ESP.to_string(), "C12A7328-F81F-11D2-BA4B-00A0C93EC93B");
        assert_eq!(LINUX.to_string(), "0FC63DAF-8483-4772-8E79-3D69D8477DE4");
        assert_eq!(Guid::from_random([0xFF; 16]).to_string(), "FFFFFFFF-FFFF-4FFF-BFFF-FFFFFFFFFFFF");
        assert!(Guid([0; 16]).is_zero() && !ESP.is_zero());
    }
}

//! The UUID of a machine. SMBIOS 2.6 fixed the byte order of its first three fields; some BMCs, and some operating
//! systems, still write them the other way round, so one machine may have two spellings.
//!
//! A crate of its own, without dependencies: the BMC's client, the core and the agent compare by the same rules.
#![cfg_attr(test, allow(clippy::unwrap_used, reason = "tests may panic"))]

use std::fmt;

/// What makers leave in boards that they gave no UUID of their own; whole series share them. Systems that need to tell
/// machines apart keep such lists, FreeBSD's `hostid` the longest.
const FILLERS: [&str; 10] = [
    // American Megatrends' default, in many boards.
    "03000200-0400-0500-0006-000700080009",
    "07090201-0103-0301-0807-060504030201",
    "11111111-2222-3333-4444-555555555555",
    "12345678-1234-5678-90ab-cddeefaabbcc",
    "00010203-0405-0607-0809-0a0b0c0d0e0f",
    "890e2d14-cacd-45d1-ae66-bc80e8bfeb0f",
    "8e275844-178f-44a8-aceb-a7d7e5178c63",
    "dc698397-fa54-4cf2-82c8-b1b5307a6a7f",
    "deadbeef-dead-beef-dead-beefdeadbeef",
    // Dell, without a service tag.
    "4c4c4544-0000-2010-8020-80c04f202020",
];

/// A machine's UUID, as one of its tellers spells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct MachineUuid([u8; 16]);

impl MachineUuid {
    /// Reads a UUID, with or without hyphens, in either case. All zeros and all ones mean that there is none.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let digits: Vec<u8> = text
            .trim()
            .chars()
            .filter(|c| *c != '-')
            .map(|c| c.to_digit(16).and_then(|digit| u8::try_from(digit).ok()))
            .collect::<Option<_>>()?;
        let mut bytes = [0; 16];
        if digits.len() != 32 {
            return None;
        }
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = pair.iter().fold(0, |byte, digit| byte << 4 | digit);
        }
        let unset = bytes.iter().all(|byte| *byte == 0) || bytes.iter().all(|byte| *byte == 0xff);
        (!unset).then_some(Self(bytes))
    }

    /// Reads one that tells a machine from others: no filler.
    #[must_use]
    pub fn real(text: &str) -> Option<Self> {
        Self::parse(text).filter(|uuid| !uuid.is_filler())
    }

    /// The other spelling.
    #[must_use]
    pub fn swapped(self) -> Self {
        let [a, b, c, d, e, f, g, h, rest @ ..] = self.0;
        let [i, j, k, l, m, n, o, p] = rest;
        Self([d, c, b, a, f, e, h, g, i, j, k, l, m, n, o, p])
    }

    /// The one of both spellings that stands for the machine, whoever tells it.
    #[must_use]
    pub fn canonical(self) -> Self {
        self.min(self.swapped())
    }

    /// Whether it is a maker's filler, which says nothing of one machine: all bytes alike, nothing but ones behind the
    /// first group, or one that is known to be in many machines. In either byte order.
    #[must_use]
    pub fn is_filler(self) -> bool {
        let [first, .., last] = self.0;
        let alike = self.0.iter().all(|byte| *byte == first);
        let ones = last == 0xff && self.0.iter().skip(4).all(|byte| *byte == 0xff);
        let known = || FILLERS.into_iter().filter_map(Self::parse).any(|filler| self.is_same_machine(filler));
        alike || ones || known()
    }

    /// Whether both mean the same machine.
    #[must_use]
    pub fn is_same_machine(self, other: Self) -> bool {
        self == other || self == other.swapped()
    }
}

impl fmt::Display for MachineUuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, byte) in self.0.iter().enumerate() {
            if matches!(position, 4 | 6 | 8 | 10) {
                f.write_str("-")?;
            }
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_byte_orders_are_the_same_machine() {
        let one = MachineUuid::parse("4C4C4544-0035-3410-8050-C6C04F314733").unwrap();
        let other =
            MachineUuid::parse("44454c4c35001034 8050c6c04f314733".replace(' ', "").as_str()).unwrap();
        assert_eq!(one.to_string(), "4c4c4544-0035-3410-8050-c6c04f314733");
        assert_eq!(one.swapped(), other);
        assert!(one.is_same_machine(other) && other.is_same_machine(one) && one.is_same_machine(one));
        let third = MachineUuid::parse("4c4c4544-0035-3410-8050-c6c04f314734").unwrap();
        assert!(!one.is_same_machine(third));
    }

    #[test]
    fn both_spellings_have_one_that_stands_for_them() {
        let one = MachineUuid::parse("4C4C4544-0035-3410-8050-C6C04F314733").unwrap();
        assert_eq!(one.canonical(), one.swapped().canonical());
        let third = MachineUuid::parse("4c4c4544-0035-3410-8050-c6c04f314734").unwrap();
        assert_ne!(one.canonical(), third.canonical());
    }

    #[test]
    fn what_makers_leave_in_many_machines_is_a_filler_in_either_byte_order() {
        for (text, filler) in [
            ("03000200-0400-0500-0006-000700080009", true),
            ("00020003-0004-0005-0006-000700080009", true),
            ("4C4C4544-0000-2010-8020-80C04F202020", true),
            ("44454C4C-0000-1020-8020-80C04F202020", true),
            ("FEFEFEFE-FEFE-FEFE-FEFE-FEFEFEFEFEFE", true),
            ("58585858-5858-5858-5858-585858585858", true),
            ("1a2b3c4d-ffff-ffff-ffff-ffffffffffff", true),
            ("00010203-0405-0607-0809-0A0B0C0D0E0F", true),
            ("03020100-0504-0706-0809-0a0b0c0d0e0f", true),
            ("12345678-1234-5678-90AB-CDDEEFAABBCC", true),
            ("4C4C4544-0035-3410-8050-C6C04F314733", false),
            ("38947555-7742-3448-3784-823347823834", false),
            ("1a2b3c4d-ffff-ffff-ffff-fffffffffffe", false),
        ] {
            assert_eq!(MachineUuid::parse(text).unwrap().is_filler(), filler, "{text}");
        }
        assert!(FILLERS.into_iter().all(|text| MachineUuid::parse(text).is_some()), "one of them is no UUID");
    }

    #[test]
    fn what_is_no_uuid_is_none() {
        for text in [
            "",
            "x",
            "00000000-0000-0000-0000-000000000000",
            "ffffffff-ffff-ffff-ffff-ffffffffffff",
            "4c4c4544",
        ] {
            assert_eq!(MachineUuid::parse(text), None, "{text}");
        }
    }
}

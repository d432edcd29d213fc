//! The UUID of a machine. SMBIOS 2.6 fixed the byte order of its first three fields; some BMCs, and some operating
//! systems, still write them the other way round, so one machine may have two spellings.

use std::fmt;

/// A machine's UUID, as one of its tellers spells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

    /// The other spelling.
    #[must_use]
    pub fn swapped(self) -> Self {
        let [a, b, c, d, e, f, g, h, rest @ ..] = self.0;
        let [i, j, k, l, m, n, o, p] = rest;
        Self([d, c, b, a, f, e, h, g, i, j, k, l, m, n, o, p])
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

//! Firmware's table of what is in a machine (SMBIOS): one structure after the other, each with its texts behind it.
//!
//! Firmware writes wrong tables too. What is cut off ends the table, and a field that a structure is too short for is none.

use std::{fs, path::Path};

/// The whole table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Table(Vec<u8>);

/// One of its structures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Structure<'a> {
    /// What it describes.
    pub kind: u8,
    fields: &'a [u8],
    texts: &'a [u8],
}

impl Table {
    /// The kernel's copy of it; an empty one where there is none.
    pub fn read(root: &Path) -> Self {
        Self(fs::read(root.join("sys/firmware/dmi/tables/DMI")).unwrap_or_default())
    }

    /// A table with these bytes.
    #[cfg(test)]
    pub fn new(bytes: &[u8]) -> Self {
        Self(bytes.to_vec())
    }

    /// Its structures, up to the one that says that it is the last.
    pub fn structures(&self) -> impl Iterator<Item = Structure<'_>> {
        let mut rest = self.0.as_slice();
        std::iter::from_fn(move || {
            let (structure, behind) = split(rest)?;
            rest = behind;
            Some(structure)
        })
        .take_while(|structure| structure.kind != 127)
    }
}

/// The first structure, and what is behind it. Its texts end with an empty one.
fn split(bytes: &[u8]) -> Option<(Structure<'_>, &[u8])> {
    let [kind, length, ..] = *bytes else { return None };
    if length < 4 {
        return None;
    }
    let (fields, behind) = bytes.split_at_checked(usize::from(length))?;
    let texts = behind.windows(2).position(|pair| pair == [0, 0])?;
    let (texts, rest) = behind.split_at_checked(texts + 2)?;
    Some((Structure { kind, fields, texts }, rest))
}

impl Structure<'_> {
    fn bytes<const N: usize>(&self, at: usize) -> Option<[u8; N]> {
        self.fields.get(at..)?.first_chunk().copied()
    }

    /// A field of one byte.
    pub fn byte(&self, at: usize) -> Option<u8> {
        self.bytes(at).map(|[byte]| byte)
    }

    /// A field of two.
    pub fn word(&self, at: usize) -> Option<u16> {
        self.bytes(at).map(u16::from_le_bytes)
    }

    /// A field of four.
    pub fn double_word(&self, at: usize) -> Option<u32> {
        self.bytes(at).map(u32::from_le_bytes)
    }

    /// The text that a field has the number of, beginning with one.
    pub fn text(&self, at: usize) -> Option<String> {
        let number = usize::from(self.byte(at)?).checked_sub(1)?;
        let text = self.texts.split(|byte| *byte == 0).nth(number)?;
        crate::sysfs::clean(&String::from_utf8_lossy(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &[u8] = b"\x01\x06\0\0\x02\x01first\0second\0\0\x11\x08\x01\0\x34\x12\x78\x56\0\0\x7f\x04\xff\xff\0\0\x01\x04\0\0\0\0";

    #[test]
    fn structures_are_read_up_to_the_last() {
        let table = Table::new(TWO);
        let structures: Vec<_> = table.structures().collect();
        assert_eq!(structures.iter().map(|structure| structure.kind).collect::<Vec<_>>(), [1, 17]);
        assert_eq!(structures[0].text(4).as_deref(), Some("second"));
        assert_eq!(structures[0].text(5).as_deref(), Some("first"));
        assert_eq!(structures[1].word(4), Some(0x1234));
        assert_eq!(structures[1].double_word(4), Some(0x5678_1234));
        assert_eq!((structures[1].byte(8), structures[1].word(7), structures[1].text(4)), (None, None, None));
    }

    #[test]
    fn what_is_cut_off_or_wrong_ends_the_table() {
        for length in 0..TWO.len() {
            let expected = match length {
                0..20 => 0,
                20..30 => 1,
                _ => 2,
            };
            assert_eq!(Table::new(&TWO[..length]).structures().count(), expected, "{length}");
        }
        for bytes in [b"\x01\x00\0\0\0\0".as_slice(), b"\x01\x03\0\0\0\0", b"\x01\xff\0\0\0\0"] {
            assert_eq!(Table::new(bytes).structures().count(), 0, "{bytes:?}");
        }
    }
}

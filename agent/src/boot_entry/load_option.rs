//! An entry as firmware stores it: EFI_LOAD_OPTION, with the way to a file on a partition.

use crate::{
    fields::{at, u16_le},
    partitions::Partition,
};

const ACTIVE: u32 = 1;
/// Kinds of nodes of a device path, with their subkinds.
const HARD_DRIVE: [u8; 2] = [4, 1];
const FILE: [u8; 2] = [4, 4];
const END: [u8; 2] = [0x7F, 0xFF];
/// In a hard drive's node: the partition is in a GPT, and named by its GUID.
const BY_GUID: [u8; 2] = [2, 2];

/// An entry.
pub struct LoadOption<'a> {
    /// What people see.
    pub description: &'a str,
    /// Where the file is.
    pub partition: Partition,
    /// The file, with backslashes.
    pub path: &'a str,
}

impl LoadOption<'_> {
    /// As firmware stores it.
    pub fn encode(&self) -> Vec<u8> {
        let Partition { number, guid, first, last, .. } = self.partition;
        let sectors = (last + 1).saturating_sub(first);
        let drive =
            [&number.to_le_bytes()[..], &first.to_le_bytes(), &sectors.to_le_bytes(), &guid.0, &BY_GUID];
        let nodes =
            [node(HARD_DRIVE, &drive.concat()), node(FILE, &letters(self.path)), node(END, &[])].concat();
        let length = u16::try_from(nodes.len()).unwrap_or(u16::MAX);
        [&ACTIVE.to_le_bytes()[..], &length.to_le_bytes(), &letters(self.description), &nodes].concat()
    }
}

/// What people see of an entry; nothing where it is none.
pub fn description(option: &[u8]) -> Option<String> {
    let letters = (6..).step_by(2).map_while(|start| u16_le(option, start));
    let letters: Vec<u16> = letters.take_while(|letter| *letter != 0).collect();
    at(option, 6 + letters.len() * 2, 2)?;
    String::from_utf16(&letters).ok()
}

fn node(kind: [u8; 2], content: &[u8]) -> Vec<u8> {
    let length = u16::try_from(content.len() + 4).unwrap_or(u16::MAX);
    [&kind[..], &length.to_le_bytes(), content].concat()
}

fn letters(text: &str) -> Vec<u8> {
    text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partitions::{ESP, Guid};

    #[test]
    fn an_entry_is_what_firmware_reads() {
        let partition = Partition {
            number: 15,
            kind: ESP,
            guid: Guid::new(0x1122_3344, 0x5566, 0x7788, 0x99AA_BBCC_DDEE_FF00),
            first: 0x2800,
            last: 0x37FFF,
        };
        let option = LoadOption { description: "b7", partition, path: r"\E" }.encode();
        #[rustfmt::skip]
        let expected = [
            1, 0, 0, 0, // active
            42 + 10 + 4, 0, // the length of the path
            b'b', 0, b'7', 0, 0, 0,
            4, 1, 42, 0, // a partition
            15, 0, 0, 0,
            0, 0x28, 0, 0, 0, 0, 0, 0,
            0, 0x58, 3, 0, 0, 0, 0, 0,
            0x44, 0x33, 0x22, 0x11, 0x66, 0x55, 0x88, 0x77, 0x99, 0xAA, 0xBB, 0xCC, 0xDD, 0xEE, 0xFF, 0,
            2, 2,
            4, 4, 10, 0, // a file
            b'\\', 0, b'E', 0, 0, 0,
            0x7F, 0xFF, 4, 0, // the end
        ];
        assert_eq!(option, expected);
        assert_eq!(description(&option).as_deref(), Some("b7"));
        for (bytes, expected) in
            [(&option[..11], None), (&option[..12], Some("b7")), (&[][..], None), (&option[..6], None)]
        {
            assert_eq!(description(bytes).as_deref(), expected, "{bytes:?}");
        }
    }
}

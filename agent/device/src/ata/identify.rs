//! What a disk says of its security, in IDENTIFY DEVICE.

use std::time::Duration;

/// What a disk's security is like.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Security {
    /// It has the commands at all.
    pub supported: bool,
    /// It has a password.
    pub enabled: bool,
    /// It has a password, and was not told it since it was turned on.
    pub locked: bool,
    /// It takes none of the commands until it is turned off. Firmware does this at each start.
    pub frozen: bool,
    /// It was told wrong passwords, and listens to no other until it is turned off.
    pub worn_out: bool,
    /// It can erase by its own patterns, and what was remapped as well.
    pub enhanced: bool,
    /// How long erasing takes, where it says so.
    pub erase_time: Option<Duration>,
    /// How long the enhanced one takes, where it says so.
    pub enhanced_time: Option<Duration>,
}

impl Security {
    /// From the block that IDENTIFY DEVICE answers with.
    pub fn read(block: &[u8]) -> Self {
        let word = |number: usize| word(block, number);
        let has = |bit: u16| word(128) & (1 << bit) != 0;
        Self {
            supported: has(0),
            enabled: has(1),
            locked: has(2),
            frozen: has(3),
            worn_out: has(4),
            enhanced: has(5),
            erase_time: duration(word(89)),
            enhanced_time: duration(word(90)),
        }
    }
}

/// Pairs of minutes, in eight bits, or in fifteen where the highest is set. The largest number says "more than that".
fn duration(word: u16) -> Option<Duration> {
    let (pairs, largest) = if word & 0x8000 == 0 { (word & 0xff, 0xff) } else { (word & 0x7fff, 0x7fff) };
    (pairs != 0 && pairs != largest).then(|| Duration::from_secs(u64::from(pairs) * 120))
}

fn word(block: &[u8], number: usize) -> u16 {
    let bytes = block.get(number * 2..).and_then(|rest| rest.first_chunk());
    bytes.copied().map_or(0, u16::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(words: &[(usize, u16)]) -> Vec<u8> {
        let mut block = vec![0; 512];
        for (number, word) in words {
            block[number * 2..number * 2 + 2].copy_from_slice(&word.to_le_bytes());
        }
        block
    }

    #[test]
    fn security_is_read_from_where_the_standard_has_it() {
        let none = Security::default();
        let supported = Security { supported: true, ..none };
        for (words, expected) in [
            (vec![], none),
            (vec![(128, 0x0001)], supported),
            (vec![(128, 0x0021)], Security { enhanced: true, ..supported }),
            (vec![(128, 0x0009)], Security { frozen: true, ..supported }),
            (vec![(128, 0x0007)], Security { enabled: true, locked: true, ..supported }),
            (vec![(128, 0x0017)], Security { enabled: true, locked: true, worn_out: true, ..supported }),
        ] {
            assert_eq!(Security::read(&block(&words)), expected, "{words:?}");
        }
        assert_eq!(Security::read(&[]), none);
    }

    #[test]
    fn times_come_in_pairs_of_minutes() {
        for (word, minutes) in
            [(0, None), (1, Some(2)), (0x60, Some(192)), (0xff, None), (0x8100, Some(512)), (0xffff, None)]
        {
            let security = Security::read(&block(&[(89, word), (90, word)]));
            let expected = minutes.map(|minutes| Duration::from_secs(minutes * 60));
            assert_eq!((security.erase_time, security.enhanced_time), (expected, expected), "{word:#x}");
        }
    }
}

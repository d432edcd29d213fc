//! Directory entries: 32 bytes each, with long names in those before.

/// Bytes of an entry.
pub const SLOT: usize = 32;
/// The attribute of a directory.
pub const DIRECTORY: u8 = 0x10;
/// The attribute of a file: it was never backed up.
pub const FILE: u8 = 0x20;

/// The first of January 1980: there is no time here.
const DATE: u16 = 0x0021;
/// Letters in a part of a long name.
const LETTERS: usize = 13;

/// The short name that is the name itself, `BOOTX64 EFI`; nothing where it has none.
#[must_use]
pub fn exact_name(name: &str) -> Option<[u8; 11]> {
    let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
    let fits = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || "-_".contains(c);
    let is_exact = (1..=8).contains(&stem.len())
        && extension.len() <= 3
        && stem.chars().chain(extension.chars()).all(fits)
        && name.contains('.') != extension.is_empty();
    is_exact.then(|| padded(stem, extension))
}

/// A short name for one that has none: `BESKAR~1CON` for `beskar7.conf`.
#[must_use]
pub fn numbered_name(name: &str, number: u8) -> [u8; 11] {
    let upper = name.to_uppercase();
    let (stem, extension) = upper.rsplit_once('.').unwrap_or((&upper, ""));
    let part = |text: &str, longest: usize| -> String {
        let fits = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
        text.chars().take(longest).map(fits).collect()
    };
    let number = number.to_string();
    let stem = part(stem, 7 - number.len().min(3));
    padded(&format!("{stem}~{number}"), &part(extension, 3))
}

fn padded(stem: &str, extension: &str) -> [u8; 11] {
    let mut short = [b' '; 11];
    put(&mut short, 0, stem.as_bytes());
    put(&mut short, 8, extension.as_bytes());
    short
}

/// The entries that hold a long name, the last part first.
#[must_use]
pub fn long_name(name: &str, short: &[u8; 11]) -> Vec<Vec<u8>> {
    let checksum = short.iter().fold(0_u8, |sum, byte| sum.rotate_right(1).wrapping_add(*byte));
    let letters: Vec<u16> = name.encode_utf16().collect();
    let parts = letters.chunks(LETTERS).enumerate().map(|(index, part)| {
        let is_last = (index + 1) * LETTERS >= letters.len();
        let mut slot = vec![0xFF; SLOT];
        let number = u8::try_from(index + 1).unwrap_or(1);
        put(&mut slot, 0, &[if is_last { number | 0x40 } else { number }]);
        put(&mut slot, 11, &[0x0F, 0, checksum]);
        put(&mut slot, 26, &[0, 0]);
        let places = (0..5).map(|at| 1 + at * 2).chain((0..6).map(|at| 14 + at * 2)).chain([28, 30]);
        // A name that does not fill its part ends with a zero.
        for (place, letter) in places.zip(part.iter().copied().chain([0])) {
            put(&mut slot, place, &letter.to_le_bytes());
        }
        slot
    });
    let mut slots: Vec<Vec<u8>> = parts.collect();
    slots.reverse();
    slots
}

/// The entry itself.
#[must_use]
pub fn slot(short: &[u8; 11], attributes: u8, cluster: u32, length: u32) -> Vec<u8> {
    let mut slot = vec![0; SLOT];
    let [low, lower, high, higher] = cluster.to_le_bytes();
    put(&mut slot, 0, short);
    put(&mut slot, 11, &[attributes]);
    for date in [16, 18, 24] {
        put(&mut slot, date, &DATE.to_le_bytes());
    }
    put(&mut slot, 20, &[high, higher]);
    put(&mut slot, 26, &[low, lower]);
    put(&mut slot, 28, &length.to_le_bytes());
    slot
}

/// Writes over some of the bytes; what does not fit is not written.
pub(super) fn put(bytes: &mut [u8], start: usize, what: &[u8]) {
    if let Some(place) = bytes.get_mut(start..start.saturating_add(what.len())) {
        place.copy_from_slice(what);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_name_is_the_name_itself_or_a_numbered_one() {
        for (name, exact) in [
            ("BOOTX64.EFI", Some(b"BOOTX64 EFI")),
            ("EFI", Some(b"EFI        ")),
            ("kernel", None),
            ("NINECHARS", None),
            ("A.LONG", None),
            ("A.B.C", None),
            (".A", None),
            ("A.", None),
        ] {
            assert_eq!(exact_name(name), exact.copied(), "{name}");
        }
        for (name, number, short) in [
            ("initramfs", 1, b"INITRA~1   "),
            ("agent.conf", 2, b"AGENT~2 CON"),
            ("a", 1, b"A~1        "),
            ("a b+c.x", 13, b"A_B_C~13X  "),
        ] {
            assert_eq!(numbered_name(name, number), *short, "{name}");
        }
    }

    #[test]
    fn a_long_name_is_spread_over_entries_from_its_end() {
        let slots = long_name("fourteenletter", b"FOURTE~1   ");
        assert_eq!(slots.len(), 2);
        assert_eq!((slots[0][0], slots[1][0]), (0x42, 1));
        assert_eq!(&slots[0][1..5], b"r\0\0\0");
        assert_eq!(&slots[1][1..5], b"f\0o\0");
        assert_eq!(slots[0][13], slots[1][13]);
    }
}

//! What NVMe disks answer.

/// By which commands a disk can erase itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Abilities {
    /// Format NVM, which always can erase all cells.
    pub format: bool,
    /// Format NVM with a new key.
    pub crypto_format: bool,
    /// Sanitize that erases all cells.
    pub block_sanitize: bool,
    /// Sanitize with a new key.
    pub crypto_sanitize: bool,
}

/// How a namespace is formatted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Namespace {
    /// Which of its formats it has, and where metadata is (FLBAS).
    pub flbas: u8,
    /// How blocks are protected (DPS).
    pub protection: u8,
}

/// How far sanitizing is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SanitizeState {
    /// It was never begun.
    Never,
    /// It goes on: so many of 65536 parts are done.
    Running(u16),
    /// Everything is erased.
    Done,
    /// It could not be finished.
    Failed,
    /// Something that no specification knows yet.
    Unknown(u8),
}

impl Abilities {
    /// From the page of Identify Controller.
    pub fn read(page: &[u8]) -> Self {
        let [optional, _] = bytes(page, 256);
        let [sanitize] = bytes(page, 328);
        let [format] = bytes(page, 524);
        let can_format = optional & 0x02 != 0;
        Self {
            format: can_format,
            crypto_format: can_format && format & 0x04 != 0,
            crypto_sanitize: sanitize & 0x01 != 0,
            block_sanitize: sanitize & 0x02 != 0,
        }
    }
}

impl Namespace {
    /// From the page of Identify Namespace.
    pub fn read(page: &[u8]) -> Self {
        let [flbas] = bytes(page, 26);
        let [protection] = bytes(page, 29);
        Self { flbas, protection }
    }

    /// What Format NVM is to keep: the format's number in two pieces, where metadata is, the kind of protection and its
    /// place.
    pub fn format_bits(self) -> u32 {
        let flbas = u32::from(self.flbas);
        let protection = u32::from(self.protection);
        let upper = (flbas >> 5) & 0x3;
        (flbas & 0x1f) | ((protection & 0x07) << 5) | ((protection & 0x08) << 5) | (upper << 12)
    }
}

impl SanitizeState {
    /// From the log page.
    pub fn read(log: &[u8]) -> Self {
        let part = u16::from_le_bytes(bytes(log, 0));
        let [status, _] = bytes(log, 2);
        match status & 0x07 {
            0 => Self::Never,
            1 | 4 => Self::Done,
            2 => Self::Running(part),
            3 => Self::Failed,
            other => Self::Unknown(other),
        }
    }
}

/// Why a command was not carried out, from the status that the kernel returns. None where it was.
pub fn refusal(status: i32) -> Option<String> {
    // Above are hints whether to try again.
    let code = status & 0x7ff;
    let reason = match code {
        0 => return None,
        0x01 => "it does not know this command",
        0x02 => "it does not take this command with these settings",
        0x0c => "commands came in the wrong order",
        0x15 => "operation denied",
        0x1c => "sanitizing failed before",
        0x1d => "it is sanitizing",
        0x20 => "the namespace is write-protected",
        0x10a => "it does not take this format",
        0x10b => "its firmware must be activated by a reset first",
        _ => "it answers with an error",
    };
    Some(format!("{reason} (NVMe status {code:#05x})"))
}

/// Some bytes of an answer; zeros where it is shorter.
fn bytes<const N: usize>(page: &[u8], at: usize) -> [u8; N] {
    page.get(at..).and_then(|rest| rest.first_chunk()).copied().unwrap_or([0; N])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(places: &[(usize, u8)]) -> Vec<u8> {
        let mut page = vec![0; 4096];
        for (at, byte) in places {
            page[*at] = *byte;
        }
        page
    }

    #[test]
    fn abilities_are_read_from_where_the_specification_has_them() {
        let (yes, no) = (true, false);
        for (places, format, crypto_format, block_sanitize, crypto_sanitize) in [
            (vec![], no, no, no, no),
            (vec![(256, 0x02)], yes, no, no, no),
            (vec![(256, 0x0e), (524, 0x04)], yes, yes, no, no),
            // New keys by a format that there is not.
            (vec![(524, 0x04)], no, no, no, no),
            (vec![(328, 0x01)], no, no, no, yes),
            (vec![(328, 0x02)], no, no, yes, no),
            // Overwriting only, which is what we do as well.
            (vec![(328, 0x04)], no, no, no, no),
        ] {
            let expected = Abilities { format, crypto_format, block_sanitize, crypto_sanitize };
            assert_eq!(Abilities::read(&page(&places)), expected, "{places:?}");
        }
        assert_eq!(Abilities::read(&[]), Abilities::default());
    }

    #[test]
    fn a_format_is_kept() {
        for (flbas, protection, expected) in [
            (0x00, 0, 0),
            (0x04, 0, 0x04),
            (0x12, 0, 0x12),
            (0x01, 0x03, 0x61),
            (0x01, 0x09, 0x121),
            (0x20, 0, 0x1000),
        ] {
            let namespace = Namespace::read(&page(&[(26, flbas), (29, protection)]));
            assert_eq!(namespace.format_bits(), expected, "{flbas:#x} {protection:#x}");
        }
    }

    #[test]
    fn the_log_tells_how_far_sanitizing_is() {
        for (log, expected) in [
            ([0, 0, 0, 0], SanitizeState::Never),
            ([0xff, 0xff, 0x01, 0x01], SanitizeState::Done),
            ([0x00, 0x80, 0x02, 0x00], SanitizeState::Running(0x8000)),
            ([0, 0, 3, 0], SanitizeState::Failed),
            ([0xff, 0xff, 4, 0], SanitizeState::Done),
            ([0, 0, 7, 0], SanitizeState::Unknown(7)),
        ] {
            assert_eq!(SanitizeState::read(&log), expected);
        }
    }

    #[test]
    fn a_status_says_why() {
        assert_eq!(refusal(0), None);
        assert_eq!(
            refusal(0x4002).unwrap(),
            "it does not take this command with these settings (NVMe status 0x002)"
        );
        assert_eq!(refusal(0x1d).unwrap(), "it is sanitizing (NVMe status 0x01d)");
        assert_eq!(refusal(0x2ff).unwrap(), "it answers with an error (NVMe status 0x2ff)");
    }
}

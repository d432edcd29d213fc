//! How an ATA command went, from what SCSI says of it.

/// The status that comes with sense data.
const CHECK_CONDITION: u8 = 0x02;
/// Bits of the disk's status register: an error, or a fault.
const FAILED: u8 = 0x01 | 0x20;

/// What comes back with each command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// SCSI's status.
    pub status: u8,
    /// What the adapter says.
    pub host_status: u16,
    /// Why, where SCSI's status says that there is a reason.
    pub sense: Vec<u8>,
}

/// The disk's registers, as far as they matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Registers {
    error: u8,
    status: u8,
}

impl Outcome {
    /// Why it was not carried out. None where it was.
    pub fn refusal(&self) -> Option<String> {
        /// The kernel gave up waiting.
        const TIMED_OUT: u16 = 0x03;
        match self.host_status {
            0 => self.refused_by_disk(),
            TIMED_OUT => Some("it did not end in time".into()),
            other => Some(format!("the adapter could not hand it over (host status {other:#04x})")),
        }
    }

    fn refused_by_disk(&self) -> Option<String> {
        if self.status != CHECK_CONDITION {
            return (self.status != 0).then(|| format!("SCSI status {:#04x}", self.status));
        }
        match (registers(&self.sense), sense_key(&self.sense)) {
            (Some(registers), _) if registers.status & FAILED == 0 => None,
            (Some(Registers { error, .. }), _) if error & 0x04 != 0 => {
                Some(format!("the command was aborted (ATA error {error:#04x})"))
            }
            (Some(Registers { error, status }), _) => {
                Some(format!("it failed (ATA status {status:#04x}, error {error:#04x})"))
            }
            // Nothing happened that would have to be told.
            (None, 0x00 | 0x01) => None,
            (None, 0x05) => Some("it takes no ATA commands".into()),
            (None, key) => Some(format!("it failed (SCSI sense key {key:#03x})")),
        }
    }
}

/// Sense data has one of two forms, and each its own place for the key.
fn sense_key(sense: &[u8]) -> u8 {
    let at = if is_descriptors(sense) { 1 } else { 2 };
    sense.get(at).map_or(0, |byte| byte & 0x0f)
}

fn is_descriptors(sense: &[u8]) -> bool {
    sense.first().is_some_and(|code| matches!(code & 0x7f, 0x72 | 0x73))
}

/// The disk's registers, where they came back.
fn registers(sense: &[u8]) -> Option<Registers> {
    if !is_descriptors(sense) {
        return fixed_registers(sense);
    }
    let mut rest = sense.get(8..)?;
    while let [code, length, body @ ..] = rest {
        let body_length = usize::from(*length);
        if *code == 0x09 {
            return Some(Registers { error: *body.get(1)?, status: *body.get(11)? });
        }
        rest = body.get(body_length..)?;
    }
    None
}

/// In the other form they stand where other commands have a block's number, if the additional code says that they do:
/// "ATA pass through information available". With an error they do as well, and only then a status is there.
fn fixed_registers(sense: &[u8]) -> Option<Registers> {
    let [error, status] = *sense.get(3..)?.first_chunk()?;
    let announced = (sense.get(12), sense.get(13)) == (Some(&0), Some(&0x1d));
    announced.then_some(Registers { error, status })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn descriptor(key: u8, error: u8, status: u8) -> Vec<u8> {
        let head = [0x72, key, 0x00, 0x1d, 0, 0, 0, 14];
        let ata = [0x09, 0x0c, 0, error, 0, 1, 0, 0, 0, 0, 0, 0, 0, status];
        head.into_iter().chain(ata).collect()
    }

    fn fixed(key: u8, error: u8, status: u8, qualifier: u8) -> Vec<u8> {
        vec![0x70, 0, key, error, status, 0, 0, 10, 0, 0, 0, 0, 0, qualifier, 0, 0, 0, 0]
    }

    #[test]
    fn sense_tells_whether_the_disk_did_it() {
        let other_first: Vec<u8> = [0x72, 0x0b, 0, 0, 0, 0, 0, 18, 0x02, 0x02, 0, 0]
            .into_iter()
            .chain(descriptor(0, 4, 0x51).split_off(8))
            .collect();
        for (name, status, host_status, sense, expected) in [
            ("all is well", 0, 0, vec![], None),
            ("registers without an error", 2, 0, descriptor(1, 0, 0x50), None),
            ("aborted", 2, 0, descriptor(0x0b, 4, 0x51), Some("the command was aborted (ATA error 0x04)")),
            ("another descriptor first", 2, 0, other_first, Some("the command was aborted (ATA error 0x04)")),
            ("a fault", 2, 0, descriptor(4, 0, 0x70), Some("it failed (ATA status 0x70, error 0x00)")),
            ("fixed, well", 2, 0, fixed(1, 0, 0x50, 0x1d), None),
            (
                "fixed, aborted",
                2,
                0,
                fixed(0x0b, 4, 0x51, 0x1d),
                Some("the command was aborted (ATA error 0x04)"),
            ),
            ("fixed, something else", 2, 0, fixed(0x0b, 0, 0, 0), Some("it failed (SCSI sense key 0xb)")),
            ("no ATA behind it", 2, 0, fixed(5, 0, 0, 0x20), Some("it takes no ATA commands")),
            ("cut off", 2, 0, vec![0x72, 0x05], Some("it takes no ATA commands")),
            (
                "a descriptor cut off",
                2,
                0,
                vec![0x72, 0x0b, 0, 0, 0, 0, 0, 14, 9, 12, 0],
                Some("it failed (SCSI sense key 0xb)"),
            ),
            ("busy", 8, 0, vec![], Some("SCSI status 0x08")),
            ("too late", 0, 3, vec![], Some("it did not end in time")),
            ("no disk", 0, 1, vec![], Some("the adapter could not hand it over (host status 0x01)")),
        ] {
            let outcome = Outcome { status, host_status, sense };
            assert_eq!(outcome.refusal().as_deref(), expected, "{name}");
        }
    }
}

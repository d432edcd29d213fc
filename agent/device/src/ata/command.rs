//! ATA commands, wrapped for SCSI.

use std::time::Duration;

/// The password that a disk has while it erases itself. It is documented: a disk that is found locked can be unlocked.
pub const PASSWORD: &str = "beskar7";
/// What each command that carries data carries.
pub const BLOCK: usize = 512;
/// A disk that spins up first answers in this time.
const SOON: Duration = Duration::from_secs(60);

/// Which way data goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transfer {
    Nothing,
    ToDisk,
    FromDisk,
}

/// A command without its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AtaCommand {
    pub name: &'static str,
    pub opcode: u8,
    pub transfer: Transfer,
    pub limit: Duration,
}

impl AtaCommand {
    const fn new(name: &'static str, opcode: u8, transfer: Transfer) -> Self {
        Self { name, opcode, transfer, limit: SOON }
    }

    pub const fn identify() -> Self {
        Self::new("IDENTIFY DEVICE", 0xec, Transfer::FromDisk)
    }

    pub const fn set_password() -> Self {
        Self::new("SECURITY SET PASSWORD", 0xf1, Transfer::ToDisk)
    }

    pub const fn unlock() -> Self {
        Self::new("SECURITY UNLOCK", 0xf2, Transfer::ToDisk)
    }

    pub const fn erase_prepare() -> Self {
        Self::new("SECURITY ERASE PREPARE", 0xf3, Transfer::Nothing)
    }

    pub const fn erase(limit: Duration) -> Self {
        let command = Self::new("SECURITY ERASE UNIT", 0xf4, Transfer::ToDisk);
        Self { limit, ..command }
    }

    pub const fn disable_password() -> Self {
        Self::new("SECURITY DISABLE PASSWORD", 0xf6, Transfer::ToDisk)
    }

    /// ATA PASS-THROUGH (16).
    pub fn cdb(&self) -> [u8; 16] {
        /// The length is in blocks, and stands in the count.
        const COUNTED: u8 = 0x04 | 0x02;
        const FROM_DISK: u8 = 0x08;
        // Where no data comes back, the disk's registers are asked for: they say how it went.
        const REGISTERS: u8 = 0x20;
        let (protocol, flags, count) = match self.transfer {
            Transfer::Nothing => (3, REGISTERS, 0),
            Transfer::FromDisk => (4, COUNTED | FROM_DISK, 1),
            Transfer::ToDisk => (5, COUNTED, 1),
        };
        [0x85, protocol << 1, flags, 0, 0, 0, count, 0, 0, 0, 0, 0, 0, 0, self.opcode, 0]
    }
}

/// What the security commands carry: what is wanted, and the user's password.
pub fn password_block(low: u8, high: u8) -> [u8; BLOCK] {
    let mut block = [0; BLOCK];
    let bytes = [low, high].into_iter().chain(PASSWORD.bytes());
    for (to, from) in block.iter_mut().zip(bytes) {
        *to = from;
    }
    block
}

/// What SECURITY ERASE UNIT carries.
pub fn erase_block(enhanced: bool) -> [u8; BLOCK] {
    password_block(if enhanced { 0x02 } else { 0 }, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_what_the_standard_says() {
        for (command, expected) in [
            (AtaCommand::identify(), [0x85, 0x08, 0x0e, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0xec, 0]),
            (AtaCommand::set_password(), [0x85, 0x0a, 0x06, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0xf1, 0]),
            (AtaCommand::unlock(), [0x85, 0x0a, 0x06, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0xf2, 0]),
            (AtaCommand::erase_prepare(), [0x85, 0x06, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xf3, 0]),
            (AtaCommand::erase(SOON), [0x85, 0x0a, 0x06, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0xf4, 0]),
            (AtaCommand::disable_password(), [0x85, 0x0a, 0x06, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0xf6, 0]),
        ] {
            assert_eq!(command.cdb(), expected, "{}", command.name);
        }
        assert_eq!(AtaCommand::erase(Duration::from_secs(7200)).limit.as_secs(), 7200);
    }

    #[test]
    fn the_password_stands_behind_what_is_wanted() {
        for (block, first) in [(password_block(0, 0), 0), (erase_block(false), 0), (erase_block(true), 2)] {
            assert_eq!(block[0], first);
            assert_eq!(block[1], 0, "the master's password is no part of it, and may unlock too");
            assert_eq!(&block[2..9], b"beskar7");
            assert!(block[9..].iter().all(|byte| *byte == 0));
        }
    }
}

//! Admin commands, as the kernel hands them on.

use super::answer::Namespace;

/// What Identify answers with.
pub const PAGE: usize = 4096;
/// What is read of the log of sanitizing: its first numbers tell all.
pub const SANITIZE_LOG: usize = 512;

/// All namespaces.
const EVERY: u32 = 0xffff_ffff;
/// A disk that answers a question at all does so in this time.
const SOON: u32 = 60 * 1000;
/// Erasing all cells of a large disk.
const LONG: u32 = 4 * 60 * 60 * 1000;

/// The kernel's `struct nvme_passthru_cmd`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
pub struct AdminCommand {
    pub opcode: u8,
    pub flags: u8,
    pub reserved: u16,
    pub nsid: u32,
    pub cdw2: u32,
    pub cdw3: u32,
    pub metadata: u64,
    pub addr: u64,
    pub metadata_len: u32,
    pub data_len: u32,
    pub cdw10: u32,
    pub cdw11: u32,
    pub cdw12: u32,
    pub cdw13: u32,
    pub cdw14: u32,
    pub cdw15: u32,
    pub timeout_ms: u32,
    pub result: u32,
}

/// What Format NVM does to what is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Erase {
    /// All cells are erased.
    UserData,
    /// The key that everything is encrypted with is thrown away.
    Crypto,
}

/// What Sanitize does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sanitize {
    /// All cells are erased.
    Block,
    /// The key that everything is encrypted with is thrown away.
    Crypto,
    /// Nothing is erased: the disk that failed to sanitize takes commands again.
    GiveUp,
}

impl AdminCommand {
    pub fn identify_controller() -> Self {
        Self { opcode: 0x06, cdw10: 1, timeout_ms: SOON, ..Self::default() }
    }

    pub fn identify_namespace(id: u32) -> Self {
        Self { opcode: 0x06, nsid: id, cdw10: 0, timeout_ms: SOON, ..Self::default() }
    }

    /// Keeps the size of blocks, and what protects them.
    pub fn format(id: u32, namespace: Namespace, erase: Erase) -> Self {
        let secure = match erase {
            Erase::UserData => 1,
            Erase::Crypto => 2,
        };
        let cdw10 = namespace.format_bits() | (secure << 9);
        Self { opcode: 0x80, nsid: id, cdw10, timeout_ms: LONG, ..Self::default() }
    }

    /// A disk that can not finish may be used again (AUSE): else it would be of no use to anyone.
    pub fn sanitize(how: Sanitize) -> Self {
        /// Allow Unrestricted Sanitize Exit.
        const EXIT: u32 = 1 << 3;
        let cdw10 = match how {
            Sanitize::GiveUp => 1,
            Sanitize::Block => 2 | EXIT,
            Sanitize::Crypto => 4 | EXIT,
        };
        Self { opcode: 0x84, cdw10, timeout_ms: SOON, ..Self::default() }
    }

    pub fn sanitize_log() -> Self {
        let dwords = (SANITIZE_LOG / 4) as u32;
        let cdw10 = 0x81 | ((dwords - 1) << 16);
        Self { opcode: 0x02, nsid: EVERY, cdw10, timeout_ms: SOON, ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;

    #[test]
    fn the_structure_is_the_kernels() {
        assert_eq!(size_of::<AdminCommand>(), 72);
        for (name, offset, expected) in [
            ("nsid", offset_of!(AdminCommand, nsid), 4),
            ("addr", offset_of!(AdminCommand, addr), 24),
            ("data_len", offset_of!(AdminCommand, data_len), 36),
            ("cdw10", offset_of!(AdminCommand, cdw10), 40),
            ("timeout_ms", offset_of!(AdminCommand, timeout_ms), 64),
        ] {
            assert_eq!(offset, expected, "{name}");
        }
    }

    #[test]
    fn commands_are_what_the_specification_says() {
        let plain = Namespace { flbas: 0x01, protection: 0 };
        let protected = Namespace { flbas: 0x32, protection: 0x0b };
        for (command, opcode, nsid, cdw10) in [
            (AdminCommand::identify_controller(), 0x06, 0, 1),
            (AdminCommand::identify_namespace(3), 0x06, 3, 0),
            (AdminCommand::format(1, plain, Erase::UserData), 0x80, 1, 0x201),
            (AdminCommand::format(2, plain, Erase::Crypto), 0x80, 2, 0x401),
            (AdminCommand::format(1, protected, Erase::UserData), 0x80, 1, 0x1372),
            (AdminCommand::sanitize(Sanitize::GiveUp), 0x84, 0, 0x1),
            (AdminCommand::sanitize(Sanitize::Block), 0x84, 0, 0xa),
            (AdminCommand::sanitize(Sanitize::Crypto), 0x84, 0, 0xc),
            (AdminCommand::sanitize_log(), 0x02, 0xffff_ffff, 0x7f_0081),
        ] {
            assert_eq!((command.opcode, command.nsid, command.cdw10), (opcode, nsid, cdw10), "{command:?}");
            assert_eq!((command.addr, command.data_len), (0, 0), "{command:?}");
        }
    }
}

//! Boot loader configuration: whose it is, and what it says with more kernel parameters.
//!
//! The editors are pure: text in, text out. Bytes that they don't have to change stay as they are, in whatever encoding.

mod arguments;
mod edits;
mod grub;
mod syslinux;
mod systemd_boot;

pub use arguments::Arguments;

use super::error::OverlayError;

/// How many seconds a menu waits for a person who is not there. Those who are have the time to press a key.
const MENU_SECONDS: u32 = 5;
/// A menu that waits no longer than this is left alone.
const MOST_MENU_SECONDS: u32 = 10;

/// Whose configuration a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// GRUB's.
    Grub,
    /// That of isolinux, syslinux or extlinux. `main` is the file that they begin with.
    Syslinux {
        /// Whether it is the file that they begin with.
        main: bool,
    },
    /// An entry of systemd-boot.
    SystemdBootEntry,
    /// systemd-boot's own.
    SystemdBoot,
}

/// A changed file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edited {
    /// All of it.
    pub text: Vec<u8>,
    /// How many kernel lines it has.
    pub kernel_lines: usize,
}

impl Kind {
    /// Whose configuration a file is, by its path and its text. Nothing when it is none.
    pub fn of(path: &str, text: &[u8]) -> Option<Self> {
        let path = path.to_lowercase();
        let (directory, name) = path.rsplit_once('/').unwrap_or(("", &path));
        if !is_configuration(name) {
            return None;
        }
        if directory.is_empty() && !TOP_FILES.contains(&name) {
            return None;
        }
        if directory.ends_with("loader/entries") && name.ends_with(".conf") {
            return Some(Self::SystemdBootEntry);
        }
        if path.ends_with("loader/loader.conf") {
            return Some(Self::SystemdBoot);
        }
        let main = ["isolinux.cfg", "syslinux.cfg", "extlinux.conf"].contains(&name);
        let theirs = directory.split('/').any(|part| ["isolinux", "syslinux", "extlinux"].contains(&part));
        if main || theirs || (name != "grub.cfg" && syslinux::speaks(text)) {
            return Some(Self::Syslinux { main });
        }
        Some(Self::Grub)
    }

    /// The text with these parameters on every kernel line.
    ///
    /// # Errors
    /// The boot loader can't hand one of them over.
    pub fn edit(self, text: &[u8], arguments: &Arguments) -> Result<Edited, OverlayError> {
        match self {
            Self::Grub => grub::edit(text, arguments),
            Self::Syslinux { main } => Ok(syslinux::edit(text, main, arguments)),
            Self::SystemdBootEntry => Ok(systemd_boot::edit_entry(text, arguments)),
            Self::SystemdBoot => Ok(systemd_boot::edit_loader(text)),
        }
    }
}

/// What boot loaders read at the top of a file system. Other files there are an installer's.
const TOP_FILES: [&str; 4] = ["grub.cfg", "isolinux.cfg", "syslinux.cfg", "extlinux.conf"];

/// Whether a file may be configuration, by its name.
pub fn is_configuration(name: &str) -> bool {
    let name = name.to_lowercase();
    name.ends_with(".cfg") || name.ends_with(".conf")
}

/// What systemd-boot is told to start a unified kernel image with more parameters.
pub use systemd_boot::{entry_for, loader_with_default};

#[cfg(test)]
#[path = "loader_tests.rs"]
mod tests;

//! The layouts, each in a file that says after which images it is made and in what it differs from them.
//!
//! All wait a second at most in their menus, where the real ones wait for a person. And all have `no_timer_check`: an
//! emulated timer on a busy machine does not pass the kernel's check.

mod debian;
mod fedora;
mod flatcar;
mod rhel;
mod systemd_boot;
mod ubuntu;

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::Isos;

/// Where the kernel's parameters are, in what boot loader, and how the firmware finds that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layout {
    /// isolinux; a GRUB in the FAT that reads `/boot/grub/grub.cfg` of the tree.
    Debian,
    /// GRUB for both; the FAT is an appended partition.
    Ubuntu,
    /// GRUB for both; UEFI's `grub.cfg` is inside the FAT, which is an appended partition, and in the tree.
    Fedora,
    /// isolinux; UEFI's `grub.cfg` is inside the FAT, which is a file of the tree, and in the tree.
    Rhel,
    /// isolinux whose configuration includes another folder's; a GRUB whose `grub.cfg` is in the tree.
    Flatcar,
    /// systemd-boot, with entries, kernel and initramfs in the FAT. UEFI only.
    SystemdBoot,
    /// systemd-boot that starts a unified kernel image. UEFI only.
    Uki,
}

/// What starts the boot loader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Firmware {
    /// OVMF.
    Uefi,
    /// SeaBIOS.
    Bios,
}

impl fmt::Display for Firmware {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Uefi => "UEFI",
            Self::Bios => "BIOS",
        })
    }
}

impl Layout {
    /// All there are.
    pub const ALL: [Self; 7] =
        [Self::Debian, Self::Ubuntu, Self::Fedora, Self::Rhel, Self::Flatcar, Self::SystemdBoot, Self::Uki];

    /// What it is called.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Debian => "debian",
            Self::Ubuntu => "ubuntu",
            Self::Fedora => "fedora",
            Self::Rhel => "rhel",
            Self::Flatcar => "flatcar",
            Self::SystemdBoot => "systemd-boot",
            Self::Uki => "uki",
        }
    }

    /// Whether such a firmware can start it.
    #[must_use]
    pub fn starts_with(self, firmware: Firmware) -> bool {
        match self {
            Self::Debian | Self::Ubuntu | Self::Fedora | Self::Rhel | Self::Flatcar => true,
            Self::SystemdBoot | Self::Uki => firmware == Firmware::Uefi,
        }
    }

    /// Whether it also starts from a USB stick.
    #[must_use]
    pub fn is_hybrid(self) -> bool {
        match self {
            Self::Debian | Self::Ubuntu | Self::Fedora | Self::Rhel | Self::Flatcar => true,
            Self::SystemdBoot | Self::Uki => false,
        }
    }

    /// Whether it lists the checksums of its files.
    #[must_use]
    pub fn has_checksums(self) -> bool {
        match self {
            Self::Debian | Self::Ubuntu => true,
            Self::Fedora | Self::Rhel | Self::Flatcar | Self::SystemdBoot | Self::Uki => false,
        }
    }

    /// What such an image gives its kernel by itself.
    #[must_use]
    pub fn own_parameters(self) -> &'static str {
        match self {
            Self::Debian => "vga=788 no_timer_check --- quiet",
            Self::Ubuntu => "no_timer_check ---",
            Self::Fedora => "inst.stage2=hd:LABEL=Fedora-S-dvd-x86_64-43 rd.live.check no_timer_check quiet",
            Self::Rhel => "inst.stage2=hd:LABEL=RHEL-9-5-0-BaseOS-x86_64 rd.live.check no_timer_check quiet",
            Self::Flatcar => "flatcar.autologin no_timer_check",
            Self::SystemdBoot | Self::Uki => "no_timer_check quiet",
        }
    }

    /// The whole line: its own parameters, and others where such an image expects them, before `---` or at the end.
    fn line(self, parameters: &str) -> String {
        let own = self.own_parameters();
        let line = match own.split_once("---") {
            Some((before, behind)) => format!("{before}{parameters} ---{behind}"),
            None => format!("{own} {parameters}"),
        };
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

/// A parameter as GRUB's shell has to read it: a semicolon would end the command.
fn for_grub(line: &str) -> String {
    line.replace(';', "\\;")
}

pub(super) async fn make(isos: &Isos, layout: Layout, parameters: &str, directory: &Path) -> Result<PathBuf> {
    let line = layout.line(parameters);
    let line = line.as_str();
    match layout {
        Layout::Debian => debian::make(isos, line, directory).await,
        Layout::Ubuntu => ubuntu::make(isos, line, directory).await,
        Layout::Fedora => fedora::make(isos, line, directory).await,
        Layout::Rhel => rhel::make(isos, line, directory).await,
        Layout::Flatcar => flatcar::make(isos, line, directory).await,
        Layout::SystemdBoot => systemd_boot::make(isos, line, directory).await,
        Layout::Uki => systemd_boot::make_uki(isos, line, directory).await,
    }
}

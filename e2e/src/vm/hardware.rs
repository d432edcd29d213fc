//! What a machine is made of, and what its firmware is told to start.

use std::net::Ipv4Addr;

use beskar7_redfish_sim::bmc::identity::Identity;

use super::disk::Disk;
use crate::isos::Firmware;

/// One of the two CD drives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drive {
    /// What the machine may start from.
    First,
    /// What brings configuration.
    Second,
}

impl Drive {
    pub(super) const ALL: [Self; 2] = [Self::First, Self::Second];

    /// Its name in QEMU.
    pub(super) fn id(self) -> &'static str {
        match self {
            Self::First => "cd0",
            Self::Second => "cd1",
        }
    }
}

/// What a machine's network card is connected to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// QEMU's own network. Nobody there has anything to boot.
    Own,
    /// A tap, by its name: see [`crate::lab`].
    Tap(String),
}

/// What firmware starts when power comes. What can't be started, it passes over for the disks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Start {
    /// What is in a drive; firmware tries the other one next.
    Drive(Drive),
    /// What DHCP tells: by TFTP under UEFI, by the iPXE in the card's ROM under a BIOS.
    Pxe,
    /// What DHCP tells, by HTTP. UEFI only.
    Http,
    /// What is at this URL, whatever DHCP tells besides an address. UEFI only.
    Url(String),
    /// What is on a disk.
    Disk,
    /// Nothing: the firmware is told of no device at all.
    Nothing,
}

/// What a machine is made of.
#[derive(Debug, Clone)]
pub struct Hardware {
    /// What starts the boot loader.
    pub firmware: Firmware,
    /// What its SMBIOS says.
    pub uuid: String,
    /// The address of its network card.
    pub mac: String,
    /// What that is connected to.
    pub line: Line,
    /// Whether it takes what it starts from for a USB stick instead of a CD: then the firmware and the boot loader
    /// find their way by the image's partitions.
    pub stick: bool,
    /// Its disks, in the order in which its firmware tries them.
    pub disks: Vec<Disk>,
}

impl Hardware {
    /// What a simulated BMC says of the machine behind it.
    #[must_use]
    pub fn behind(bmc: Ipv4Addr, firmware: Firmware) -> Self {
        let identity = Identity::of(bmc);
        Self { mac: identity.mac(0), uuid: identity.uuid, ..Self::with(firmware) }
    }

    /// With a UUID and an address that any machine may have.
    #[must_use]
    pub fn with(firmware: Firmware) -> Self {
        Self {
            firmware,
            uuid: "8c2f7a60-6a4e-4c3f-9d0b-2f1f4f0a7b07".to_owned(),
            mac: "52:54:00:b7:00:01".to_owned(),
            line: Line::Own,
            stick: false,
            disks: Vec::new(),
        }
    }
}

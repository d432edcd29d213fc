//! What a machine is made of, as it sees itself.

use serde::{Deserialize, Serialize};

/// A machine.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct Inventory {
    /// What its firmware says of it (DMI).
    pub system: System,
    /// How its firmware started the agent.
    pub boot_mode: BootMode,
    /// Its processors.
    pub cpu: Cpu,
    /// Its memory, in bytes: installed, or else what the kernel has.
    pub memory_bytes: u64,
    /// Its disks, in the order of their names.
    pub disks: Vec<Disk>,
    /// Its network interfaces that are hardware.
    pub nics: Vec<Nic>,
    /// What is on its PCI buses.
    pub pci: Vec<PciDevice>,
    /// Its TPM, if it has one: its version, "2.0".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tpm: Option<String>,
}

/// What firmware says of a machine.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct System {
    /// Who made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub manufacturer: Option<String>,
    /// The model's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub product: Option<String>,
    /// The serial number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serial_number: Option<String>,
    /// The SMBIOS UUID.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uuid: Option<String>,
    /// The firmware's version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub firmware_version: Option<String>,
    /// The firmware's vendor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub firmware_vendor: Option<String>,
}

/// How firmware starts systems.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub enum BootMode {
    /// By UEFI.
    Uefi,
    /// By BIOS.
    #[default]
    Bios,
}

/// All processors together.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct Cpu {
    /// In the kernel's words: x86_64, aarch64.
    pub architecture: String,
    /// The model's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Sockets.
    pub sockets: u32,
    /// Cores of all sockets.
    pub cores: u32,
    /// Threads of all cores.
    pub threads: u32,
}

/// A disk.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct Disk {
    /// Its path: `/dev/sda`.
    pub path: String,
    /// Other paths of it, below `/dev/disk/by-path` and `/dev/disk/by-id`, as udev would make them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<String>,
    /// The vendor's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vendor: Option<String>,
    /// The model's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The serial number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serial_number: Option<String>,
    /// The World Wide Name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wwn: Option<String>,
    /// The SCSI address: `0:0:0:0`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hctl: Option<String>,
    /// Its size.
    pub size_bytes: u64,
    /// The size of its sectors, as it is spoken to.
    pub sector_bytes: u32,
    /// How it stores.
    pub kind: DiskKind,
    /// Whether nothing can be written to it.
    pub read_only: bool,
}

/// How a disk stores.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum DiskKind {
    /// It spins.
    #[default]
    Hdd,
    /// Solid state behind SATA, SAS or a virtual bus.
    Ssd,
    /// Solid state behind NVMe.
    Nvme,
}

/// A network interface.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct Nic {
    /// The kernel's name for it.
    pub name: String,
    /// Its MAC address, in small letters with colons.
    pub mac_address: String,
    /// Whether it has a link.
    pub link_up: bool,
    /// The link's speed, in Mbit/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speed_mbps: Option<u64>,
    /// The kernel's driver.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// The PCI address: `0000:00:02.0`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pci_address: Option<String>,
    /// What it is connected to, where that says so by LLDP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub neighbour: Option<Neighbour>,
}

/// The other end of a cable.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct Neighbour {
    /// The switch's id.
    pub chassis: String,
    /// The port's id.
    pub port: String,
    /// The switch's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_name: Option<String>,
    /// The port's description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port_description: Option<String>,
}

/// Something on a PCI bus.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct PciDevice {
    /// Where: `0000:00:02.0`.
    pub address: String,
    /// The vendor's id, four hex digits.
    pub vendor: String,
    /// The device's id, four hex digits.
    pub device: String,
    /// The class, six hex digits.
    pub class: String,
}

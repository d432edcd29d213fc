//! The hardware of a host, as far as scheduling, people and operating systems care.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A processor architecture, in Kubernetes' words.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[serde(rename_all = "lowercase")]
pub enum Architecture {
    /// x86-64.
    Amd64,
    /// 64-bit Arm.
    Arm64,
}

/// How a disk stores.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq)]
pub enum MediaType {
    /// Spinning disk.
    HDD,
    /// Solid state behind SATA or SAS.
    SSD,
    /// Solid state behind NVMe.
    NVMe,
}

/// What the machine is made of, without anything of its BMC.
#[derive(Serialize, Deserialize, KubeSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Hardware {
    /// Who made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manufacturer: Option<String>,
    /// The maker's model name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The maker's serial number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serial_number: Option<String>,
    /// The SMBIOS UUID; a Node shows it as `status.nodeInfo.systemUUID`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uuid: Option<String>,
    /// The processors, taken together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<Cpu>,
    /// The memory, taken together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Memory>,
    /// The disks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 512))]
    pub storage: Vec<Disk>,
    /// The network interfaces.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 256))]
    pub nics: Vec<Nic>,
    /// Firmware versions, of the BIOS and of parts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 256))]
    pub firmware: Vec<Firmware>,
}

/// The processors of a machine, taken together.
#[derive(Serialize, Deserialize, KubeSchema, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Cpu {
    /// The architecture: amd64 or arm64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Architecture")]
    pub architecture: Option<Architecture>,
    /// The maker's name for the processor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Sockets with a processor in them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sockets: Option<i32>,
    /// Cores over all sockets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cores: Option<i32>,
    /// Hardware threads over all cores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<i32>,
}

/// The memory of a machine, taken together.
#[derive(Serialize, Deserialize, KubeSchema, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Memory {
    /// All memory, in MiB.
    #[serde(default, rename = "totalMiB", skip_serializing_if = "Option::is_none")]
    pub total_mib: Option<i64>,
    /// Modules that hold it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modules: Option<i32>,
}

/// One disk.
#[derive(Serialize, Deserialize, KubeSchema, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Disk {
    /// What the controller or the operating system calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The maker's model name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The maker's serial number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serial_number: Option<String>,
    /// The World Wide Name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wwn: Option<String>,
    /// The size in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<i64>,
    /// How it stores: HDD, SSD or NVMe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "MediaType")]
    pub media_type: Option<MediaType>,
}

/// One network interface.
#[derive(Serialize, Deserialize, KubeSchema, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Nic {
    /// What the BMC or the operating system calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The MAC address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mac_address: Option<String>,
    /// The speed of the link, in Mbit/s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed_mbps: Option<i64>,
    /// Whether a link was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link_up: Option<bool>,
    /// Whether the BMC does not tell of it: the agent saw it.
    #[serde(default, rename = "unknownToBMC", skip_serializing_if = "Option::is_none")]
    pub unknown_to_bmc: Option<bool>,
}

/// The firmware of one part.
#[derive(Serialize, Deserialize, KubeSchema, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Firmware {
    /// The part, for example BIOS.
    pub name: String,
    /// Its version, as the maker writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// Which disk an operating system is installed on. All hints that are given must fit; the smallest
/// disk that fits is taken.
#[derive(Serialize, Deserialize, KubeSchema, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct RootDeviceHints {
    /// The device's path, for example `/dev/nvme0n1` or a `/dev/disk/by-path/…` link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 255))]
    pub device_name: Option<String>,
    /// The SCSI address, for example `0:0:0:0`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub hctl: Option<String>,
    /// A part of the model's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 255))]
    pub model: Option<String>,
    /// A part of the vendor's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 255))]
    pub vendor: Option<String>,
    /// The serial number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 255))]
    pub serial_number: Option<String>,
    /// The World Wide Name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 255))]
    pub wwn: Option<String>,
    /// The least size, in GB (10⁹ bytes).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1048576))]
    pub min_size_gigabytes: Option<i32>,
    /// Whether it spins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rotational: Option<bool>,
}

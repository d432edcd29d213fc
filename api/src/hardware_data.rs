//! HardwareData: a host's hardware for people and tools that have no business with its BMC.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

use crate::boot::BootMode;
use crate::hardware::Hardware;

/// The hardware of the PhysicalHost of the same name.
#[derive(CustomResource, Serialize, Deserialize, KubeSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "infrastructure.cluster.x-k8s.io",
    version = "v1beta1",
    kind = "HardwareData",
    plural = "hardwaredata",
    namespaced,
    derive = "PartialEq",
    shortname = "hd",
    category = "cluster-api",
    category = "beskar7",
    doc = "HardwareData describes the hardware of the PhysicalHost of the same name, without anything of its BMC. The controllers write it; it goes with its host.",
    printcolumn(name = "Manufacturer", type_ = "string", json_path = ".spec.hardware.manufacturer"),
    printcolumn(name = "Model", type_ = "string", json_path = ".spec.hardware.model"),
    printcolumn(name = "Cores", type_ = "integer", json_path = ".spec.hardware.cpu.cores"),
    printcolumn(name = "MemoryMiB", type_ = "integer", json_path = ".spec.hardware.memory.totalMiB"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "Serial", type_ = "string", json_path = ".spec.hardware.serialNumber", priority = 1)
)]
pub struct HardwareDataSpec {
    /// What the machine is made of.
    #[serde(default)]
    pub hardware: Hardware,
    /// What the agent saw on the machine itself, where it was inspected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inspection: Option<Inspection>,
}

/// A machine, as the agent sees it from inside.
#[derive(Serialize, Deserialize, KubeSchema, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Inspection {
    /// When it was inspected.
    pub time: Time,
    /// What it is made of.
    pub hardware: Hardware,
    /// How its firmware started the agent: UEFI or Legacy.
    #[serde(default)]
    pub boot_mode: BootMode,
    /// The version of its TPM, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tpm: Option<String>,
    /// What its network interfaces are connected to, where that says so by LLDP.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 256))]
    pub neighbours: Vec<Neighbour>,
    /// What is on its PCI buses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1024))]
    pub pci: Vec<PciDevice>,
}

/// The other end of a cable.
#[derive(Serialize, Deserialize, KubeSchema, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Neighbour {
    /// The machine's interface, as its operating system calls it.
    pub nic: String,
    /// The switch's id.
    pub chassis: String,
    /// The port's id.
    pub port: String,
    /// The switch's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_name: Option<String>,
    /// The port's description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port_description: Option<String>,
}

/// Something on a PCI bus.
#[derive(Serialize, Deserialize, KubeSchema, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
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

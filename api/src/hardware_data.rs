//! HardwareData: a host's hardware for people and tools that have no business with its BMC.

use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

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
}

//! Network addresses of a machine, as Cluster API writes them.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What an address is for.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressType {
    /// The host's name.
    Hostname,
    /// An address outside the cluster's own network.
    ExternalIP,
    /// An address on the cluster's own network.
    InternalIP,
    /// A DNS name that resolves outside.
    ExternalDNS,
    /// A DNS name that resolves inside.
    InternalDNS,
}

/// One address of a machine.
#[derive(Serialize, Deserialize, KubeSchema, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct MachineAddress {
    /// What the address is for: Hostname, ExternalIP, InternalIP, ExternalDNS or InternalDNS.
    #[serde(rename = "type")]
    pub type_: AddressType,
    /// The address itself.
    #[schemars(length(min = 1, max = 256))]
    pub address: String,
}

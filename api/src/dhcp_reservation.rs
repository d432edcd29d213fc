//! DHCPReservation: what the DHCP server tells one host, made from a claim.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

use crate::cel::{IPV4_LIST_RULE, IPV4_RULE, MAC_MESSAGE, MAC_RULE};
use crate::reference::LocalReference;

/// What the host is told when it asks.
#[derive(CustomResource, Serialize, Deserialize, KubeSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "infrastructure.cluster.x-k8s.io",
    version = "v1beta1",
    kind = "DHCPReservation",
    plural = "dhcpreservations",
    namespaced,
    status = "DHCPReservationStatus",
    derive = "PartialEq",
    shortname = "dhcp",
    category = "cluster-api",
    category = "beskar7",
    doc = "A DHCPReservation says what the DHCP server tells one host, known by its MAC address. Without an IP address in it, only boot options are added beside the site's own DHCP server.",
    printcolumn(name = "Host", type_ = "string", json_path = ".spec.hostRef.name"),
    printcolumn(name = "MAC", type_ = "string", json_path = ".spec.hostMAC"),
    printcolumn(name = "IP", type_ = "string", json_path = ".spec.ipAddress"),
    printcolumn(name = "LastSeen", type_ = "date", json_path = ".status.lastSeen"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[x_kube(
    validation = Rule::new("has(self.ipAddress) == has(self.prefix)")
        .message("ipAddress and prefix belong together: give both, or neither to add only boot options beside the site's own DHCP server"),
    validation = Rule::new("has(self.ipAddress) || (!has(self.gateway) && !has(self.dns) && !has(self.ntp) && !has(self.leaseSeconds))")
        .message("gateway, dns, ntp and leaseSeconds need ipAddress and prefix: without an address of ours, the site's own DHCP server tells the host these"),
)]
pub struct DHCPReservationSpec {
    /// The PhysicalHost that this is for.
    pub host_ref: LocalReference,
    /// The MAC address that the host asks with, six pairs of hex digits separated by colons.
    #[serde(rename = "hostMAC")]
    #[schemars(length(max = 64))]
    #[x_kube(validation = Rule::new(MAC_RULE).message(format!("hostMAC {MAC_MESSAGE}").as_str()))]
    pub host_mac: String,
    /// The IPv4 address that the host gets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    #[x_kube(validation = Rule::new(IPV4_RULE).message("ipAddress is not an IPv4 address: write for example 192.0.2.10, and its prefix length in prefix"))]
    pub ip_address: Option<String>,
    /// The prefix length of the host's network, for example 24.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 32))]
    pub prefix: Option<i32>,
    /// The IPv4 address of the default gateway.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    #[x_kube(validation = Rule::new(IPV4_RULE).message("gateway is not an IPv4 address: write for example 192.0.2.1"))]
    pub gateway: Option<String>,
    /// IPv4 addresses of DNS servers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 8), inner(length(max = 64)))]
    #[x_kube(validation = Rule::new(IPV4_LIST_RULE).message("dns holds something that is not an IPv4 address: write for example 192.0.2.53"))]
    pub dns: Vec<String>,
    /// IPv4 addresses of NTP servers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 8), inner(length(max = 64)))]
    #[x_kube(validation = Rule::new(IPV4_LIST_RULE).message("ntp holds something that is not an IPv4 address: write for example 192.0.2.123"))]
    pub ntp: Vec<String>,
    /// The host's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    #[x_kube(validation = Rule::new("self.matches('^[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?([.][a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?)*$')")
        .message("hostname is not a host name: letters, digits, hyphens and dots, for example node-7.example.org"))]
    pub hostname: Option<String>,
    /// How long the host may keep the address, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 60, max = 31536000))]
    pub lease_seconds: Option<i32>,
    /// The URL that the host boots from. `{{capability}}` stands for what only this host's claim may know: it is
    /// put in when the host asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 2048))]
    #[x_kube(validation = Rule::new(r"self.matches(r'^(https?|tftp)://[^\s]+$')")
        .message("pxeBootParameters is not a URL to boot from: write http://…, https://… or tftp://…"))]
    pub pxe_boot_parameters: Option<String>,
}

/// What was last seen of the host on the wire.
#[derive(Serialize, Deserialize, KubeSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct DHCPReservationStatus {
    /// When the host last asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_seen: Option<Time>,
    /// The architecture that its firmware named then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_architecture: Option<String>,
    /// The address that it was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// The state of the reservation in detail.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
    /// The generation of the spec that this status speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

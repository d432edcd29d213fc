//! HostClaim: a tenant's wish for a machine, without any knowledge of BMCs.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::boot::{BootMode, ConfigVolume, ImageDetails};
use crate::cel::unchanged;
use crate::hardware::Hardware;
use crate::machine::OsFamily;
use crate::reference::{LocalReference, NamespacedReference, ObjectReference};
use crate::selector::{HardwareRequirements, HostSelector};

/// The machine that is wanted, and what it should run.
#[derive(CustomResource, Serialize, Deserialize, KubeSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "infrastructure.cluster.x-k8s.io",
    version = "v1beta1",
    kind = "HostClaim",
    plural = "hostclaims",
    namespaced,
    status = "HostClaimStatus",
    derive = "PartialEq",
    shortname = "hc",
    category = "cluster-api",
    category = "beskar7",
    doc = "A HostClaim asks for a machine from a pool that somebody else looks after: by name, by labels or by hardware, with an image and a configuration. A HostDeployPolicy in the hosts' namespace decides whether it may have one.",
    label("clusterctl.cluster.x-k8s.io/move", ""),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "Host", type_ = "string", json_path = ".status.hardwareData.name", description = "The host that it holds"),
    printcolumn(name = "Online", type_ = "boolean", json_path = ".spec.online", description = "Whether it should run"),
    printcolumn(name = "Powered", type_ = "boolean", json_path = ".status.poweredOn", description = "Whether it runs"),
    printcolumn(name = "Ready", type_ = "string", json_path = ".status.conditions[?(@.type=='Ready')].status"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "Image", type_ = "string", json_path = ".spec.image.url", priority = 1),
    validation = while_bound("hostRef"),
    validation = while_bound("hostSelector"),
)]
#[x_kube(
    validation = Rule::new("!(has(self.hostRef) && has(self.hostSelector))")
        .message("hostRef and hostSelector exclude each other: name one host with hostRef, or describe hosts with hostSelector, or leave both out for any host that a policy allows"),
    validation = Rule::new("!(has(self.userData) && has(self.ignitionRef))")
        .message("userData and ignitionRef exclude each other: a machine reads one of them"),
    validation = Rule::new("!(has(self.kernel) && has(self.image))")
        .message("kernel and image exclude each other: a machine boots one of them"),
    validation = Rule::new("!has(self.initramfs) || has(self.kernel)")
        .message("initramfs needs kernel beside it"),
    validation = Rule::new("!has(self.configVolume) || !has(self.kernel)")
        .message("configVolume goes beside an ISO: a kernel from the network reads its configuration by its kernelArgs")
        .field_path(".configVolume"),
    validation = Rule::new("!has(self.configVolume) || has(self.userData) || has(self.metaData) || has(self.networkData) || has(self.ignitionRef)")
        .message("configVolume has nothing to hold: give userData, metaData, networkData or ignitionRef, or remove configVolume")
        .field_path(".configVolume"),
)]
pub struct HostClaimSpec {
    /// The one host that is wanted. It can't change once a host is bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_ref: Option<NamespacedReference>,
    /// Which hosts may be chosen, by label and by namespace. It can't change once a host is bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_selector: Option<HostSelector>,
    /// The least hardware that will do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hardware_requirements: Option<HardwareRequirements>,
    /// The zone that the host must be in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub failure_domain: Option<String>,
    /// The image that the machine runs. Removing it takes the image off the machine and keeps the
    /// machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<HostImage>,
    /// The URL of a kernel that the machine boots from the network, in place of an image. It may end in
    /// `#sha256=` and the digest of its content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 2048))]
    #[x_kube(validation = Rule::new(r"self.matches(r'^https?://[^\s]+$')").message("kernel is not a URL: write http://… or https://…"))]
    pub kernel: Option<String>,
    /// The URL of the initial ramdisk beside the kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 2048))]
    #[x_kube(validation = Rule::new(r"self.matches(r'^https?://[^\s]+$')").message("initramfs is not a URL: write http://… or https://…"))]
    pub initramfs: Option<String>,
    /// Whether the machine should run. Turning it on starts the provisioning; turning it off stops the
    /// machine.
    #[serde(default)]
    pub online: bool,
    /// A Secret in the claim's namespace with the user data, under `userData` or `value`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_data: Option<NamespacedReference>,
    /// A Secret in the claim's namespace with the metadata, under `metaData` or `value`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meta_data: Option<NamespacedReference>,
    /// A Secret in the claim's namespace with the network configuration, under `networkData` or
    /// `value`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_data: Option<NamespacedReference>,
    /// A Secret in the claim's namespace with an Ignition configuration, under `userData` or `value`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ignition_ref: Option<LocalReference>,
    /// The operating system's family, which decides how the image is told where its configuration is: kairos, talos,
    /// flatcar, LeapMicro, ubuntu, debian, fedora, rhel, centos, opensuse, fedora-coreos or other. Without it, an image
    /// with userData is taken for one that has cloud-init, and one with ignitionRef for one that has Ignition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "OsFamily")]
    pub os_family: Option<OsFamily>,
    /// Kernel parameters to add. `{{configURL}}` stands for the directory in which our boot server has the
    /// configuration. `{{rootURL}}` stands for that of
    /// the root file system of an image from a registry.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(max = 1024)))]
    pub kernel_args: Vec<String>,
    /// Gives the image its configuration on a second virtual medium with this label instead: cidata (cloud-init's
    /// NoCloud) or config-2 (OpenStack's config drive). The host's BMC needs two drives. A disk image gets it in a
    /// partition: with this label, or else cidata, and config-2 with ignitionRef.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ConfigVolume")]
    pub config_volume: Option<ConfigVolume>,
    /// How the firmware starts: UEFI or Legacy.
    #[serde(default)]
    pub boot_mode: BootMode,
    /// What uses this claim, if something does. Informative.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consumer_ref: Option<ObjectReference>,
}

fn while_bound(field: &str) -> kube::core::cel::Rule {
    kube::core::cel::Rule::new(format!(
        "!has(oldSelf.status) || !has(oldSelf.status.phase) || oldSelf.status.phase != 'Bound' || ({})",
        unchanged(&format!("spec.{field}"))
    ))
    .message(
        format!("{field} can't change while a host is bound: delete this claim and write a new one to get another host")
            .as_str(),
    )
    .field_path(format!(".spec.{field}"))
}

/// An image, and how it is checked and read.
#[derive(Serialize, Deserialize, KubeSchema, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new(r"self.url.matches(r'^(https?|oci)://[^\s]+$') || (has(self.format) && self.format == 'oci' && !self.url.contains('://') && self.url.matches(r'^[^\s]+$'))")
        .message("url is not an image that we can fetch: write http://…, https:// or oci://…, or set format: oci for a plain image reference such as registry.example.org/os:1.2")
        .field_path(".url"),
    validation = Rule::new("!has(self.checksum) || self.checksum.matches('^[0-9a-fA-F]{32}$|^[0-9a-fA-F]{64}$|^[0-9a-fA-F]{128}$|^https?://.+$')")
        .message("checksum is neither a digest nor a URL: write 32 (md5), 64 (sha256) or 128 (sha512) hex digits, or the http(s) URL of a checksum file")
        .field_path(".checksum"),
)]
pub struct HostImage {
    /// Where the image is: an http(s) or oci URL, or with format oci a plain image reference.
    #[schemars(length(min = 1, max = 2048))]
    pub url: String,
    /// How it is checked and read.
    #[serde(flatten)]
    pub details: ImageDetails,
}

/// Whether a claim holds a host.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClaimPhase {
    /// No host yet; the condition Association says why.
    #[default]
    Unbound,
    /// It holds a host.
    Bound,
}

/// What was last seen of the claim and its machine.
#[derive(Serialize, Deserialize, KubeSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct HostClaimStatus {
    /// Bound while the claim holds a host, else Unbound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ClaimPhase")]
    pub phase: Option<ClaimPhase>,
    /// The host that the claim holds, by the name of its HardwareData.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hardware_data: Option<NamespacedReference>,
    /// What the machine is made of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hardware: Option<Hardware>,
    /// The UID of the host that the claim holds.
    #[serde(default, rename = "hostUID", skip_serializing_if = "Option::is_none")]
    pub host_uid: Option<String>,
    /// Whether the machine runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub powered_on: Option<bool>,
    /// The HostBootConfiguration that was made for this claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot_configuration_ref: Option<NamespacedReference>,
    /// The DHCPReservation that was made for this claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dhcp_reservation_ref: Option<NamespacedReference>,
    /// The state of the claim in detail: Ready, Association, Synchronization, Provisioned.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
    /// The generation of the spec that this status speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

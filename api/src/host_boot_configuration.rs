//! HostBootConfiguration: what one host boots, made from a claim and served by the boot server.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::boot::{AgentTask, BootMethod, DiskInstall};
use crate::reference::LocalReference;

/// What the host boots.
#[derive(CustomResource, Serialize, Deserialize, KubeSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "infrastructure.cluster.x-k8s.io",
    version = "v1beta1",
    kind = "HostBootConfiguration",
    plural = "hostbootconfigurations",
    namespaced,
    status = "HostBootConfigurationStatus",
    derive = "PartialEq",
    shortname = "hbc",
    shortname = "pxe",
    category = "cluster-api",
    category = "beskar7",
    doc = "A HostBootConfiguration says what one host boots: kernel, initial ramdisk, image, configuration. The controllers make it from a claim; the boot server serves it once every artifact answers.",
    printcolumn(name = "Host", type_ = "string", json_path = ".spec.hostRef.name"),
    printcolumn(name = "Method", type_ = "string", json_path = ".spec.method"),
    printcolumn(name = "State", type_ = "string", json_path = ".status.state"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "Image", type_ = "string", json_path = ".spec.image", priority = 1)
)]
#[x_kube(
    validation = Rule::new("self.method == 'Disk' || has(self.kernel) || has(self.image) || has(self.install)")
        .message("nothing to boot: give kernel (and usually initramfs) or image, or set method: Disk"),
    validation = Rule::new("!has(self.initramfs) || has(self.kernel)")
        .message("initramfs needs kernel beside it"),
    validation = Rule::new("!(has(self.userData) && has(self.ignitionRef))")
        .message("userData and ignitionRef exclude each other: a machine reads one of them"),
)]
pub struct HostBootConfigurationSpec {
    /// The PhysicalHost that boots this.
    pub host_ref: LocalReference,
    /// Where the host boots from: iPXE, PXE, HTTPBoot, VirtualMedia or Disk.
    #[serde(default)]
    pub method: BootMethod,
    /// The URL of the kernel. It may end in `#sha256=` and the digest of its content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 2048))]
    pub kernel: Option<String>,
    /// The URL of the initial ramdisk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 2048))]
    pub initramfs: Option<String>,
    /// Kernel parameters. `{{configURL}}` stands for the URL by which our boot server gives the machine its
    /// configuration.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(max = 1024)))]
    pub kernel_args: Vec<String>,
    /// The image: a URL, or a reference to an image in an OCI registry such as `foo:latest`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 2048))]
    pub image: Option<String>,
    /// The image that the agent, which boots here, writes to a disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub install: Option<DiskInstall>,
    /// What the agent, which boots here, is started for where no image is written: Inspect or Clean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "AgentTask")]
    pub task: Option<AgentTask>,
    /// A Secret with an Ignition configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ignition_ref: Option<LocalReference>,
    /// A Secret with cloud-init user data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_data: Option<LocalReference>,
}

/// Whether a configuration can be served.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BootConfigurationState {
    /// Its artifacts are being looked at.
    #[default]
    Pending,
    /// Every artifact answers: the host may be powered on.
    Ready,
    /// An artifact does not answer, or is not what it should be.
    Error,
}

/// What was last seen of the configuration.
#[derive(Serialize, Deserialize, KubeSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct HostBootConfigurationStatus {
    /// Whether the configuration can be served: Pending, Ready or Error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "BootConfigurationState")]
    pub state: Option<BootConfigurationState>,
    /// The digest of the manifest that an image in a registry resolved to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_digest: Option<String>,
    /// The kernel parameters that an image in a registry wants beside those of the spec.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 4096))]
    pub image_command_line: Option<String>,
    /// What is served, and what it resolved to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub artifacts: Vec<ServedArtifact>,
    /// The state of the configuration in detail.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
    /// The generation of the spec that this status speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

/// One thing that is served to the host.
#[derive(Serialize, Deserialize, KubeSchema, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct ServedArtifact {
    /// What it is: kernel, initramfs (more of them with a number), root, program, or the image that is written to a
    /// disk.
    #[schemars(length(min = 1, max = 63))]
    pub name: String,
    /// Where it is served, without the part that only the host may know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Which content of it is served, and no other: what tells it from every other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pin: Option<String>,
    /// The digest that its content was found to have, where one was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Its size in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<i64>,
}

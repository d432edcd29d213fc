//! Beskar7Machine: the infrastructure of one Cluster API Machine.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::address::MachineAddress;
use crate::boot::{BootMode, Cleaning, ConfigVolume, ImageDetails};
use crate::cel::unchanged;
use crate::hardware::RootDeviceHints;
use crate::initialization::Initialization;
use crate::reference::ObjectReference;
use crate::selector::{HardwareRequirements, HostSelector};

/// How a machine is brought up.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProvisioningMode {
    /// An installer ISO plus kernel parameters that point at its configuration.
    #[default]
    RemoteConfig,
    /// An ISO that needs no further configuration.
    PreBakedISO,
    /// Network boot by iPXE, which the firmware's PXE loads: the same as iPXE.
    PXE,
    /// Network boot by iPXE, which the firmware's PXE loads.
    #[serde(rename = "iPXE")]
    Ipxe,
    /// Network boot by UEFI HTTP boot.
    HTTPBoot,
    /// An image written to the disk.
    DiskImage,
}

/// The operating system's family: it decides which kernel parameters point at the configuration.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[serde(rename_all = "kebab-case")]
pub enum OsFamily {
    /// Kairos.
    Kairos,
    /// Talos Linux.
    Talos,
    /// Flatcar Container Linux.
    Flatcar,
    /// openSUSE Leap Micro.
    #[serde(rename = "LeapMicro")]
    LeapMicro,
    /// Ubuntu.
    Ubuntu,
    /// Debian.
    Debian,
    /// Fedora.
    Fedora,
    /// Red Hat Enterprise Linux.
    Rhel,
    /// CentOS.
    Centos,
    /// openSUSE.
    Opensuse,
    /// Fedora CoreOS.
    FedoraCoreos,
    /// Another: kernelArgs say where the configuration goes.
    Other,
}

impl OsFamily {
    /// All there are.
    pub const ALL: [Self; 12] = [
        Self::Kairos,
        Self::Talos,
        Self::Flatcar,
        Self::LeapMicro,
        Self::Ubuntu,
        Self::Debian,
        Self::Fedora,
        Self::Rhel,
        Self::Centos,
        Self::Opensuse,
        Self::FedoraCoreos,
        Self::Other,
    ];

    /// As it is written in manifests.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kairos => "kairos",
            Self::Talos => "talos",
            Self::Flatcar => "flatcar",
            Self::LeapMicro => "LeapMicro",
            Self::Ubuntu => "ubuntu",
            Self::Debian => "debian",
            Self::Fedora => "fedora",
            Self::Rhel => "rhel",
            Self::Centos => "centos",
            Self::Opensuse => "opensuse",
            Self::FedoraCoreos => "fedora-coreos",
            Self::Other => "other",
        }
    }
}

const IMMUTABLE: &str = "can't change on an existing machine: write a new Beskar7MachineTemplate and refer to it from the control plane or MachineDeployment; Cluster API then replaces the Machines";

/// What the machine should be. It can't change once written, except for providerID.
#[derive(CustomResource, Serialize, Deserialize, KubeSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "infrastructure.cluster.x-k8s.io",
    version = "v1beta1",
    kind = "Beskar7Machine",
    plural = "beskar7machines",
    namespaced,
    status = "Beskar7MachineStatus",
    derive = "PartialEq",
    shortname = "b7m",
    category = "cluster-api",
    category = "beskar7",
    doc = "A Beskar7Machine is the infrastructure of one Cluster API Machine: it claims a PhysicalHost that fits, has it booted with the wanted image, and gives it back when it is deleted.",
    label("cluster.x-k8s.io/v1beta2", "v1beta1"),
    printcolumn(name = "Cluster", type_ = "string", json_path = r".metadata.labels.cluster\.x-k8s\.io/cluster-name", description = "The Cluster that it belongs to"),
    printcolumn(name = "Machine", type_ = "string", json_path = ".metadata.ownerReferences[?(@.kind=='Machine')].name", description = "The Machine that owns it"),
    printcolumn(name = "Host", type_ = "string", json_path = ".status.hostRef.name", description = "The PhysicalHost that it holds"),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "Ready", type_ = "string", json_path = ".status.conditions[?(@.type=='Ready')].status"),
    printcolumn(name = "ProviderID", type_ = "string", json_path = ".spec.providerID"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    validation = immutable("imageURL"),
    validation = immutable("configURL"),
    validation = immutable("configVolume"),
    validation = immutable("osFamily"),
    validation = immutable("provisioningMode"),
    validation = immutable("bootMode"),
    validation = immutable("hostSelector"),
    validation = immutable("hardwareRequirements"),
    validation = immutable("image"),
    validation = immutable("kernelArgs"),
    validation = immutable("kernel"),
    validation = immutable("initramfs"),
    validation = immutable("rootDeviceHints"),
    validation = immutable("cleaning"),
)]
#[x_kube(
    validation = Rule::new("self.provisioningMode != 'PreBakedISO' || !has(self.configURL)")
        .message("configURL is not used with a pre-baked ISO: remove configURL, or set provisioningMode: RemoteConfig").field_path(".configURL"),
    validation = Rule::new("!has(self.configVolume) || self.provisioningMode in ['PreBakedISO', 'DiskImage']")
        .message("configVolume is for an ISO that needs no kernel parameters, or a disk image: set provisioningMode to PreBakedISO or DiskImage, or remove configVolume").field_path(".configVolume"),
    validation = Rule::new("self.provisioningMode != 'DiskImage' || !has(self.configURL)")
        .message("configURL is not used with DiskImage, which gets the Machine's bootstrap data: remove configURL").field_path(".configURL"),
    validation = Rule::new("!(self.provisioningMode in ['RemoteConfig', 'PreBakedISO', 'DiskImage']) || has(self.imageURL)")
        .message("imageURL is missing: RemoteConfig and PreBakedISO need the URL of an ISO, DiskImage that of a disk image"),
    validation = Rule::new("!(self.provisioningMode in ['PXE', 'iPXE', 'HTTPBoot']) || has(self.imageURL) || has(self.kernel)")
        .message("nothing to boot: PXE, iPXE and HTTPBoot need kernel (and usually initramfs), or imageURL"),
    validation = Rule::new("!has(self.imageURL) || !self.imageURL.startsWith('oci://') || !(self.provisioningMode in ['RemoteConfig', 'PreBakedISO'])")
        .message("an oci:// image is no ISO: set provisioningMode to iPXE, PXE, HTTPBoot or DiskImage, or give an http(s) URL").field_path(".imageURL"),
    validation = Rule::new("!(has(self.kernel) && has(self.imageURL))")
        .message("kernel and imageURL exclude each other: a machine boots one of them").field_path(".kernel"),
    validation = Rule::new("self.provisioningMode != 'RemoteConfig' || has(self.osFamily)")
        .message("osFamily is missing: RemoteConfig must know which kernel parameters the operating system reads; choose one, or other with kernelArgs"),
    validation = Rule::new("self.provisioningMode != 'RemoteConfig' || !has(self.osFamily) || self.osFamily != 'other' || (has(self.kernelArgs) && size(self.kernelArgs) > 0)")
        .message("with osFamily other, kernelArgs must say where the configuration goes, for example [\"config={{configURL}}\"]"),
    validation = Rule::new("(!has(self.kernel) && !has(self.initramfs)) || self.provisioningMode in ['PXE', 'iPXE', 'HTTPBoot']")
        .message("kernel and initramfs are for network boot: set provisioningMode to iPXE, PXE or HTTPBoot, or remove them"),
    validation = Rule::new("!has(self.initramfs) || has(self.kernel)")
        .message("initramfs needs kernel beside it"),
    validation = Rule::new("!has(self.kernelArgs) || size(self.kernelArgs) == 0 || self.provisioningMode in ['RemoteConfig', 'PXE', 'iPXE', 'HTTPBoot']")
        .message("kernelArgs can't be added to a pre-baked ISO or a disk image: remove them, or set provisioningMode to RemoteConfig, iPXE, PXE or HTTPBoot"),
    validation = Rule::new("(!has(self.image) && !has(self.rootDeviceHints)) || self.provisioningMode == 'DiskImage'")
        .message("image and rootDeviceHints are for images that we write to disk: set provisioningMode: DiskImage, or remove them"),
    validation = Rule::new("self.provisioningMode != 'HTTPBoot' || self.bootMode == 'UEFI'")
        .message("HTTPBoot is a UEFI feature: set bootMode: UEFI, or use iPXE").field_path(".bootMode"),
)]
pub struct Beskar7MachineSpec {
    /// The machine's identity in the cluster, `b7://<namespace>/<host>`; equal to the Node's. Set by
    /// the controller.
    #[serde(default, rename = "providerID", skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 512))]
    pub provider_id: Option<String>,
    /// The URL of the image: an ISO for RemoteConfig and PreBakedISO, a disk image for DiskImage, an image in
    /// a registry or an EFI program for network boot. http(s), ftp or file; oci for DiskImage and network
    /// boot. The BMC or our boot server must be able to reach it.
    #[serde(default, rename = "imageURL", skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 2048))]
    #[x_kube(validation = Rule::new(r"self.matches(r'^(https?|ftp|file|oci)://[^\s]+$')")
        .message("imageURL is not a URL of an image: write http://…, https://…, ftp://…, file://… or, for DiskImage and network boot, oci://…"))]
    pub image_url: Option<String>,
    /// The URL of the operating system's configuration, for RemoteConfig and network boot. Without it
    /// the machine is given its Machine's bootstrap data, where its osFamily can read that.
    #[serde(default, rename = "configURL", skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 2048))]
    #[x_kube(validation = Rule::new(r"self.matches(r'^(https?|file)://[^\s]+$')")
        .message("configURL is not a URL of a configuration: write http://…, https://… or file://…"))]
    pub config_url: Option<String>,
    /// Gives a pre-baked ISO the Machine's bootstrap data on a second virtual medium with this label:
    /// cidata (cloud-init's NoCloud) or config-2 (OpenStack's config drive). The host's BMC needs two
    /// drives. A disk image always gets it, in a partition: with this label, or else with the one that its
    /// osFamily reads, which is cidata for most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ConfigVolume")]
    pub config_volume: Option<ConfigVolume>,
    /// The operating system's family: kairos, talos, flatcar, LeapMicro, ubuntu, debian, fedora, rhel,
    /// centos, opensuse, fedora-coreos or other. It decides which kernel parameters point at the
    /// configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "OsFamily")]
    pub os_family: Option<OsFamily>,
    /// How the machine is brought up. RemoteConfig: an installer ISO plus kernel parameters that point
    /// at its configuration. PreBakedISO: an ISO that needs nothing further. iPXE, PXE (the same),
    /// HTTPBoot: from the network. DiskImage: an image written to the disk.
    #[serde(default)]
    pub provisioning_mode: ProvisioningMode,
    /// How the firmware starts: UEFI or Legacy.
    #[serde(default)]
    pub boot_mode: BootMode,
    /// Which hosts may be chosen, by label. Without it, any of the cluster's host pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_selector: Option<HostSelector>,
    /// The least hardware that will do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hardware_requirements: Option<HardwareRequirements>,
    /// How the image at imageURL is checked and read, for DiskImage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<ImageDetails>,
    /// Kernel parameters to add. `{{configURL}}` stands for the configuration's URL; without configURL
    /// for the directory in which our boot server has the Machine's bootstrap data. `{{rootURL}}` stands for that of
    /// the root file system of an image from a registry.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(max = 1024)))]
    pub kernel_args: Vec<String>,
    /// The URL of the kernel, for network boot. It may end in `#sha256=` and the digest of its content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 2048))]
    pub kernel: Option<String>,
    /// The URL of the initial ramdisk, for network boot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 2048))]
    pub initramfs: Option<String>,
    /// Which disk the image is written to, for DiskImage. The host's own hints hold where these are
    /// silent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root_device_hints: Option<RootDeviceHints>,
    /// Ask for more cleaning than the host or its policy demand: None, Metadata or Full.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Cleaning")]
    pub cleaning: Option<Cleaning>,
}

fn immutable(field: &str) -> kube::core::cel::Rule {
    kube::core::cel::Rule::new(unchanged(&format!("spec.{field}")))
        .message(format!("{field} {IMMUTABLE}").as_str())
        .field_path(format!(".spec.{field}"))
}

/// Where a machine is in its life.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MachinePhase {
    /// Waits for the cluster or its bootstrap data.
    #[default]
    Pending,
    /// Looks for a host, or binds one.
    Associating,
    /// The host boots.
    Provisioning,
    /// The host was seen to boot.
    Provisioned,
    /// It can't go on by itself.
    Failed,
    /// The host is being given back.
    Deleting,
}

/// What was last seen of the machine.
#[derive(Serialize, Deserialize, KubeSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Beskar7MachineStatus {
    /// Whether the machine runs.
    #[serde(default)]
    pub ready: bool,
    /// What Cluster API waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initialization: Option<Initialization>,
    /// Where the machine is in its life: Pending, Associating, Provisioning, Provisioned, Failed or
    /// Deleting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "MachinePhase")]
    pub phase: Option<MachinePhase>,
    /// The PhysicalHost that the machine holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_ref: Option<ObjectReference>,
    /// The machine's addresses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 128))]
    pub addresses: Vec<MachineAddress>,
    /// The failure domain of the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 256))]
    pub failure_domain: Option<String>,
    /// The state of the machine in detail: Ready, InfrastructureReady, PhysicalHostAssociated, NodeLinked
    /// and Paused. NodeLinked is there from the machine's first boot on: whether its Node carries its
    /// providerID, and if not, why and how to set it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
    /// The generation of the spec that this status speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

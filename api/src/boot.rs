//! Words about booting and cleaning that several kinds share.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hardware::RootDeviceHints;

/// How firmware starts an operating system.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BootMode {
    /// UEFI.
    #[default]
    UEFI,
    /// BIOS, or UEFI's compatibility module.
    Legacy,
}

/// Where a host boots from.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BootMethod {
    /// From the network, by iPXE, which the firmware's PXE loads.
    #[default]
    #[serde(rename = "iPXE")]
    Ipxe,
    /// The same.
    PXE,
    /// From the network, by UEFI HTTP boot.
    HTTPBoot,
    /// From an ISO that the BMC presents as a drive.
    VirtualMedia,
    /// From its own disk.
    Disk,
}

impl BootMethod {
    /// Whether it is one from the network.
    #[must_use]
    pub const fn is_from_network(self) -> bool {
        match self {
            Self::Ipxe | Self::PXE | Self::HTTPBoot => true,
            Self::VirtualMedia | Self::Disk => false,
        }
    }
}

/// How a host's disks are cleaned before it goes to the next consumer. Each wipes at least what the
/// one before it does.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cleaning {
    /// Nothing is wiped.
    #[default]
    None,
    /// Partition tables and file system signatures of all disks.
    Metadata,
    /// Every block of every disk.
    Full,
}

/// What the agent is started for on a machine that nobody uses.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentTask {
    /// To say what the machine is made of.
    Inspect,
    /// To wipe its disks.
    Clean,
}

/// How kernel parameters reach an installer's kernel.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BootParameterMechanism {
    /// Our server presents the ISO with its boot loader configuration changed.
    #[default]
    ISOOverlay,
    /// Through the one-time UEFI target; only some firmware passes arguments from it.
    UefiTarget,
}

impl BootParameterMechanism {
    /// As it is written in manifests.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ISOOverlay => "ISOOverlay",
            Self::UefiTarget => "UefiTarget",
        }
    }
}

/// The label of a small medium that an operating system looks for its configuration on.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ConfigVolume {
    /// cloud-init's NoCloud.
    #[serde(rename = "cidata")]
    Cidata,
    /// OpenStack's config drive.
    #[serde(rename = "config-2")]
    Config2,
}

impl ConfigVolume {
    /// The volume's label.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Cidata => "cidata",
            Self::Config2 => "config-2",
        }
    }
}

/// The digest algorithm of a checksum.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum ChecksumType {
    /// Told by the checksum's length.
    #[default]
    Auto,
    /// MD5.
    Md5,
    /// SHA-256.
    Sha256,
    /// SHA-512.
    Sha512,
}

/// What kind of image it is.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum ImageFormat {
    /// A disk, byte by byte; gzip, xz and zstd are recognised.
    Raw,
    /// A QEMU disk image.
    Qcow2,
    /// A bootable ISO 9660 image.
    Iso,
    /// An image in an OCI registry.
    Oci,
}

/// How an image is checked and read.
#[derive(Serialize, Deserialize, KubeSchema, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct ImageDetails {
    /// The image's digest in hex, or the http(s) URL of a checksum file that lists it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 2048))]
    pub checksum: Option<String>,
    /// The digest's algorithm: auto, md5, sha256 or sha512. auto tells it by the length.
    #[serde(default)]
    pub checksum_type: ChecksumType,
    /// The image's format: raw, qcow2, iso or oci. Without it, the URL's ending tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ImageFormat")]
    pub format: Option<ImageFormat>,
}

/// An image that is written to a disk of the machine before it starts from it.
#[derive(Serialize, Deserialize, KubeSchema, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct DiskInstall {
    /// The image's http(s) URL, which may end in `#sha256=` and the digest of its content; or an image in an OCI registry,
    /// `oci://…`, that holds one file.
    #[schemars(length(min = 1, max = 2048))]
    pub image: String,
    /// What it is: raw or qcow2. Without it, its first bytes tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ImageFormat")]
    pub format: Option<ImageFormat>,
    /// The image's digest in hex, or the http(s) URL of a checksum file that lists it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 2048))]
    pub checksum: Option<String>,
    /// The digest's algorithm: auto, md5, sha256 or sha512. auto tells it by the length.
    #[serde(default)]
    pub checksum_type: ChecksumType,
    /// The disk that it goes to. The host's own hints hold where these are silent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root_device_hints: Option<RootDeviceHints>,
}

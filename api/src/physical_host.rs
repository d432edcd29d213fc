//! PhysicalHost: one server with a Redfish BMC. The platform team writes it; consumers claim it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::address::MachineAddress;
use crate::boot::{BootMethod, BootMode, BootParameterMechanism, Cleaning, ConfigVolume, DiskInstall};
use crate::cel::{IPV4_LIST_RULE, IPV4_RULE, MAC_MESSAGE, MAC_RULE, REDFISH_URL_RULE, unchanged};
use crate::hardware::{Architecture, Hardware, RootDeviceHints};
use crate::reference::{LocalReference, ObjectReference};

/// What is wanted of the host. The platform team writes how to reach its BMC; consumerRef, claimID,
/// bootIsoSource and boot are written by the controllers when the host is claimed.
#[derive(CustomResource, Serialize, Deserialize, KubeSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "infrastructure.cluster.x-k8s.io",
    version = "v1beta1",
    kind = "PhysicalHost",
    plural = "physicalhosts",
    namespaced,
    status = "PhysicalHostStatus",
    derive = "PartialEq",
    shortname = "ph",
    category = "cluster-api",
    category = "beskar7",
    doc = "A PhysicalHost is one server with a Redfish BMC. It is enrolled by its BMC's address and credentials, becomes Available, is claimed by a Beskar7Machine or a HostClaim, and is cleaned before it is given to the next.",
    label("clusterctl.cluster.x-k8s.io/move-hierarchy", ""),
    selectable = ".status.state",
    selectable = ".spec.consumerRef.name",
    printcolumn(
        name = "State",
        type_ = "string",
        json_path = ".status.state",
        description = "Where the host is in its life"
    ),
    printcolumn(
        name = "Power",
        type_ = "string",
        json_path = ".status.observedPowerState",
        description = "Power as the BMC last reported it"
    ),
    printcolumn(
        name = "Consumer",
        type_ = "string",
        json_path = ".spec.consumerRef.name",
        description = "Who holds the host"
    ),
    printcolumn(
        name = "Zone",
        type_ = "string",
        json_path = r".metadata.labels.topology\.kubernetes\.io/zone",
        description = "Failure domain"
    ),
    printcolumn(
        name = "Model",
        type_ = "string",
        json_path = ".status.hardwareDetails.model",
        description = "The maker's model name"
    ),
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type=='Ready')].status",
        description = "Whether all is well with the host"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(
        name = "Address",
        type_ = "string",
        json_path = ".spec.redfishConnection.address",
        description = "The BMC's address",
        priority = 1
    ),
    printcolumn(
        name = "Serial",
        type_ = "string",
        json_path = ".status.hardwareDetails.serialNumber",
        description = "The maker's serial number",
        priority = 1
    ),
    printcolumn(
        name = "BMC",
        type_ = "string",
        json_path = ".status.hardwareDetails.bmc.firmwareVersion",
        description = "The BMC's firmware version",
        priority = 1
    )
)]
#[x_kube(
    validation = Rule::new("(!has(oldSelf.consumerRef) && !has(oldSelf.claimID)) || self.redfishConnection.address == oldSelf.redfishConnection.address")
        .message("redfishConnection.address can't change while the host is claimed: the claim would pass to another machine. Release the host first (delete its Machine or HostClaim)"),
    validation = Rule::new(format!("(!has(oldSelf.consumerRef) && !has(oldSelf.claimID)) || ({})", unchanged("redfishConnection.systemID")))
        .message("redfishConnection.systemID can't change while the host is claimed: the claim would pass to another machine. Release the host first (delete its Machine or HostClaim)"),
    validation = Rule::new("(!has(oldSelf.consumerRef) && !has(oldSelf.claimID)) || !has(self.externallyProvisioned) || !self.externallyProvisioned || (has(oldSelf.externallyProvisioned) && oldSelf.externallyProvisioned)")
        .message("externallyProvisioned can't be set while the host is claimed: its machine could not be booted or given back. Release the host first (delete its Machine or HostClaim)"),
    validation = Rule::new("!has(self.consumerRef) || (has(self.consumerRef.kind) && has(self.consumerRef.name))")
        .message("consumerRef needs kind and name; leave it to the controllers, which set it when they claim the host"),
)]
pub struct PhysicalHostSpec {
    /// How to reach the host's BMC.
    pub redfish_connection: RedfishConnection,
    /// Who holds the host. Set when it is claimed, cleared when it is released; leave it to the
    /// controllers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consumer_ref: Option<ObjectReference>,
    /// The id of the claim that holds the host. It is set together with consumerRef and cleared when
    /// the host is clean again: a host without both is free.
    #[serde(default, rename = "claimID", skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 64))]
    pub claim_id: Option<String>,
    /// The URL of the ISO that the consumer wants booted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2048))]
    pub boot_iso_source: Option<String>,
    /// What else the consumer wants of the boot. Written together with consumerRef.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot: Option<HostBoot>,
    /// A Secret with user data for the machine, in the host's own namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_data_secret_ref: Option<ObjectReference>,
    /// Keeps the host for one cluster's first control-plane machine. Leave it to the controllers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserved_for: Option<Reservation>,
    /// Whether the machine should run while it is claimed. Absent: it should.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub online: Option<bool>,
    /// Why the host must not be claimed, in a few words. While this is set nobody new gets the host;
    /// who holds it keeps it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 256))]
    pub cordoned: Option<String>,
    /// How the host's disks are cleaned when it is released: None, Metadata or Full. A policy or
    /// a Machine may ask for more than this, never for less. Without it, Metadata where the
    /// manager has an agent to clean with, else None.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Cleaning")]
    pub cleaning: Option<Cleaning>,
    /// Whether the agent looks at the host's hardware before the host becomes Available, and once more
    /// when the annotation `beskar7.infrastructure.cluster.x-k8s.io/inspected` is taken off. That turns
    /// the machine off and on. Without it, as the manager's `--inspect` says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inspect: Option<bool>,
    /// The host runs something that we did not install: it is watched, never claimed, booted or
    /// powered.
    #[serde(default)]
    pub externally_provisioned: bool,
    /// How kernel parameters reach an installer's kernel: ISOOverlay (our server changes the ISO's
    /// boot loader configuration on the fly) or UefiTarget (firmware must pass them on; few do).
    #[serde(default)]
    pub boot_parameter_mechanism: BootParameterMechanism,
    /// The MAC address that the host boots from the network with, six pairs of hex digits.
    #[serde(default, rename = "bootMACAddress", skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 17))]
    #[x_kube(validation = Rule::new(MAC_RULE).message(format!("bootMACAddress {MAC_MESSAGE}").as_str()))]
    pub boot_mac_address: Option<String>,
    /// The address that the host is given by our own DHCP server when it boots from the network, and what
    /// belongs to it. Without it the site's own DHCP server gives it one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot_network: Option<BootNetwork>,
    /// Addresses that the machine is known to have once it runs. Without them they are discovered
    /// where that is possible.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    pub addresses: Vec<MachineAddress>,
    /// The processor architecture, where the BMC does not tell it: amd64 or arm64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Architecture")]
    pub architecture: Option<Architecture>,
    /// Which disk operating systems are installed on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root_device_hints: Option<RootDeviceHints>,
}

/// How to reach a BMC.
#[derive(Serialize, Deserialize, KubeSchema, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct RedfishConnection {
    /// The URL of the BMC's Redfish service: http or https, a name, an IPv4 address or an IPv6
    /// address in brackets, and where needed a port and a path. The path may name the system, for
    /// example `https://bmc-7.example.org/redfish/v1/Systems/1`. It can't change while the host is
    /// claimed.
    #[schemars(length(min = 1, max = 1024))]
    #[x_kube(
        validation = Rule::new(REDFISH_URL_RULE)
            .message("address is not a Redfish URL: write http:// or https://, the BMC's name or IP address (IPv6 in brackets), and where needed :port and /path, for example https://10.0.0.7 or https://[2001:db8::7]:8443"),
    )]
    pub address: String,
    /// The name of the Secret with the BMC's `username` and `password`, in the host's namespace.
    #[schemars(length(min = 1, max = 253))]
    pub credentials_secret_ref: String,
    /// Do not verify the BMC's certificate. Whoever stands between can then read the password: prefer
    /// caBundleSecretRef.
    #[serde(default)]
    pub insecure_skip_verify: bool,
    /// A Secret in the host's namespace with the CA certificates that the BMC's certificate is
    /// verified by, under `ca.crt` or else `tls.crt`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca_bundle_secret_ref: Option<LocalReference>,
    /// The Id of the ComputerSystem, for BMCs that look after several.
    #[serde(default, rename = "systemID", skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 128))]
    pub system_id: Option<String>,
}

/// What our own DHCP server gives a host.
#[derive(Serialize, Deserialize, KubeSchema, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct BootNetwork {
    /// The IPv4 address that the host gets.
    #[schemars(length(max = 64))]
    #[x_kube(validation = Rule::new(IPV4_RULE).message("ipAddress is not an IPv4 address: write for example 192.0.2.10, and its prefix length in prefix"))]
    pub ip_address: String,
    /// The prefix length of the host's network, for example 24.
    #[schemars(range(min = 1, max = 32))]
    pub prefix: i32,
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
}

/// What the consumer wants of the boot beside the ISO.
#[derive(Serialize, Deserialize, KubeSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct HostBoot {
    /// Where the host boots from: VirtualMedia, iPXE, PXE, HTTPBoot or Disk.
    #[serde(default = "virtual_media")]
    pub method: BootMethod,
    /// How its firmware starts: UEFI or Legacy.
    #[serde(default)]
    pub boot_mode: BootMode,
    /// The URL of the kernel, for a boot from the network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2048))]
    pub kernel: Option<String>,
    /// The URL of the initial ramdisk, for a boot from the network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2048))]
    pub initramfs: Option<String>,
    /// The image, for a boot from the network: a reference to an image in an OCI registry, or the URL of an EFI
    /// program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2048))]
    pub image: Option<String>,
    /// Kernel parameters to add. `{{configURL}}` stands for the URL by which our boot server gives the
    /// machine its configuration.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(max = 1024)))]
    pub kernel_args: Vec<String>,
    /// The label of a second virtual medium with the machine's configuration: cidata or config-2. Of a disk image, it
    /// is the label of a partition that is written behind the image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ConfigVolume")]
    pub config_volume: Option<ConfigVolume>,
    /// The image that the agent writes to a disk. The host boots the agent then, which the platform team gives to the
    /// manager, and no kernel or image of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub install: Option<DiskInstall>,
    /// The object whose configuration the machine is given when it boots.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub configuration_ref: Option<ObjectReference>,
}

fn virtual_media() -> BootMethod {
    BootMethod::VirtualMedia
}

/// Whom a host is kept for.
#[derive(Serialize, Deserialize, KubeSchema, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Reservation {
    /// Kind of the object that the host is kept for.
    #[schemars(length(min = 1, max = 63))]
    pub kind: String,
    /// Its namespace.
    #[schemars(length(min = 1, max = 63))]
    pub namespace: String,
    /// Its name.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
}

/// Where a host is in its life.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum HostState {
    /// Its BMC is being reached and identified.
    #[default]
    Enrolling,
    /// Its hardware is being inspected.
    Inspecting,
    /// Free to be claimed.
    Available,
    /// Held by a consumer; nothing booted yet.
    Claimed,
    /// Booting what the consumer asked for.
    Provisioning,
    /// What the consumer asked for was seen to boot.
    Provisioned,
    /// Being turned off and cleaned for the next consumer.
    Deprovisioning,
    /// Enrolment failed; never while a consumer holds the host.
    Error,
    /// Not known.
    Unknown,
}

/// Power, as a BMC reports it.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq)]
pub enum PowerState {
    /// On.
    On,
    /// Off.
    Off,
    /// On its way on.
    PoweringOn,
    /// On its way off.
    PoweringOff,
    /// Paused.
    Paused,
    /// The BMC does not say.
    Unknown,
}

/// What was last seen of the host.
#[derive(Serialize, Deserialize, KubeSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct PhysicalHostStatus {
    /// Whether the host is enrolled and its BMC answers.
    #[serde(default)]
    pub ready: bool,
    /// Where the host is in its life: Enrolling, Inspecting, Available, Claimed, Provisioning,
    /// Provisioned, Deprovisioning, Error or Unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "HostState")]
    pub state: Option<HostState>,
    /// The claim that the machine was last made ready for and is not clean of yet. Where spec.claimID
    /// got lost, this still says whose machine it is.
    #[serde(default, rename = "claimID", skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub claim_id: Option<String>,
    /// Power as the BMC last reported it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "PowerState")]
    pub observed_power_state: Option<PowerState>,
    /// What went wrong last, if it still does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    /// The hardware as the BMC describes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hardware_details: Option<HardwareDetails>,
    /// Addresses of the machine, declared or discovered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 128))]
    pub addresses: Vec<MachineAddress>,
    /// The state of the host in detail: Ready, RedfishConnectionReady, HostAvailable, HostProvisioned
    /// and Paused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
    /// The generation of the spec that this status speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

/// The hardware of a host and its BMC.
#[derive(Serialize, Deserialize, KubeSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct HardwareDetails {
    /// The machine.
    #[serde(flatten)]
    pub hardware: Hardware,
    /// Its health.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<HardwareStatus>,
    /// Its BMC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bmc: Option<BmcDetails>,
}

/// The health of a host, in Redfish's words.
#[derive(Serialize, Deserialize, KubeSchema, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct HardwareStatus {
    /// The system's own health: OK, Warning or Critical.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health: Option<String>,
    /// The health of the system and all its parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health_rollup: Option<String>,
    /// Whether the system is enabled, as the BMC sees it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
}

/// A host's BMC.
#[derive(Serialize, Deserialize, KubeSchema, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct BmcDetails {
    /// The maker's model name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The firmware's version, as the maker writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub firmware_version: Option<String>,
}

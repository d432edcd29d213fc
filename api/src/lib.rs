//! The Beskar7 API: every kind with its types, defaults and rules.
//!
//! The types are the source of `config/crd/bases` (see [`crd::all`] and the `crdgen` program). What a
//! CRD can't say, because it needs the namespace or the dry run, is in `config/policy`. Nothing here
//! decides or acts: that is `controllers/core` and `controllers`.

pub mod address;
pub mod boot;
mod cel;
pub mod cluster;
pub mod cluster_api;
pub mod cluster_template;
pub mod conditions;
pub mod crd;
pub mod dhcp_reservation;
pub mod hardware;
pub mod hardware_data;
pub mod host_boot_configuration;
pub mod host_claim;
pub mod host_deploy_policy;
pub mod initialization;
pub mod machine;
pub mod machine_template;
mod names;
pub mod physical_host;
pub mod reference;
pub mod selector;
pub mod template;

pub use cluster::{Beskar7Cluster, Beskar7ClusterSpec, Beskar7ClusterStatus};
pub use cluster_template::{Beskar7ClusterTemplate, Beskar7ClusterTemplateSpec};
pub use dhcp_reservation::{DHCPReservation, DHCPReservationSpec, DHCPReservationStatus};
pub use hardware_data::{HardwareData, HardwareDataSpec};
pub use host_boot_configuration::{
    HostBootConfiguration, HostBootConfigurationSpec, HostBootConfigurationStatus,
};
pub use host_claim::{HostClaim, HostClaimSpec, HostClaimStatus};
pub use host_deploy_policy::{HostDeployPolicy, HostDeployPolicySpec, HostDeployPolicyStatus};
pub use machine::{Beskar7Machine, Beskar7MachineSpec, Beskar7MachineStatus};
pub use machine_template::{
    Beskar7MachineTemplate, Beskar7MachineTemplateSpec, Beskar7MachineTemplateStatus,
};
pub use names::{GROUP, VERSION, annotations, finalizers, labels, secret_keys};
pub use physical_host::{HostState, PhysicalHost, PhysicalHostSpec, PhysicalHostStatus};

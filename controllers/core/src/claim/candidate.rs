//! A host, as far as claims look at it.

use std::collections::BTreeMap;

use beskar7_api::{
    HostState, PhysicalHost, annotations,
    boot::BootParameterMechanism,
    conditions::host::REDFISH_CONNECTION_READY,
    hardware::{Architecture, Disk, Hardware},
    labels,
    physical_host::{HardwareStatus, PhysicalHostStatus, Reservation},
    reference::ObjectReference,
};

use super::labels as selector;
use crate::{
    conditions::{Truth, get},
    network_boot::boot_mac,
};

/// In Redfish's words: do not use this machine.
const CRITICAL: &str = "Critical";

/// One host, as far as claims look at it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Candidate<'a> {
    /// Its namespace.
    pub namespace: &'a str,
    /// Its name.
    pub name: &'a str,
    /// Which version of it this is. Compared by the API server, never here.
    pub resource_version: &'a str,
    /// Its labels.
    pub labels: Option<&'a BTreeMap<String, String>>,
    /// Where it is in its life; absent when its status was lost.
    pub state: Option<HostState>,
    /// Whether its BMC answers and calls nothing critical.
    pub healthy: bool,
    /// Whether the platform team keeps it from new consumers.
    pub cordoned: bool,
    /// Whether it is to be left as it is: paused, or moved away by clusterctl.
    pub on_hold: bool,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// Whether it runs something that we did not install.
    pub externally_provisioned: bool,
    /// Whom it is kept for.
    pub reserved_for: Option<&'a Reservation>,
    /// Its size.
    pub size: Size,
    /// Its processors' architecture.
    pub architecture: Option<Architecture>,
    /// How kernel parameters reach a kernel on it.
    pub parameters_by: BootParameterMechanism,
    /// Whether it is known with which MAC address it boots from the network.
    pub has_boot_mac: bool,
    /// Whom it was last bound for.
    pub last_owner: Option<&'a str>,
    /// Who holds it.
    pub claim: ClaimFields<'a>,
}

/// How big a host is, where that is known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Size {
    /// Cores over all sockets.
    pub cores: Option<i64>,
    /// Memory in MiB.
    pub memory_mib: Option<i64>,
    /// The largest disk, in bytes.
    pub disk_bytes: Option<i64>,
}

/// What a host says about who holds it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClaimFields<'a> {
    /// `spec.consumerRef`.
    pub consumer: Option<&'a ObjectReference>,
    /// `spec.claimID`: the claim that holds it.
    pub claim_id: Option<&'a str>,
    /// `status.claimID`: the claim that the machine itself was made ready for and is not clean of yet. Where the status
    /// was lost, a mark of another claim than the host's says the same.
    pub machine_of: Option<&'a str>,
    /// The annotation `…/release`: the claim that is released.
    pub released: Option<&'a str>,
    /// The annotation `…/fence`: the claim that was last given up here.
    pub fence: Option<&'a str>,
}

impl<'a> Candidate<'a> {
    /// What claims look at in a host.
    #[must_use]
    pub fn new(host: &'a PhysicalHost) -> Self {
        let meta = &host.metadata;
        let spec = &host.spec;
        let status = host.status.as_ref();
        let annotation =
            |name: &str| meta.annotations.as_ref().and_then(|all| all.get(name)).map(String::as_str);
        let details = status.and_then(|status| status.hardware_details.as_ref());
        let hardware = details.map(|details| &details.hardware);
        Self {
            namespace: meta.namespace.as_deref().unwrap_or_default(),
            name: meta.name.as_deref().unwrap_or_default(),
            resource_version: meta.resource_version.as_deref().unwrap_or_default(),
            labels: meta.labels.as_ref(),
            state: status.and_then(|status| status.state),
            healthy: status.is_some_and(healthy),
            cordoned: spec.cordoned.is_some(),
            on_hold: annotation(annotations::PAUSED).is_some()
                || annotation(annotations::DELETE_FOR_MOVE).is_some(),
            deleting: meta.deletion_timestamp.is_some(),
            externally_provisioned: spec.externally_provisioned,
            reserved_for: spec.reserved_for.as_ref(),
            size: hardware.map(size).unwrap_or_default(),
            architecture: hardware
                .and_then(|hardware| hardware.cpu.as_ref()?.architecture)
                .or(spec.architecture),
            parameters_by: spec.boot_parameter_mechanism,
            has_boot_mac: boot_mac(host).is_some(),
            last_owner: annotation(annotations::LAST_OWNER),
            claim: ClaimFields {
                consumer: spec.consumer_ref.as_ref(),
                claim_id: spec.claim_id.as_deref(),
                machine_of: status.and_then(|status| status.claim_id.as_deref()).or_else(|| {
                    let marks = [annotation(annotations::PROVISIONED), annotation(annotations::BOOTING)];
                    marked(marks, spec.claim_id.as_deref()?)
                }),
                released: annotation(annotations::RELEASE),
                fence: annotation(annotations::FENCE),
            },
        }
    }

    /// The zone that it is in.
    #[must_use]
    pub fn zone(&self) -> Option<&'a str> {
        selector::get(self.labels, labels::ZONE).map(String::as_str)
    }
}

/// The claim that the marks on a host name, if they do not speak of the one that holds it.
fn marked<'a>(marks: [Option<&'a str>; 2], holds: &str) -> Option<&'a str> {
    let mut claims = marks.into_iter().flatten().filter_map(|mark| mark.split_whitespace().next());
    let first = claims.next()?;
    (first != holds && claims.all(|claim| claim != holds)).then_some(first)
}

fn size(hardware: &Hardware) -> Size {
    let bytes = |disk: &Disk| disk.size_bytes;
    Size {
        cores: hardware.cpu.as_ref().and_then(|cpu| cpu.cores).map(i64::from),
        memory_mib: hardware.memory.as_ref().and_then(|memory| memory.total_mib),
        disk_bytes: hardware.storage.iter().filter_map(bytes).max(),
    }
}

/// A host whose BMC is silent can't be provisioned, and one with a critical part should not be. A warning is often
/// only a missing second power supply.
fn healthy(status: &PhysicalHostStatus) -> bool {
    let unreachable = get(&status.conditions, REDFISH_CONNECTION_READY)
        .is_some_and(|condition| condition.status == Truth::False.as_str());
    let critical = |health: &HardwareStatus| {
        [&health.health, &health.health_rollup].iter().any(|word| word.as_deref() == Some(CRITICAL))
    };
    let health = status.hardware_details.as_ref().and_then(|details| details.status.as_ref());
    !unreachable && !health.is_some_and(critical)
}

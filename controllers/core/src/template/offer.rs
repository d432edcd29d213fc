//! What a machine of a template offers: the least of every host that it could get, so that nobody counts on more than
//! the next machine has.
//!
//! It is about the kind of machine. A host that is claimed, cordoned or unwell today is of that kind all the same, and
//! counts; one whose hardware is not known yet does not.

use std::collections::{BTreeMap, BTreeSet};

use beskar7_api::{
    Beskar7Cluster, Beskar7Machine, Beskar7MachineTemplate, Beskar7MachineTemplateStatus, PhysicalHost,
    cluster_api,
    hardware::{Architecture, Hardware},
    labels,
    machine_template::NodeInfo,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use crate::{
    claim::{Candidate, Wanting, suits},
    delivery::Delivery,
    machine::{Owner, Surroundings, order, wanting},
    untouched::untouched,
};

/// Every machine runs this.
const OPERATING_SYSTEM: &str = "linux";

/// What the machines of a template want of their hosts, ready to be compared with many of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Offering {
    wanting: Wanting,
    asked: Option<Architecture>,
}

impl Offering {
    /// By its spec, by the pool of its cluster, where it belongs to one, by whether there is a boot server, and by
    /// the other namespaces that let its own have hosts.
    #[must_use]
    pub fn new(
        template: &Beskar7MachineTemplate,
        cluster: Option<&Beskar7Cluster>,
        delivery: Delivery,
        open: &BTreeSet<String>,
    ) -> Self {
        let spec = template.spec.template.spec.clone();
        let asked = spec.hardware_requirements.as_ref().and_then(|wanted| wanted.architecture);
        let order = order(&spec, delivery).ok();
        let name = template.metadata.name.as_deref().unwrap_or_default();
        let mut machine = Beskar7Machine::new(name, spec);
        machine.metadata.namespace.clone_from(&template.metadata.namespace);
        let around = Surroundings { owner: Owner::Unset, cluster: None, infrastructure: cluster };
        Self { wanting: wanting(&machine, &around, order.as_ref(), open), asked }
    }

    fn is_for(&self, host: &PhysicalHost) -> bool {
        suits(&self.wanting.wish(), &Candidate::new(host))
    }
}

/// What a machine of a template offers at least, over these hosts. Nothing where no host is known that it could get.
#[must_use]
pub fn offer<'h>(
    offering: &Offering,
    hosts: impl IntoIterator<Item = &'h PhysicalHost>,
) -> Beskar7MachineTemplateStatus {
    let known = hosts.into_iter().filter(|host| offering.is_for(host)).filter_map(Machine::of);
    let Some(least) = known.reduce(Machine::least) else {
        return Beskar7MachineTemplateStatus::default();
    };
    let capacity = [
        ("cpu".to_owned(), Quantity(least.cpus.to_string())),
        ("memory".to_owned(), Quantity(format!("{}Mi", least.memory_mib))),
    ];
    Beskar7MachineTemplateStatus {
        capacity: BTreeMap::from(capacity),
        node_info: Some(NodeInfo {
            architecture: offering.asked.or(least.architecture),
            operating_system: Some(OPERATING_SYSTEM.to_owned()),
        }),
    }
}

/// Whether what a template offers may change because a host came, changed or went. Most changes of a host are none of
/// its hardware.
#[must_use]
pub fn concerned_by_host(
    offering: &Offering,
    before: Option<&PhysicalHost>,
    after: Option<&PhysicalHost>,
) -> bool {
    let seen = |host: Option<&PhysicalHost>| host.filter(|host| offering.is_for(host)).and_then(Machine::of);
    seen(before) != seen(after)
}

/// The Cluster that a template belongs to, once somebody has written it down.
#[must_use]
pub fn cluster_name(template: &Beskar7MachineTemplate) -> Option<&str> {
    let metadata = &template.metadata;
    let owners = metadata.owner_references.as_deref().unwrap_or_default();
    let owner = owners.iter().find(|owner| {
        owner.kind == "Cluster" && owner.api_version.split('/').next() == Some(cluster_api::GROUP)
    });
    let label = || metadata.labels.as_ref()?.get(labels::CLUSTER_NAME).map(String::as_str);
    owner.map(|owner| owner.name.as_str()).or_else(label)
}

/// Whether nothing is to be written to a template: clusterctl moves it, somebody paused it or its Cluster, or it goes.
#[must_use]
pub fn left_alone(template: &Beskar7MachineTemplate, cluster: Option<&cluster_api::Cluster>) -> bool {
    untouched(&template.metadata) || cluster.is_some_and(|cluster| cluster.spec.paused == Some(true))
}

/// What is known of a machine's hardware, as far as the autoscaler asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Machine {
    cpus: i64,
    memory_mib: i64,
    /// Nothing where machines differ, or one is not known.
    architecture: Option<Architecture>,
}

impl Machine {
    /// A host whose processors or memory are not known is no use to anybody who counts.
    fn of(host: &PhysicalHost) -> Option<Self> {
        let hardware: &Hardware = &host.status.as_ref()?.hardware_details.as_ref()?.hardware;
        let cpu = hardware.cpu.as_ref()?;
        Some(Self {
            // A Node counts hardware threads.
            cpus: i64::from(cpu.threads.or(cpu.cores)?),
            memory_mib: hardware.memory.as_ref()?.total_mib?,
            architecture: Candidate::new(host).architecture,
        })
    }

    fn least(self, other: Self) -> Self {
        Self {
            cpus: self.cpus.min(other.cpus),
            memory_mib: self.memory_mib.min(other.memory_mib),
            architecture: self.architecture.filter(|_| self.architecture == other.architecture),
        }
    }
}

#[cfg(test)]
#[path = "offer_tests.rs"]
mod tests;

//! The Node of a machine: what is known of it, what is to be written to it, and what is said of it. Nothing here waits
//! for the workload cluster.

use std::time::Duration;

use beskar7_api::{Beskar7Machine, PhysicalHost, conditions::machine as reasons};
use beskar7_core::{
    conditions::{Finding, get},
    host::hold::Progress,
    machine::{
        node_labels::Labels,
        node_link::{Link, Node, Sought, SystemId},
        provider_id,
    },
};
use kube::ResourceExt as _;

use super::{around::Around, reconcile::Context, wake::machines_of};
use crate::{
    claim::intended_host,
    watch::{Key, key},
    workloads::{Write, system_id},
};

/// What was seen of a machine's Node.
#[derive(Debug)]
pub(super) struct Sighting {
    /// What is said of it.
    pub(super) finding: Finding,
    /// Whether only people can say which Node it is.
    pub(super) needs_people: bool,
    /// Whether it shows that the machine has booted.
    pub(super) proves_boot: bool,
    /// What is to be written to it.
    write: Option<Write>,
}

impl Context {
    /// What is known of a machine's Node, and that it is told of changes. Nothing, while none can be there, or where
    /// what was said of it still stands.
    pub(super) fn sight(
        &self,
        machine: &Beskar7Machine,
        host: &PhysicalHost,
        around: &Around,
    ) -> Option<Sighting> {
        let claim = host.spec.claim_id.as_deref()?;
        let booting_since = match Progress::of(host, claim) {
            Progress::NotBegun => {
                self.workloads.forget(&key(machine));
                return None;
            }
            Progress::Booting(booting) => Some(booting.since),
            Progress::Seen => None,
        };
        let (cluster, own) = (key(around.cluster()?), key(machine));
        let known = self.workloads.known(&cluster);
        let nodes = match &known.nodes {
            Some(Ok(nodes)) => nodes,
            Some(Err(trouble)) if !is_linked(machine) => {
                self.workloads.waits(&cluster, &own, &known);
                let finding = trouble.finding();
                return Some(Sighting { finding, needs_people: false, proves_boot: false, write: None });
            }
            // A cluster that can't be asked has not lost its Nodes.
            Some(Err(_)) | None => {
                self.workloads.waits(&cluster, &own, &known);
                return None;
            }
        };
        let (id, system) = (provider_id(host), system_of(host));
        let born = machine.creation_timestamp().map(|time| time.0);
        let sought = Sought { provider_id: &id, system: &system, booting_since, born };
        let link = sought.among(nodes, || self.twins(host, &system, &cluster));
        match &link {
            Link::Linked(_) => self.workloads.settles(&cluster, &own, &known),
            Link::Found(_) | Link::None(_) => self.workloads.waits(&cluster, &own, &known),
        }
        let failed = self.workloads.failure(&cluster, &own).map(|(why, _)| why);
        let (finding, write) = match &link {
            Link::Linked(node) => self.labelled(link.finding(&id, None), host, node, failed.as_deref()),
            Link::Found(node) => {
                let (node, uid) = (node.name.clone(), node.uid.clone());
                let write = Write::ProviderId { node, uid, system: system.clone(), id: id.clone() };
                (link.finding(&id, failed.as_deref()), Some(write))
            }
            Link::None(_) => (link.finding(&id, None), None),
        };
        Some(Sighting {
            finding,
            needs_people: link.needs_people(),
            proves_boot: sought.is_proof(&link),
            write,
        })
    }

    /// What is said of a Node that is linked, with its labels, and what is to be written of those.
    fn labelled(
        &self,
        mut finding: Finding,
        host: &PhysicalHost,
        node: &Node,
        failed: Option<&str>,
    ) -> (Finding, Option<Write>) {
        let prefixes = self.workloads.label_prefixes();
        if prefixes.is_empty() {
            return (finding, None);
        }
        let labels = Labels::of(host.metadata.labels.as_ref(), prefixes, node);
        if let Some(told) = labels.told() {
            finding.message = format!("{}; {told}", finding.message);
        }
        if !labels.changed {
            return (finding, None);
        }
        if let Some(why) = failed {
            finding.message = format!("{}; the labels of its host can't be written: {why}", finding.message);
        }
        let (name, uid) = (node.name.clone(), node.uid.clone());
        (finding, Some(Write::Labels { node: name, uid, labels: labels.wanted }))
    }

    /// Has written what is to be written; when to look again, should that have failed.
    pub(super) fn write_node(
        &self,
        machine: &Beskar7Machine,
        around: &Around,
        sighting: &Sighting,
    ) -> Option<Duration> {
        let (cluster, own) = (key(around.cluster()?), key(machine));
        let write = sighting.write.clone()?;
        self.workloads.order(&cluster, &own, write);
        self.workloads.failure(&cluster, &own).map(|(_, left)| left).filter(|left| !left.is_zero())
    }

    /// The other hosts of a cluster with this UUID.
    fn twins(&self, host: &PhysicalHost, system: &SystemId, cluster: &Key) -> Vec<String> {
        let own = key(host);
        let machines = machines_of(cluster, &self.caches).into_iter();
        let hosts =
            machines.filter_map(|machine| intended_host(self.caches.machines.get(&machine)?.as_ref()));
        let same =
            |other: &Key| self.caches.hosts.get(other).is_some_and(|other| system_of(&other) == *system);
        let mut twins: Vec<String> = hosts
            .filter(|other| *other != own && same(other))
            .map(|(namespace, name)| format!("{namespace}/{name}"))
            .collect();
        twins.sort();
        twins
    }
}

fn is_linked(machine: &Beskar7Machine) -> bool {
    let conditions = machine.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
    get(conditions, reasons::NODE_LINKED).is_some_and(|told| told.status == "True")
}

/// The UUID of a host's board, as its BMC tells it.
fn system_of(host: &PhysicalHost) -> SystemId {
    let details = host.status.as_ref().and_then(|status| status.hardware_details.as_ref());
    system_id(details.and_then(|details| details.hardware.uuid.as_deref()))
}

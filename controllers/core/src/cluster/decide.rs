//! The decision for one Beskar7Cluster: the one next write, what to say of it, and when to look again.
//!
//! The order is that of Cluster API's contract: left alone → owner → finalizer → paused → deleted or not. A missing
//! owner holds no deletion.

use std::{collections::BTreeSet, time::Duration};

use beskar7_api::{
    Beskar7Cluster, Beskar7ClusterStatus, PhysicalHost,
    cluster::ApiEndpoint,
    cluster_api::{ContractReference, Machine},
    conditions::{self, cluster as reasons},
    finalizers,
    initialization::Initialization,
};
use jiff::Timestamp;

use super::{
    endpoint::named,
    events::events,
    known::{Known, Settled, known, settled},
    missing::{ControlPlane, Missing, Waiting, control_plane, missing},
    owner::{Owner, left_alone, paused},
    pool::Pool,
    reservation::is_kept,
    zones::{ControlPlaneIn, failure_domains},
};
use crate::{
    conditions::{Finding, Truth, set},
    events::Event,
};

/// What was observed for one cluster.
#[derive(Debug, Clone)]
pub struct Observed<'a> {
    /// The Cluster that it belongs to.
    pub owner: Owner<'a>,
    /// What makes the control-plane machines, where [`asks_for_control_plane`] wants to know it.
    pub control_plane: ControlPlane,
    /// The Machines of its namespace.
    pub machines: Vec<&'a Machine>,
    /// The other namespaces that let its own have hosts.
    pub open: BTreeSet<String>,
    /// The hosts of its pool, and others that are kept for it. For a cluster that is deleted they must come from
    /// the API server: what is not seen then stays kept for ever.
    pub hosts: Vec<&'a PhysicalHost>,
}

/// The one next write beside the status. Each is made at the `resourceVersion` that was looked at; afterwards it is
/// looked again.
#[derive(Debug, Clone, PartialEq)]
pub enum Step<'a> {
    /// Nothing.
    Rest,
    /// On the cluster: our finalizer.
    Adopt,
    /// On the host: that it is kept for this cluster.
    Reserve(&'a PhysicalHost),
    /// On the host: that it is kept for nobody.
    Unreserve(&'a PhysicalHost),
    /// On the cluster: the endpoint, in its spec.
    WriteEndpoint(ApiEndpoint),
    /// On the cluster: our finalizer off.
    LetGo,
}

/// What follows.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision<'a> {
    /// What its status should say; nothing as long as that follows from what is to be done. A status that says so
    /// already is not written.
    pub status: Option<Beskar7ClusterStatus>,
    /// What people should be told, once the status is written.
    pub events: Vec<Event>,
    /// What to do, once the status is written.
    pub step: Step<'a>,
    /// When to look again, once nothing is to be done.
    pub requeue: Requeue,
}

/// When to look again though nothing changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Requeue {
    /// Only when something changes.
    OnChange,
    /// Soon, then less and less often, at least once per this time.
    Growing(Duration),
    /// The control plane could not be read: as the retry policy says.
    Failed,
}

/// What makes the control-plane machines, if that has to be known to decide.
#[must_use]
pub fn asks_for_control_plane<'a>(
    cluster: &Beskar7Cluster,
    owner: Owner<'a>,
    machines: &[&Machine],
) -> Option<&'a ContractReference> {
    let Owner::Found(owner_) = owner else { return None };
    let untouched = left_alone(cluster)
        || !is_adopted(cluster)
        || cluster.metadata.deletion_timestamp.is_some()
        || paused(cluster, owner).is_some();
    match settled(cluster, owner_, machines) {
        Settled::Open if !untouched => control_plane(owner_),
        Settled::Open | Settled::At(_) | Settled::Wrong(_) => None,
    }
}

/// What follows from what is wanted and what was observed.
#[must_use]
pub fn decide<'a>(cluster: &Beskar7Cluster, observed: &Observed<'a>, now: Timestamp) -> Decision<'a> {
    let deleted = cluster.metadata.deletion_timestamp.is_some();
    let adopted = is_adopted(cluster);
    // Deleted without our finalizer, it is held by others; we have nothing to do with it any more.
    if left_alone(cluster) || (deleted && !adopted) {
        return does(Step::Rest);
    }
    let subject = Subject { cluster, observed, pool: Pool::of(cluster, &observed.open), now };
    match observed.owner {
        Owner::NotNamed | Owner::Absent(_) if !deleted => subject.without_owner(),
        Owner::Found(_) if !deleted && !adopted => does(Step::Adopt),
        Owner::NotNamed | Owner::Absent(_) | Owner::Found(_) => match paused(cluster, observed.owner) {
            Some(why) => subject.paused(why),
            None if deleted => subject.deleted(),
            None => subject.normal(),
        },
    }
}

fn is_adopted(cluster: &Beskar7Cluster) -> bool {
    cluster.metadata.finalizers.iter().flatten().any(|name| name == finalizers::CLUSTER)
}

/// What a decision is about.
struct Subject<'c, 'o, 'a> {
    cluster: &'c Beskar7Cluster,
    observed: &'o Observed<'a>,
    pool: Pool<'c>,
    now: Timestamp,
}

impl<'a> Subject<'_, '_, 'a> {
    fn normal(&self) -> Decision<'a> {
        let Owner::Found(owner) = self.observed.owner else { return self.without_owner() };
        let endpoint = match settled(self.cluster, owner, &self.observed.machines) {
            Settled::At(endpoint) => endpoint,
            Settled::Wrong(finding) => {
                return self.waits(&Waiting { finding, provisioned: false, requeue: Requeue::OnChange });
            }
            Settled::Open => {
                return match missing(self.cluster, owner, self.observed, &self.pool) {
                    Missing::Reserve(host) => does(Step::Reserve(host)),
                    Missing::Write(endpoint) => does(Step::WriteEndpoint(endpoint)),
                    Missing::Wait(waiting) => self.waits(&waiting),
                };
            }
        };
        match known(self.cluster, owner, self.observed, &self.pool, &endpoint) {
            Known::Write(endpoint) => does(Step::WriteEndpoint(endpoint)),
            Known::Reserve(host) => does(Step::Reserve(host)),
            Known::Unreserve(host) => does(Step::Unreserve(host)),
            Known::Said { finding, control_plane } => {
                let mut status = self.status(&finding, control_plane);
                status.control_plane_endpoint = Some(endpoint);
                status.initialization = Some(Initialization { provisioned: Some(true) });
                self.says(status, Step::Rest, Requeue::OnChange)
            }
        }
    }

    fn waits(&self, waiting: &Waiting) -> Decision<'a> {
        let mut status = self.status(&waiting.finding, ControlPlaneIn::Every);
        if waiting.provisioned {
            status.initialization = Some(Initialization { provisioned: Some(true) });
        }
        self.says(status, Step::Rest, waiting.requeue)
    }

    fn without_owner(&self) -> Decision<'a> {
        let message = match self.observed.owner {
            Owner::Absent(name) => format!("Cluster {name}, which owns this Beskar7Cluster, does not exist"),
            Owner::NotNamed | Owner::Found(_) => "No Cluster owns this Beskar7Cluster: name it in \
                                                  spec.infrastructureRef of a Cluster in the same namespace"
                .to_owned(),
        };
        let reason = reasons::WAITING_FOR_OWNER_CLUSTER;
        let finding = Finding { truth: Truth::False, reason, message };
        self.waits(&Waiting { finding, provisioned: false, requeue: Requeue::OnChange })
    }

    /// Says that it is paused, and nothing else.
    fn paused(&self, why: String) -> Decision<'a> {
        let mut status = self.cluster.status.clone().unwrap_or_default();
        let finding = Finding::paused(Some(why));
        let generation = self.cluster.metadata.generation;
        set(&mut status.conditions, conditions::PAUSED, &finding, generation, self.now);
        self.says(status, Step::Rest, Requeue::OnChange)
    }

    /// Cluster API deletes the infrastructure of a cluster after its machines: nobody needs the kept hosts any more.
    fn deleted(&self) -> Decision<'a> {
        let step = match self.observed.hosts.iter().find(|host| is_kept(host, self.cluster)) {
            Some(host) => Step::Unreserve(host),
            None => Step::LetGo,
        };
        let mut status = self.cluster.status.clone().unwrap_or_default();
        status.ready = false;
        let message = "The hosts that were kept for it are given back".to_owned();
        let finding = Finding { truth: Truth::False, reason: reasons::DELETING, message };
        self.conditions(&mut status, &[(conditions::READY, &finding)]);
        self.says(status, step, Requeue::OnChange)
    }

    /// What its status says as long as nothing else is known than whether there is an endpoint.
    fn status(&self, endpoint: &Finding, control_plane: ControlPlaneIn<'_>) -> Beskar7ClusterStatus {
        let mut status = self.cluster.status.clone().unwrap_or_default();
        let ready = self.ready(endpoint);
        status.ready = ready.truth == Truth::True;
        // Go programs write an empty one.
        status.control_plane_endpoint = named(status.control_plane_endpoint.as_ref()).cloned();
        status.failure_domains = failure_domains(&self.pool, &self.observed.hosts, control_plane);
        let both = [(conditions::READY, &ready), (reasons::CONTROL_PLANE_ENDPOINT_READY, endpoint)];
        self.conditions(&mut status, &both);
        status
    }

    fn ready(&self, endpoint: &Finding) -> Finding {
        match (endpoint.truth, self.pool.closed.clone()) {
            (Truth::True, Some(message)) => {
                Finding { truth: Truth::False, reason: reasons::HOST_POOL_NOT_ALLOWED, message }
            }
            // Which way was taken stands in ControlPlaneEndpointReady: tools repeat what Ready says, and show it as a
            // remark.
            (Truth::True, None) => Finding { message: String::new(), ..endpoint.clone() },
            (Truth::False | Truth::Unknown, _) => endpoint.clone(),
        }
    }

    fn conditions(&self, status: &mut Beskar7ClusterStatus, findings: &[(&str, &Finding)]) {
        let generation = self.cluster.metadata.generation;
        status.observed_generation = generation;
        let not_paused = Finding::paused(None);
        for (type_, finding) in findings.iter().copied().chain([(conditions::PAUSED, &not_paused)]) {
            set(&mut status.conditions, type_, finding, generation, self.now);
        }
    }

    fn says(&self, status: Beskar7ClusterStatus, step: Step<'a>, requeue: Requeue) -> Decision<'a> {
        let before = self.cluster.status.as_ref();
        let events = events(before.map_or(&[], |before| &before.conditions), &status.conditions);
        Decision { status: Some(status), events, step, requeue }
    }
}

/// Something is to be done first; what is to be said follows from what comes of it.
const fn does(step: Step<'_>) -> Decision<'_> {
    Decision { status: None, events: Vec::new(), step, requeue: Requeue::OnChange }
}

#[cfg(test)]
#[path = "decide_tests.rs"]
mod tests;

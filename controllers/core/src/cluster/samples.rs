//! Clusters, hosts and Machines to write tests with.

use std::collections::BTreeSet;

use beskar7_api::{Beskar7Cluster, Beskar7ClusterStatus, PhysicalHost, cluster_api};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    ControlPlane, Decision, Observed, Owner, Requeue, Step, Unread, asks_for_control_plane, decide,
    owner_name,
};
use crate::{claim::samples::merge, conditions::get, events::Event};

/// A Beskar7Cluster that its Cluster owns and we have adopted, changed by a merge patch.
pub(super) fn cluster(patch: Value) -> Beskar7Cluster {
    let owner =
        json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "name": "prod", "uid": "u"});
    let object = patched(
        json!({
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1",
            "kind": "Beskar7Cluster",
            "metadata": {
                "name": "c", "namespace": "metal", "generation": 3, "ownerReferences": [owner],
                "finalizers": ["beskar7cluster.infrastructure.cluster.x-k8s.io"],
            },
            "spec": {},
        }),
        patch,
    );
    serde_json::from_value(object).unwrap()
}

/// The Cluster that owns it. It has another name.
pub(super) fn owner(spec: Value) -> cluster_api::Cluster {
    let object = patched(
        json!({
            "apiVersion": "cluster.x-k8s.io/v1beta2",
            "kind": "Cluster",
            "metadata": {"name": "prod", "namespace": "metal"},
            "spec": {},
        }),
        json!({"spec": spec}),
    );
    serde_json::from_value(object).unwrap()
}

/// A control-plane Machine whose infrastructure is ready.
pub(super) fn machine(name: &str, patch: Value) -> cluster_api::Machine {
    let object = patched(
        json!({
            "apiVersion": "cluster.x-k8s.io/v1beta2",
            "kind": "Machine",
            "metadata": {
                "name": name, "namespace": "metal", "creationTimestamp": "2026-11-16T00:00:00Z",
                "labels": {"cluster.x-k8s.io/control-plane": ""},
            },
            "spec": {"clusterName": "prod"},
            "status": {
                "initialization": {"infrastructureProvisioned": true},
                "addresses": [{"type": "InternalIP", "address": "10.0.0.7"}],
            },
        }),
        patch,
    );
    serde_json::from_value(object).unwrap()
}

/// A free host that declares an address.
pub(super) fn host(name: &str, patch: Value) -> PhysicalHost {
    let object = patched(
        json!({
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1",
            "kind": "PhysicalHost",
            "metadata": {"name": name, "namespace": "metal", "resourceVersion": "7"},
            "spec": {
                "redfishConnection": {"address": "https://10.0.0.1", "credentialsSecretRef": "bmc"},
                "addresses": [{"type": "InternalIP", "address": "10.1.0.1"}],
            },
            "status": {"state": "Available"},
        }),
        patch,
    );
    serde_json::from_value(object).unwrap()
}

/// The mark of a host that is kept for the cluster.
pub(super) fn kept() -> Value {
    json!({"spec": {"reservedFor": {"kind": "Beskar7Cluster", "namespace": "metal", "name": "c"}}})
}

fn patched(mut object: Value, patch: Value) -> Value {
    merge(&mut object, patch);
    object
}

/// Everything that a decision looks at.
pub(super) struct World {
    pub(super) cluster: Beskar7Cluster,
    /// Without one, the name in the owner reference leads nowhere.
    pub(super) owner: Option<cluster_api::Cluster>,
    pub(super) control_plane: ControlPlane,
    pub(super) machines: Vec<cluster_api::Machine>,
    pub(super) hosts: Vec<PhysicalHost>,
    /// The other namespaces that let its own have hosts.
    pub(super) open: BTreeSet<String>,
}

/// What was decided, as far as tests look at it.
#[derive(Debug)]
pub(super) struct Decided {
    /// Empty where nothing is said.
    pub(super) status: Beskar7ClusterStatus,
    pub(super) says: bool,
    pub(super) events: Vec<Event>,
    /// The step, and what it is done to.
    pub(super) step: String,
    pub(super) requeue: Requeue,
}

impl World {
    /// A cluster whose Cluster is there and names no control plane.
    pub(super) fn new(patch: Value) -> Self {
        Self {
            cluster: cluster(patch),
            owner: Some(owner(json!({}))),
            control_plane: ControlPlane::Unread(Unread::NotAsked),
            machines: Vec::new(),
            hosts: Vec::new(),
            open: BTreeSet::new(),
        }
    }

    /// A cluster whose control plane wants this many machines.
    pub(super) fn with_replicas(replicas: i64, hosts: Vec<PhysicalHost>) -> Self {
        let named = json!({"apiGroup": "controlplane.cluster.x-k8s.io", "kind": "KubeadmControlPlane", "name": "kcp"});
        let control_plane =
            ControlPlane::Found { replicas: Some(replicas), brings_endpoint: false, hosts: Box::default() };
        let owner = Some(owner(json!({"controlPlaneRef": named})));
        Self { owner, control_plane, hosts, ..Self::new(json!({})) }
    }

    pub(super) fn decide(&self) -> Decided {
        self.decide_at(Timestamp::UNIX_EPOCH)
    }

    pub(super) fn decide_at(&self, now: Timestamp) -> Decided {
        let observed = self.observed();
        let Decision { status, events, step, requeue } = decide(&self.cluster, &observed, now);
        let name = |host: &PhysicalHost| host.metadata.name.clone().unwrap();
        let step = match step {
            Step::Rest => "rest".to_owned(),
            Step::Adopt => "adopt".to_owned(),
            Step::Reserve(host) => format!("reserve {}", name(host)),
            Step::Unreserve(host) => format!("unreserve {}", name(host)),
            Step::WriteEndpoint(endpoint) => format!("write {}:{}", endpoint.host, endpoint.port),
            Step::LetGo => "let go".to_owned(),
        };
        Decided { says: status.is_some(), status: status.unwrap_or_default(), events, step, requeue }
    }

    fn observed(&self) -> Observed<'_> {
        let owner = match (owner_name(&self.cluster), &self.owner) {
            (None, _) => Owner::NotNamed,
            (Some(name), None) => Owner::Absent(name),
            (Some(_), Some(owner)) => Owner::Found(owner),
        };
        Observed {
            owner,
            control_plane: self.control_plane.clone(),
            machines: self.machines.iter().collect(),
            open: self.open.clone(),
            hosts: self.hosts.iter().collect(),
        }
    }

    /// Whether the control plane has to be read to decide.
    pub(super) fn asks(&self) -> bool {
        let observed = self.observed();
        asks_for_control_plane(&self.cluster, observed.owner, &observed.machines).is_some()
    }
}

impl Decided {
    /// Status and reason of a condition; empty where it is not there.
    pub(super) fn condition(&self, type_: &str) -> (&str, &str) {
        get(&self.status.conditions, type_).map_or(("", ""), |found| (&found.status, &found.reason))
    }

    pub(super) fn endpoint(&self) -> (&str, &str) {
        self.condition("ControlPlaneEndpointReady")
    }

    pub(super) fn message(&self, type_: &str) -> &str {
        &get(&self.status.conditions, type_).unwrap().message
    }

    pub(super) fn provisioned(&self) -> bool {
        self.status.initialization.as_ref().and_then(|all| all.provisioned) == Some(true)
    }
}

//! Machines, and what they stand among, to write tests with.

use beskar7_api::{Beskar7Cluster, Beskar7Machine, PhysicalHost, cluster_api};
use serde_json::{Value, json};

use super::gate::{Owner, Surroundings};
use crate::claim::samples::merge;

fn made<T: serde::de::DeserializeOwned>(mut object: Value, patch: Value) -> T {
    merge(&mut object, patch);
    serde_json::from_value(object).unwrap()
}

/// A Beskar7Machine that boots an ISO, changed by a merge patch.
pub(super) fn machine(patch: Value) -> Beskar7Machine {
    let object = json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "Beskar7Machine",
        "metadata": {"name": "m", "namespace": "metal", "uid": "u-1", "generation": 3},
        "spec": {"provisioningMode": "PreBakedISO", "imageURL": "https://images/node.iso"},
    });
    made(object, patch)
}

/// A Machine with its bootstrap data.
pub(super) fn owner(patch: Value) -> cluster_api::Machine {
    let object = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine",
        "metadata": {"name": "m", "namespace": "metal"},
        "spec": {"clusterName": "edge", "bootstrap": {"dataSecretName": "boot"}},
    });
    made(object, patch)
}

/// A Cluster whose infrastructure is there.
pub(super) fn cluster(patch: Value) -> cluster_api::Cluster {
    let object = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
        "metadata": {"name": "edge", "namespace": "metal"},
        "spec": {}, "status": {"initialization": {"infrastructureProvisioned": true}},
    });
    made(object, patch)
}

/// A Beskar7Cluster.
pub(super) fn infrastructure(patch: Value) -> Beskar7Cluster {
    let object = json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "Beskar7Cluster",
        "metadata": {"name": "edge-infra", "namespace": "metal"}, "spec": {},
    });
    made(object, patch)
}

/// A host that is held under claim `c`.
pub(super) fn held(patch: Value) -> PhysicalHost {
    let mut object = json!({
        "metadata": {"uid": "h-uid"},
        "spec": {"claimID": "c", "consumerRef": {"kind": "Beskar7Machine", "namespace": "metal", "name": "m"}},
        "status": {"state": "Claimed"},
    });
    merge(&mut object, patch);
    crate::claim::samples::host("h", object)
}

/// All that a machine stands among.
pub(super) fn around<'a>(
    owner: &'a cluster_api::Machine,
    cluster: &'a cluster_api::Cluster,
    infrastructure: &'a Beskar7Cluster,
) -> Surroundings<'a> {
    Surroundings { owner: Owner::There(owner), cluster: Some(cluster), infrastructure: Some(infrastructure) }
}

//! Cluster API's own kinds, as far as its contract has us read them. They are never written here, and what else stands
//! in them is not kept.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use serde::{Deserialize, Serialize};

use crate::address::MachineAddress;
use crate::cluster::ApiEndpoint;

/// Cluster API's group.
pub const GROUP: &str = "cluster.x-k8s.io";
/// The condition of a Machine whose infrastructure is there.
pub const INFRASTRUCTURE_READY: &str = "InfrastructureReady";

/// What is read of a Cluster's spec.
#[derive(CustomResource, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "cluster.x-k8s.io",
    version = "v1beta2",
    kind = "Cluster",
    namespaced,
    status = "ClusterStatus",
    derive = "PartialEq",
    schema = "disabled"
)]
pub struct ClusterSpec {
    /// Whether everything of the cluster is to be left alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<bool>,
    /// Where its control plane is reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control_plane_endpoint: Option<ApiEndpoint>,
    /// Its infrastructure: a Beskar7Cluster, where it is ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub infrastructure_ref: Option<ContractReference>,
    /// What makes its control-plane Machines, if anything does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control_plane_ref: Option<ContractReference>,
}

/// What is read of a Cluster's status.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct ClusterStatus {
    /// How far it has come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initialization: Option<InfrastructureProvisioned>,
}

/// How far a Cluster or a Machine has come. Once true it stays so.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct InfrastructureProvisioned {
    /// Whether its infrastructure is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub infrastructure_provisioned: Option<bool>,
}

/// Refers to an object of the same namespace; its version is that of the contract.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct ContractReference {
    /// API group.
    #[serde(default)]
    pub api_group: String,
    /// Kind.
    #[serde(default)]
    pub kind: String,
    /// Name.
    #[serde(default)]
    pub name: String,
}

/// What is read of a Machine's spec.
#[derive(CustomResource, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "cluster.x-k8s.io",
    version = "v1beta2",
    kind = "Machine",
    namespaced,
    status = "MachineStatus",
    derive = "PartialEq",
    schema = "disabled"
)]
pub struct MachineSpec {
    /// The Cluster that it belongs to.
    #[serde(default)]
    pub cluster_name: String,
    /// What it is started with.
    #[serde(default)]
    pub bootstrap: Bootstrap,
    /// Its infrastructure: a Beskar7Machine, where it is ours.
    #[serde(default)]
    pub infrastructure_ref: ContractReference,
    /// The zone that it must be in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_domain: Option<String>,
}

/// What a Machine is started with.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Bootstrap {
    /// The Secret with its data; absent until it is made. Empty: none is wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_secret_name: Option<String>,
}

/// What is read of a Machine's status.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct MachineStatus {
    /// Its addresses, as its infrastructure told them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<MachineAddress>,
    /// How far it has come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initialization: Option<InfrastructureProvisioned>,
    /// Its state in detail.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests may panic")]
    use super::*;

    #[test]
    fn what_else_stands_in_them_does_no_harm() {
        let cluster: Cluster = serde_json::from_value(serde_json::json!({
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": {"name": "c"},
            "spec": {"paused": true, "controlPlaneEndpoint": {"host": "h", "port": 1}, "topology": {"classRef": {}}},
            "status": {"initialization": {"infrastructureProvisioned": true}, "phase": "Provisioned"},
        }))
        .unwrap();
        assert_eq!(cluster.spec.paused, Some(true));
        assert_eq!(cluster.status.unwrap().initialization.unwrap().infrastructure_provisioned, Some(true));

        let machine: Machine = serde_json::from_value(serde_json::json!({
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "metadata": {"name": "m"},
            "spec": {"clusterName": "c", "bootstrap": {"configRef": {"name": "x"}}, "version": "v1.36.3"},
        }))
        .unwrap();
        assert_eq!(machine.spec.bootstrap.data_secret_name, None);
        assert_eq!(machine.status, None);
    }
}

//! Beskar7Cluster: the infrastructure of one Cluster API Cluster.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Deserializer, Serialize};

use crate::initialization::Initialization;
use crate::selector::LabelSelector;

/// What the cluster needs of its infrastructure.
#[derive(CustomResource, Serialize, Deserialize, KubeSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "infrastructure.cluster.x-k8s.io",
    version = "v1beta1",
    kind = "Beskar7Cluster",
    plural = "beskar7clusters",
    namespaced,
    status = "Beskar7ClusterStatus",
    derive = "PartialEq",
    shortname = "b7c",
    category = "cluster-api",
    category = "beskar7",
    doc = "A Beskar7Cluster is the infrastructure of one Cluster API Cluster: its control-plane endpoint, the hosts that its machines are taken from, and their failure domains.",
    label("cluster.x-k8s.io/v1beta2", "v1beta1"),
    printcolumn(
        name = "Cluster",
        type_ = "string",
        json_path = r".metadata.labels.cluster\.x-k8s\.io/cluster-name",
        description = "The Cluster that it belongs to"
    ),
    printcolumn(name = "Ready", type_ = "boolean", json_path = ".status.ready"),
    printcolumn(
        name = "Endpoint",
        type_ = "string",
        json_path = ".spec.controlPlaneEndpoint.host",
        description = "Where the control plane is reached"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
pub struct Beskar7ClusterSpec {
    /// Where the control plane is reached: a virtual IP, a load balancer, a DNS name. Without it the
    /// controller finds one where it can; the condition ControlPlaneEndpointReady says how.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control_plane_endpoint: Option<ApiEndpoint>,
    /// The hosts that this cluster's machines are taken from. Without it, all hosts of the cluster's
    /// own namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_pool: Option<HostPool>,
}

/// Where an API server is reached.
#[derive(Serialize, Deserialize, KubeSchema, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct ApiEndpoint {
    /// A name or an IP address. Empty: not known yet.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 512))]
    pub host: String,
    /// The port; 6443 unless given.
    #[serde(default = "default_api_port")]
    #[schemars(range(min = 0, max = 65535))]
    pub port: i32,
}

fn default_api_port() -> i32 {
    6443
}

/// The hosts that a cluster may use.
#[derive(Serialize, Deserialize, KubeSchema, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct HostPool {
    /// The hosts' namespace. Another than the cluster's own needs a HostDeployPolicy there that allows
    /// it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub namespace: Option<String>,
    /// Labels that the hosts must have. Without it, all hosts of the namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<LabelSelector>,
}

/// What was last seen of the cluster's infrastructure.
#[derive(Serialize, Deserialize, KubeSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Beskar7ClusterStatus {
    /// Whether the cluster's infrastructure is there.
    #[serde(default)]
    pub ready: bool,
    /// What Cluster API waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initialization: Option<Initialization>,
    /// Where the control plane is reached, given or found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control_plane_endpoint: Option<ApiEndpoint>,
    /// The zones of the hosts in the pool.
    #[serde(default, deserialize_with = "list_or_map", skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub failure_domains: Vec<FailureDomain>,
    /// The state of the cluster in detail: Ready, ControlPlaneEndpointReady, Paused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
    /// The generation of the spec that this status speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

/// A part of the data centre that fails by itself.
#[derive(Serialize, Deserialize, KubeSchema, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct FailureDomain {
    /// The value of the hosts' label topology.kubernetes.io/zone.
    #[schemars(length(min = 1, max = 256))]
    pub name: String,
    /// Whether control-plane machines may run there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control_plane: Option<bool>,
    /// More about the failure domain.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, String>,
}

/// What a failure domain is in a map.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct NamedFailureDomain {
    control_plane: Option<bool>,
    #[serde(default)]
    attributes: BTreeMap<String, String>,
}

/// Reads the list, or the map that the Go Beskar7 left in its place: a cluster that can't be read is not looked after.
fn list_or_map<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<FailureDomain>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Stored {
        List(Vec<FailureDomain>),
        Map(BTreeMap<String, NamedFailureDomain>),
    }
    Ok(match Option::<Stored>::deserialize(deserializer)? {
        None => Vec::new(),
        Some(Stored::List(list)) => list,
        Some(Stored::Map(map)) => map
            .into_iter()
            .map(|(name, NamedFailureDomain { control_plane, attributes })| FailureDomain {
                name,
                control_plane,
                attributes,
            })
            .collect(),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests may panic")]
    use serde_json::{Value, json};

    use super::*;

    fn read(failure_domains: &Value) -> Vec<FailureDomain> {
        let status: Beskar7ClusterStatus =
            serde_json::from_value(json!({"failureDomains": failure_domains})).unwrap();
        status.failure_domains
    }

    #[test]
    fn failure_domains_are_read_from_a_list_and_from_a_map_and_written_as_a_list() {
        let list = json!([
            {"name": "a", "controlPlane": true},
            {"name": "b", "controlPlane": false, "attributes": {"row": "7"}},
        ]);
        let map = json!({
            "b": {"controlPlane": false, "attributes": {"row": "7"}},
            "a": {"controlPlane": true},
        });
        assert_eq!(read(&map), read(&list));
        assert_eq!(serde_json::to_value(read(&map)).unwrap(), list);
        for empty in [json!([]), json!({}), json!(null)] {
            assert_eq!(read(&empty), []);
        }
    }

    #[test]
    fn a_status_of_the_go_beskar7_is_read() {
        let status: Beskar7ClusterStatus = serde_json::from_value(json!({
            "ready": true,
            "controlPlaneEndpoint": {"host": "10.0.0.7", "port": 6443},
            "failureDomains": {"a": {"controlPlane": true}},
            "conditions": [{
                "type": "ControlPlaneEndpointReady", "status": "True", "severity": "Info",
                "lastTransitionTime": "2025-06-01T00:00:00Z",
            }],
        }))
        .unwrap();
        assert_eq!(status.control_plane_endpoint.unwrap().host, "10.0.0.7");
        assert_eq!(status.conditions.len(), 1);
    }
}

//! HostDeployPolicy: which namespaces may claim the hosts of this one.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::boot::Cleaning;

/// Who may claim the hosts of this namespace, and on what terms.
#[derive(CustomResource, Serialize, Deserialize, KubeSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "infrastructure.cluster.x-k8s.io",
    version = "v1beta1",
    kind = "HostDeployPolicy",
    plural = "hostdeploypolicies",
    namespaced,
    status = "HostDeployPolicyStatus",
    derive = "PartialEq",
    shortname = "hdp",
    category = "cluster-api",
    category = "beskar7",
    doc = "A HostDeployPolicy allows claims from other namespaces on the hosts of its own. A namespace may claim when at least one policy allows it; without any policy no HostClaim gets a host.",
    label("clusterctl.cluster.x-k8s.io/move", ""),
    printcolumn(name = "Matches", type_ = "string", json_path = ".spec.hostclaimNamespaces.nameMatches"),
    printcolumn(name = "OnRevoke", type_ = "string", json_path = ".spec.onRevoke"),
    printcolumn(name = "Cleaning", type_ = "string", json_path = ".spec.minimumCleaning"),
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type=='Ready')].status"
    ),
    printcolumn(
        name = "Claims",
        type_ = "integer",
        json_path = ".status.claims",
        description = "Hosts that are held under it"
    ),
    printcolumn(
        name = "Hosts",
        type_ = "integer",
        json_path = ".status.hosts",
        description = "Hosts that it opens"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
pub struct HostDeployPolicySpec {
    /// The namespaces that may claim. All of names, nameMatches and hasLabels that are given must
    /// hold; `{}` allows every namespace.
    pub hostclaim_namespaces: NamespaceConditions,
    /// What becomes of hosts that were claimed before the policy was tightened or removed. Keep: the
    /// claim keeps its host, and its condition says NotAuthorized. Release: the host is taken back.
    #[serde(default)]
    pub on_revoke: OnRevoke,
    /// The least cleaning between two claims under this policy: None, Metadata or Full. The host may
    /// ask for more. None demands nothing: disks are cleaned as their host says, or as is usual.
    #[serde(default)]
    pub minimum_cleaning: Cleaning,
}

/// Conditions on a namespace. All that are given must hold.
#[derive(Serialize, Deserialize, KubeSchema, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct NamespaceConditions {
    /// The namespace has one of these names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 256), inner(length(min = 1, max = 63)))]
    pub names: Vec<String>,
    /// The whole name of the namespace matches this regular expression (RE2 syntax).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 256))]
    #[x_kube(validation = Rule::new("''.matches(self) in [true, false]")
        .message("nameMatches is not a regular expression in RE2 syntax: write for example tenant-[a-z]+ (it must match the whole name; no look-ahead, no back references)"))]
    pub name_matches: Option<String>,
    /// The namespace has all of these labels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub has_labels: Vec<LabelCondition>,
}

/// A label that a namespace must have.
#[derive(Serialize, Deserialize, KubeSchema, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct LabelCondition {
    /// The label's key.
    #[schemars(length(min = 1, max = 317))]
    pub name: String,
    /// The label's value. Without it, any value will do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub value: Option<String>,
}

/// What becomes of bound claims that a policy no longer allows.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnRevoke {
    /// They keep their host.
    #[default]
    Keep,
    /// Their host is taken back.
    Release,
}

/// What the policy covers now.
#[derive(Serialize, Deserialize, KubeSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct HostDeployPolicyStatus {
    /// How many hosts beside the policy are held under it, by HostClaims and Beskar7Machines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claims: Option<i32>,
    /// How many hosts the policy opens: those of its namespace that are neither on their way out nor
    /// externally provisioned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<i32>,
    /// The state of the policy in detail.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
    /// The generation of the spec that this status speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

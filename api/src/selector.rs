//! How a consumer says which hosts it can use.

use std::collections::BTreeMap;

use kube::KubeSchema;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::hardware::Architecture;

/// How a requirement compares a label.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq)]
pub enum SelectorOperator {
    /// The label has one of the values.
    In,
    /// The label is absent or has none of the values.
    NotIn,
    /// The label is there.
    Exists,
    /// The label is absent.
    DoesNotExist,
}

/// One requirement on a label.
#[derive(Serialize, Deserialize, KubeSchema, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new(
        "self.operator in ['In', 'NotIn'] ? has(self.values) && size(self.values) > 0 : !has(self.values) || size(self.values) == 0",
    )
    .message("In and NotIn need at least one entry in values; Exists and DoesNotExist take none"),
)]
pub struct LabelRequirement {
    /// The label's key.
    #[schemars(length(min = 1, max = 317))]
    pub key: String,
    /// How the label is compared: In, NotIn, Exists or DoesNotExist.
    pub operator: SelectorOperator,
    /// The values for In and NotIn.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(max = 63)))]
    pub values: Vec<String>,
}

/// Labels that a host must have. All requirements must hold; an empty selector matches every host.
#[derive(Serialize, Deserialize, KubeSchema, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct LabelSelector {
    /// Labels that a host must have with exactly these values.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "label_map")]
    pub match_labels: BTreeMap<String, String>,
    /// Further requirements on labels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub match_expressions: Vec<LabelRequirement>,
}

/// Which hosts may be chosen, by label and by namespace.
#[derive(Serialize, Deserialize, KubeSchema, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct HostSelector {
    /// Requirements on the host's labels.
    #[serde(flatten)]
    pub labels: LabelSelector,
    /// Only hosts of this namespace. Another namespace than one's own needs a HostDeployPolicy there
    /// that allows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub in_namespace: Option<String>,
}

/// A map of labels with the sizes that Kubernetes allows, so that rules may compare it.
pub(crate) fn label_map(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "maxProperties": 64,
        "additionalProperties": { "type": "string", "maxLength": 63 }
    })
}

/// The least hardware that will do.
#[derive(Serialize, Deserialize, KubeSchema, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct HardwareRequirements {
    /// At least this many processor cores, over all sockets.
    #[serde(default, rename = "minCPUCores", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65536))]
    pub min_cpu_cores: Option<i32>,
    /// At least this much memory, in GiB.
    #[serde(default, rename = "minMemoryGB", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1048576))]
    pub min_memory_gb: Option<i32>,
    /// At least one disk of this size, in GB (10⁹ bytes, as on the disk's label).
    #[serde(default, rename = "minDiskGB", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1048576))]
    pub min_disk_gb: Option<i32>,
    /// The processor architecture: amd64 or arm64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Architecture")]
    pub architecture: Option<Architecture>,
}

//! Beskar7MachineTemplate: what Cluster API makes Beskar7Machines from.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use kube::{CustomResource, KubeSchema};
use schemars::{Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::hardware::Architecture;
use crate::machine::Beskar7MachineSpec;
use crate::template::TemplateMetadata;

/// The template. It can't change: write a new one and refer to it.
#[derive(CustomResource, Serialize, Deserialize, KubeSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "infrastructure.cluster.x-k8s.io",
    version = "v1beta1",
    kind = "Beskar7MachineTemplate",
    plural = "beskar7machinetemplates",
    namespaced,
    status = "Beskar7MachineTemplateStatus",
    derive = "PartialEq",
    shortname = "b7mt",
    category = "cluster-api",
    category = "beskar7",
    doc = "A Beskar7MachineTemplate is what a control plane or a MachineDeployment makes Beskar7Machines from. It can't change: to roll out a change, write a new template and refer to it.",
    label("cluster.x-k8s.io/v1beta2", "v1beta1"),
    printcolumn(name = "Mode", type_ = "string", json_path = ".spec.template.spec.provisioningMode"),
    printcolumn(name = "OS", type_ = "string", json_path = ".spec.template.spec.osFamily"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "Image", type_ = "string", json_path = ".spec.template.spec.imageURL", priority = 1)
)]
pub struct Beskar7MachineTemplateSpec {
    /// What each Beskar7Machine is made of.
    pub template: Beskar7MachineTemplateResource,
}

/// What each Beskar7Machine is made of.
#[derive(Serialize, Deserialize, KubeSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("!has(self.spec.providerID)")
        .message("providerID belongs to one machine: remove it from the template").field_path(".spec.providerID"),
)]
pub struct Beskar7MachineTemplateResource {
    /// Labels and annotations of each Beskar7Machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<TemplateMetadata>,
    /// The spec of each Beskar7Machine.
    pub spec: Beskar7MachineSpec,
}

/// What the cluster autoscaler needs to know to start from zero machines.
#[derive(Serialize, Deserialize, KubeSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Beskar7MachineTemplateStatus {
    /// What a machine of this template offers at least, for example cpu and memory.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "resource_list")]
    pub capacity: BTreeMap<String, Quantity>,
    /// What runs on a machine of this template.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_info: Option<NodeInfo>,
}

/// What runs on a machine.
#[derive(Serialize, Deserialize, KubeSchema, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct NodeInfo {
    /// The architecture: amd64 or arm64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Architecture")]
    pub architecture: Option<Architecture>,
    /// The operating system, for example linux.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 64))]
    pub operating_system: Option<String>,
}

/// Quantities may be written as numbers too: `cpu: 4`.
fn resource_list(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "additionalProperties": {
            "anyOf": [{ "type": "integer" }, { "type": "string" }],
            "x-kubernetes-int-or-string": true
        }
    })
}

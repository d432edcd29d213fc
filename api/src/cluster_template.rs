//! Beskar7ClusterTemplate: what a ClusterClass makes Beskar7Clusters from.

use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

use crate::cluster::Beskar7ClusterSpec;
use crate::template::TemplateMetadata;

/// The template. It can't change: write a new one and refer to it.
#[derive(CustomResource, Serialize, Deserialize, KubeSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "infrastructure.cluster.x-k8s.io",
    version = "v1beta1",
    kind = "Beskar7ClusterTemplate",
    plural = "beskar7clustertemplates",
    namespaced,
    derive = "PartialEq",
    shortname = "b7ct",
    category = "cluster-api",
    category = "beskar7",
    doc = "A Beskar7ClusterTemplate is what a ClusterClass makes Beskar7Clusters from. It can't change: to roll out a change, write a new template and refer to it.",
    label("cluster.x-k8s.io/v1beta2", "v1beta1"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
pub struct Beskar7ClusterTemplateSpec {
    /// What each Beskar7Cluster is made of.
    pub template: Beskar7ClusterTemplateResource,
}

/// What each Beskar7Cluster is made of.
#[derive(Serialize, Deserialize, KubeSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Beskar7ClusterTemplateResource {
    /// Labels and annotations of each Beskar7Cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<TemplateMetadata>,
    /// The spec of each Beskar7Cluster.
    pub spec: Beskar7ClusterSpec,
}

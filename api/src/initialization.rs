//! The one field that Cluster API waits for on both infrastructure kinds.

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

/// What Cluster API waits for before it goes on.
#[derive(Serialize, Deserialize, KubeSchema, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Initialization {
    /// True once the infrastructure was there; Cluster API never looks back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provisioned: Option<bool>,
}

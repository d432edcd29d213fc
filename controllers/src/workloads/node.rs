//! Nodes as they are read: little of what an API server sends of each is kept.

use std::collections::{BTreeMap, BTreeSet};

use beskar7_core::machine::node_link::Node;
use k8s_openapi::{api::core::v1, apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry};
use kube::{
    Api, Client,
    core::{ApiResource, Object},
};
use serde::Deserialize;

use super::system_id;

/// Who writes labels for us, by server-side apply. Not who writes providerIDs: what one applies again without is
/// removed.
pub(super) const LABELS_BY: &str = "beskar7-node-labels";

/// What is read of a Node's spec.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Spec {
    #[serde(default, rename = "providerID")]
    provider_id: Option<String>,
}

/// What is read of a Node's status.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Status {
    #[serde(default)]
    node_info: Info,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Info {
    #[serde(default, rename = "systemUUID")]
    system_uuid: Option<String>,
}

/// A Node as it is read.
pub(super) type Read = Object<Spec, Status>;

/// The Nodes of a cluster.
pub(super) fn api(client: &Client) -> Api<Read> {
    Api::all_with(client.clone(), &ApiResource::erase::<v1::Node>(&()))
}

/// What is kept of a Node.
pub(super) fn keep(read: Read, label_prefixes: &[String]) -> Node {
    let metadata = read.metadata;
    let fields = metadata.managed_fields.unwrap_or_default();
    let (ours, theirs): (Vec<_>, Vec<_>) = fields.iter().partition(|entry| is_ours(entry));
    let ours: BTreeSet<String> = ours.into_iter().flat_map(labels_of).collect();
    let mut labels: BTreeMap<String, String> = metadata.labels.unwrap_or_default();
    let chosen = |label: &String| label_prefixes.iter().any(|prefix| label.starts_with(prefix.as_str()));
    labels.retain(|label, _| chosen(label) || ours.contains(label));
    let theirs = theirs.into_iter().flat_map(labels_of).filter(|label| labels.contains_key(label)).collect();
    Node {
        name: metadata.name.unwrap_or_default(),
        uid: metadata.uid.unwrap_or_default(),
        created: metadata.creation_timestamp.map(|time| time.0),
        deleting: metadata.deletion_timestamp.is_some(),
        provider_id: read.spec.provider_id.filter(|id| !id.is_empty()),
        system: system_id(read.status.unwrap_or_default().node_info.system_uuid.as_deref()),
        labels,
        ours,
        theirs,
    }
}

fn is_ours(entry: &ManagedFieldsEntry) -> bool {
    entry.manager.as_deref() == Some(LABELS_BY) && entry.operation.as_deref() == Some("Apply")
}

/// The labels among the fields that somebody manages.
fn labels_of(entry: &ManagedFieldsEntry) -> Vec<String> {
    let fields = entry.fields_v1.as_ref().map(|fields| &fields.0);
    let labels = fields.and_then(|fields| fields.pointer("/f:metadata/f:labels"));
    let names = labels.and_then(|labels| labels.as_object()).into_iter().flat_map(|labels| labels.keys());
    names.filter_map(|name| name.strip_prefix("f:")).map(str::to_owned).collect()
}

#[cfg(test)]
#[path = "node_tests.rs"]
mod tests;

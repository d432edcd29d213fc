//! Whose a Beskar7Cluster is, and whether it is to be touched at all.

use beskar7_api::{Beskar7Cluster, annotations, cluster_api};

/// The Cluster that a Beskar7Cluster belongs to. Its name need not be the Beskar7Cluster's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Owner<'a> {
    /// Nobody has said yet.
    NotNamed,
    /// One of this name, which does not exist.
    Absent(&'a str),
    /// This one.
    Found(&'a cluster_api::Cluster),
}

/// The name of the Cluster that owns it, once Cluster API has written it down.
#[must_use]
pub fn owner_name(cluster: &Beskar7Cluster) -> Option<&str> {
    let owners = cluster.metadata.owner_references.as_deref().unwrap_or_default();
    let is_cluster = |api_version: &str, kind: &str| {
        kind == "Cluster" && api_version.split('/').next() == Some(cluster_api::GROUP)
    };
    owners.iter().find(|owner| is_cluster(&owner.api_version, &owner.kind)).map(|owner| owner.name.as_str())
}

/// Whether it is none of our business: nothing is read for it and nothing written.
#[must_use]
pub fn left_alone(cluster: &Beskar7Cluster) -> bool {
    // clusterctl moved it elsewhere and deletes it here. It takes all other annotations off, so this comes first.
    annotated(cluster, annotations::DELETE_FOR_MOVE)
        // Somebody else looks after this infrastructure.
        || annotated(cluster, annotations::MANAGED_BY)
}

/// Why it is paused, in Cluster API's words; nothing when it is not.
pub(super) fn paused(cluster: &Beskar7Cluster, owner: Owner<'_>) -> Option<String> {
    let by_cluster = match owner {
        Owner::Found(owner) => owner.spec.paused == Some(true),
        Owner::NotNamed | Owner::Absent(_) => false,
    };
    let by_annotation = annotated(cluster, annotations::PAUSED);
    let why: Vec<String> = [
        by_cluster.then(|| "Cluster spec.paused is set to true".to_owned()),
        by_annotation.then(|| format!("Beskar7Cluster has the {} annotation", annotations::PAUSED)),
    ]
    .into_iter()
    .flatten()
    .collect();
    (!why.is_empty()).then(|| why.join(", "))
}

fn annotated(cluster: &Beskar7Cluster, name: &str) -> bool {
    cluster.metadata.annotations.as_ref().is_some_and(|all| all.contains_key(name))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::samples::cluster, *};

    #[test]
    fn the_owner_is_the_one_of_cluster_api() {
        let reference = |api_version: &str, kind: &str, name: &str| json!({"apiVersion": api_version, "kind": kind, "name": name, "uid": "u"});
        let mine = reference("cluster.x-k8s.io/v1beta2", "Cluster", "c");
        for (owners, expected) in [
            (json!([mine]), Some("c")),
            (json!([reference("v1", "ConfigMap", "x"), mine]), Some("c")),
            (json!([reference("cluster.x-k8s.io/v1beta1", "Cluster", "c")]), Some("c")),
            (json!([reference("other.example.org/v1", "Cluster", "c")]), None),
            (json!([reference("cluster.x-k8s.io/v1beta2", "ClusterClass", "c")]), None),
            (json!([]), None),
            (json!(null), None),
        ] {
            let cluster = cluster(json!({"metadata": {"ownerReferences": owners.clone()}}));
            assert_eq!(owner_name(&cluster), expected, "{owners}");
        }
    }
}

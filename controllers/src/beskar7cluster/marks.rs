//! What is written beside the status: the endpoint and the finalizer of a cluster, and on a host that it is kept. Each
//! write names the version that it was decided on, so that a stale view loses.

use beskar7_api::{Beskar7Cluster, PhysicalHost, cluster::ApiEndpoint, finalizers};
use beskar7_core::cluster::reservation;
use kube::{Client, ResourceExt as _};
use serde_json::{Value, json};

use super::ReconcileError;
use crate::write::{Writable, Written, merge};

/// It is ours to look after.
pub(super) async fn adopt(
    client: &Client,
    cluster: &Beskar7Cluster,
) -> Result<Written<Beskar7Cluster>, ReconcileError> {
    let mut finalizers = cluster.finalizers().to_vec();
    finalizers.push(finalizers::CLUSTER.to_owned());
    patch(client, "cluster", cluster, json!({ "metadata": { "finalizers": finalizers } })).await
}

/// It may go.
pub(super) async fn let_go(
    client: &Client,
    cluster: &Beskar7Cluster,
) -> Result<Written<Beskar7Cluster>, ReconcileError> {
    let rest: Vec<&String> =
        cluster.finalizers().iter().filter(|name| *name != finalizers::CLUSTER).collect();
    patch(client, "cluster", cluster, json!({ "metadata": { "finalizers": rest } })).await
}

/// This is its endpoint.
pub(super) async fn write_endpoint(
    client: &Client,
    cluster: &Beskar7Cluster,
    ApiEndpoint { host, port }: &ApiEndpoint,
) -> Result<Written<Beskar7Cluster>, ReconcileError> {
    let endpoint = json!({ "host": host, "port": port });
    patch(client, "cluster", cluster, json!({ "spec": { "controlPlaneEndpoint": endpoint } })).await
}

/// A host is kept for it.
pub(super) async fn reserve(
    client: &Client,
    cluster: &Beskar7Cluster,
    host: &PhysicalHost,
) -> Result<Written<PhysicalHost>, ReconcileError> {
    patch(client, "host", host, json!({ "spec": { "reservedFor": reservation(cluster) } })).await
}

/// A host is kept for nobody.
pub(super) async fn unreserve(
    client: &Client,
    host: &PhysicalHost,
) -> Result<Written<PhysicalHost>, ReconcileError> {
    patch(client, "host", host, json!({ "spec": { "reservedFor": null } })).await
}

async fn patch<K: Writable>(
    client: &Client,
    what: &'static str,
    object: &K,
    change: Value,
) -> Result<Written<K>, ReconcileError> {
    merge(client, object, change).await.map_err(|error| ReconcileError::Write(what, Box::new(error)))
}

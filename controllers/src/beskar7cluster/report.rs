//! Writes what was decided: one patch of what changed in the status, or none, and then the events.

use beskar7_api::{Beskar7Cluster, Beskar7ClusterStatus};
use beskar7_core::events::Event;
use kube::Client;
use serde_json::{Map, Value};

use super::ReconcileError;
use crate::{
    tell::Recorder,
    write::{Written, changes, merge_status},
};

/// What became of a report.
#[derive(Debug)]
pub(super) enum Reported {
    /// The status said so already.
    Unchanged,
    /// The status was written; the cluster is this now.
    Written(Box<Beskar7Cluster>),
    /// The cluster changed or went meanwhile: the decision was about the past.
    Stale,
}

/// Makes the cluster's status say `status`, and tells people.
pub(super) async fn report(
    client: &Client,
    recorder: &Recorder,
    cluster: &Beskar7Cluster,
    status: &Beskar7ClusterStatus,
    events: &[Event],
) -> Result<Reported, ReconcileError> {
    let Some(changed) = changed(cluster, status).map_err(ReconcileError::Json)? else {
        return Ok(Reported::Unchanged);
    };
    match merge_status(client, cluster, changed).await {
        Ok(Written::To(written)) => {
            recorder.tell(cluster, events).await;
            Ok(Reported::Written(written))
        }
        Ok(Written::Stale) => Ok(Reported::Stale),
        Err(error) => Err(ReconcileError::Status(Box::new(error))),
    }
}

/// What changed, and always the failure domains: what is stored may be the map of the Go Beskar7, which reads the same
/// here and makes Cluster API fail. A status of that time lacks much, so it is written at the first look.
fn changed(
    cluster: &Beskar7Cluster,
    status: &Beskar7ClusterStatus,
) -> Result<Option<Map<String, Value>>, serde_json::Error> {
    let Some(mut changed) = changes(cluster.status.as_ref(), status)? else { return Ok(None) };
    let domains = match status.failure_domains.is_empty() {
        true => Value::Null,
        false => serde_json::to_value(&status.failure_domains)?,
    };
    changed.insert("failureDomains".to_owned(), domains);
    Ok(Some(changed))
}

//! What of a cluster's status is written.

use beskar7_api::{Beskar7Cluster, Beskar7ClusterStatus};
use serde_json::{Map, Value};

use crate::write::changes;

/// What changed, and always the failure domains: what is stored may be the map of the Go Beskar7, which reads the same
/// here and makes Cluster API fail. A status of that time lacks much, so it is written at the first look.
pub(super) fn changed(
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

//! What people are told of a cluster: what keeps it from its endpoint, and that it has one.

use beskar7_api::conditions::{READY, cluster as reasons};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use crate::events::{Event, changed};

/// The events of one change of its conditions.
pub(super) fn events(before: &[Condition], after: &[Condition]) -> Vec<Event> {
    let endpoint = changed(before, after, reasons::CONTROL_PLANE_ENDPOINT_READY, "FindEndpoint");
    // The rest of Ready is told by the endpoint already.
    let pool = changed(before, after, READY, "FindHosts")
        .filter(|event| event.reason == reasons::HOST_POOL_NOT_ALLOWED)
        .filter(|_| endpoint.as_ref().is_none_or(|told| told.reason != reasons::HOST_POOL_NOT_ALLOWED));
    endpoint.into_iter().filter(is_news).chain(pool).collect()
}

/// Every cluster passes these on its way.
fn is_news(event: &Event) -> bool {
    ![reasons::WAITING_FOR_OWNER_CLUSTER, reasons::ENDPOINT_NOT_SET].contains(&event.reason.as_str())
}

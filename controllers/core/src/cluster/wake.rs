//! Which clusters are looked at again when something beside them changes. Nothing is polled for, so whoever waits for a
//! host or a Machine must be woken by it; and ten thousand hosts must not wake everybody all the time.

use std::collections::BTreeSet;

use beskar7_api::{
    Beskar7Cluster, PhysicalHost, cluster_api::Machine, conditions::cluster as reasons, labels,
};

use super::{
    owner::owner_name,
    pool::Pool,
    reservation::{declares, is_kept},
    zones::zone_in,
};
use crate::conditions::get;

/// Whether a cluster has to know that a host came, changed or went. What is true is compared with what the cluster
/// last said; should it have been deciding meanwhile, then what it says wakes it again.
#[must_use]
pub fn concerned_by_host(
    cluster: &Beskar7Cluster,
    before: Option<&PhysicalHost>,
    after: Option<&PhysicalHost>,
    open: &BTreeSet<String>,
) -> bool {
    let either = |test: &dyn Fn(&PhysicalHost) -> bool| before.is_some_and(test) || after.is_some_and(test);
    if either(&|host| is_kept(host, cluster)) {
        return true;
    }
    let pool = Pool::of(cluster, open);
    // Most hosts are elsewhere.
    if !either(&|host| host.metadata.namespace.as_deref().is_some_and(|there| pool.is_in(there))) {
        return false;
    }
    let zone = |host: Option<&PhysicalHost>| host.and_then(|host| zone_in(&pool, host).map(str::to_owned));
    if zone(before) != zone(after) {
        return true;
    }
    match said(cluster) {
        Some(reasons::WAITING_FOR_PHYSICAL_HOST) => either(&|host| pool.contains(host)),
        // Its host may come back, or lose its mark.
        Some(reasons::HOST_RESERVED | reasons::RESERVED_HOST_GONE) => {
            endpoint(cluster).is_some_and(|address| either(&|host| declares(host, address)))
        }
        Some(_) | None => false,
    }
}

/// Whether a cluster has to know that a Machine came or changed: the endpoint may be found from it.
#[must_use]
pub fn concerned_by_machine(cluster: &Beskar7Cluster, machine: &Machine) -> bool {
    let labels = machine.metadata.labels.as_ref();
    machine.metadata.namespace == cluster.metadata.namespace
        && owner_name(cluster) == Some(&machine.spec.cluster_name)
        && labels.is_some_and(|labels| labels.contains_key(labels::CONTROL_PLANE))
}

/// What the cluster last said about its endpoint.
fn said(cluster: &Beskar7Cluster) -> Option<&str> {
    let conditions = &cluster.status.as_ref()?.conditions;
    Some(get(conditions, reasons::CONTROL_PLANE_ENDPOINT_READY)?.reason.as_str())
}

fn endpoint(cluster: &Beskar7Cluster) -> Option<&str> {
    Some(cluster.status.as_ref()?.control_plane_endpoint.as_ref()?.host.as_str())
}

#[cfg(test)]
#[path = "wake_tests.rs"]
mod tests;

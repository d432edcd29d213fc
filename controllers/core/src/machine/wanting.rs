//! What a machine wants of its host.

use std::collections::BTreeSet;

use beskar7_api::{
    Beskar7Cluster, Beskar7Machine, conditions::cluster as reasons, labels, physical_host::Reservation,
};

use super::{boot::Order, gate::Surroundings};
use crate::{
    claim::{Candidate, Wanting},
    cluster::reservation,
    conditions::get,
    pool::Place,
};

/// What became of a host that is kept for a cluster's first control-plane machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// Nobody holds it.
    Free,
    /// Somebody holds it.
    Held,
}

impl Kept {
    /// Of the first of these hosts that is kept so.
    pub fn among<'h>(mine: &Reservation, hosts: impl IntoIterator<Item = Candidate<'h>>) -> Option<Self> {
        let host = hosts.into_iter().find(|host| host.reserved_for == Some(mine))?;
        Some(if host.claim.consumer.is_some() { Self::Held } else { Self::Free })
    }
}

/// For whom a cluster's hosts are held, as it stands on a host for the next choice.
fn owner_name(namespace: &str, cluster: &str) -> String {
    format!("Cluster/{namespace}/{cluster}")
}

/// What a machine wants, given what it stands among. `order` is what it boots, where that can be told; `open` are the
/// other namespaces that let its own have hosts.
#[must_use]
pub fn wanting(
    machine: &Beskar7Machine,
    around: &Surroundings<'_>,
    order: Option<&Order>,
    open: &BTreeSet<String>,
) -> Wanting {
    let namespace = machine.metadata.namespace.as_deref().unwrap_or_default();
    let name = machine.metadata.name.as_deref().unwrap_or_default();
    let selector = machine.spec.host_selector.as_ref();
    let place = place(machine, around);
    let owner = around.machine();
    Wanting {
        consumer: format!("Beskar7Machine/{namespace}/{name}"),
        owner: owner.map(|owner| owner_name(namespace, &owner.spec.cluster_name)),
        namespaces: place.reachable(namespace, open),
        pool: place.labels.cloned(),
        host: None,
        selector: selector.map(|selector| selector.labels.clone()),
        requirements: machine.spec.hardware_requirements.clone(),
        zone: owner.and_then(|owner| owner.spec.failure_domain.clone()),
        parameters_by: order.and_then(|order| order.parameters_by),
        from_network: order.is_some_and(Order::is_from_network),
        reservation: None,
    }
}

/// Where the hosts of a machine are.
#[must_use]
pub fn place<'a>(machine: &'a Beskar7Machine, around: &Surroundings<'a>) -> Place<'a> {
    let own = machine.metadata.namespace.as_deref().unwrap_or_default();
    let pool = around.infrastructure.and_then(|cluster| cluster.spec.host_pool.as_ref());
    Place::of(own, pool, machine.spec.host_selector.as_ref())
}

/// Whom the host of a machine must be kept for.
///
/// A control-plane machine takes the host that its cluster reserved, and no other: the cluster's endpoint is that host's
/// address. Unless another machine of the cluster has it already. `kept` finds the host that is kept so; it is asked for
/// control-plane machines only.
#[must_use]
pub fn reserved_for(
    around: &Surroundings<'_>,
    kept: impl FnOnce(&Reservation) -> Option<Kept>,
) -> Option<Reservation> {
    let (Some(cluster), true) = (around.infrastructure, is_control_plane(around)) else { return None };
    let mine = reservation(cluster);
    let wanted = match kept(&mine) {
        Some(Kept::Free) => true,
        Some(Kept::Held) => false,
        // The cluster says that there is one: it has not come to be known here yet.
        None => has_reserved(cluster),
    };
    wanted.then_some(mine)
}

fn has_reserved(cluster: &Beskar7Cluster) -> bool {
    let conditions = cluster.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
    let told = get(conditions, reasons::CONTROL_PLANE_ENDPOINT_READY);
    told.is_some_and(|told| told.reason == reasons::HOST_RESERVED)
}

fn is_control_plane(around: &Surroundings<'_>) -> bool {
    let all = around.machine().and_then(|machine| machine.metadata.labels.as_ref());
    all.is_some_and(|all| all.contains_key(labels::CONTROL_PLANE))
}

#[cfg(test)]
#[path = "wanting_tests.rs"]
mod tests;

//! The hosts that a cluster may use.

use std::collections::BTreeSet;

use beskar7_api::{Beskar7Cluster, PhysicalHost, physical_host::Reservation, selector::LabelSelector};

use super::missing::HostWish;
use crate::{
    claim::{Candidate, ReservationRule, Verdict, Wish, judge},
    pool::{Place, closed},
};

/// The hosts that a cluster may use.
pub(super) struct Pool<'a> {
    consumer: String,
    /// Empty where the pool is not allowed: then no host is in it.
    namespaces: BTreeSet<String>,
    selector: Option<&'a LabelSelector>,
    /// Why none may be had, where it is so.
    pub(super) closed: Option<String>,
}

impl<'a> Pool<'a> {
    /// `open` are the other namespaces that let the cluster's own have hosts.
    pub(super) fn of(cluster: &'a Beskar7Cluster, open: &BTreeSet<String>) -> Self {
        let own = cluster.metadata.namespace.as_deref().unwrap_or_default();
        let name = cluster.metadata.name.as_deref().unwrap_or_default();
        let place = Place::of(own, cluster.spec.host_pool.as_ref(), None);
        let namespaces = place.reachable(own, open);
        Self {
            consumer: format!("Beskar7Cluster/{own}/{name}"),
            closed: namespaces.is_empty().then(|| closed(&place, own)),
            namespaces,
            selector: place.labels,
        }
    }

    pub(super) fn contains(&self, host: &PhysicalHost) -> bool {
        match judge(&self.wish(ReservationRule::Unreserved), &Candidate::new(host)) {
            Verdict::Fits | Verdict::Rejected(_) => true,
            Verdict::OutOfSight => false,
        }
    }

    /// Any host of the pool.
    fn wish<'w>(&'w self, reservation: ReservationRule<'w>) -> Wish<'w> {
        Wish {
            consumer: &self.consumer,
            owner: None,
            namespaces: &self.namespaces,
            pool: self.selector,
            host: None,
            selector: None,
            requirements: None,
            zone: None,
            parameters_by: None,
            from_network: false,
            reservation,
        }
    }

    /// Whether a namespace is the one that the hosts are in.
    pub(super) fn is_in(&self, namespace: &str) -> bool {
        self.namespaces.contains(namespace)
    }

    /// A host of the pool that the control-plane machines can use, and that is kept for nobody, or for this one.
    pub(super) fn wish_for<'w>(&'w self, hosts: &'w HostWish, kept_for: Option<&'w Reservation>) -> Wish<'w> {
        let reservation = kept_for.map_or(ReservationRule::Unreserved, ReservationRule::Only);
        Wish {
            selector: hosts.selector.as_ref().map(|selector| &selector.labels),
            requirements: hosts.requirements.as_ref(),
            ..self.wish(reservation)
        }
    }
}

//! The hosts that a cluster may use.

use std::collections::BTreeSet;

use beskar7_api::{Beskar7Cluster, PhysicalHost, physical_host::Reservation, selector::LabelSelector};

use super::missing::HostWish;
use crate::claim::{Candidate, ReservationRule, Verdict, Wish, judge};

/// The hosts that a cluster may use.
pub(super) struct Pool<'a> {
    consumer: String,
    /// Empty where the pool is not allowed: then no host is in it.
    namespaces: BTreeSet<String>,
    selector: Option<&'a LabelSelector>,
    /// The namespace that is asked for and not allowed.
    pub(super) forbidden: Option<&'a str>,
}

impl<'a> Pool<'a> {
    pub(super) fn of(cluster: &'a Beskar7Cluster) -> Self {
        let own = cluster.metadata.namespace.as_deref().unwrap_or_default();
        let name = cluster.metadata.name.as_deref().unwrap_or_default();
        let pool = cluster.spec.host_pool.as_ref();
        // Another namespace needs a HostDeployPolicy there, and none is looked at yet.
        let forbidden = pool.and_then(|pool| pool.namespace.as_deref()).filter(|there| *there != own);
        let namespaces = if forbidden.is_some() { BTreeSet::new() } else { BTreeSet::from([own.to_owned()]) };
        Self {
            consumer: format!("Beskar7Cluster/{own}/{name}"),
            namespaces,
            selector: pool.and_then(|pool| pool.selector.as_ref()),
            forbidden,
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
            reservation,
        }
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

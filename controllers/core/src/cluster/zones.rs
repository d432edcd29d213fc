//! Failure domains: the zones of the hosts in a cluster's pool.

use std::collections::{BTreeMap, BTreeSet};

use beskar7_api::{PhysicalHost, cluster::FailureDomain};

use super::pool::Pool;
use crate::claim::Candidate;

/// As many as the API holds.
const MOST: usize = 100;

/// In which zones control-plane machines may be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum ControlPlaneIn<'a> {
    /// In each.
    Every,
    /// Only where the reserved host is; in none by name, where that has no zone. Else Cluster API would ask for the
    /// first machine in another zone, and it could not land on the host that is kept for it.
    ZoneOf(&'a PhysicalHost),
}

/// The failure domains of a pool, by name.
pub(super) fn failure_domains(
    pool: &Pool<'_>,
    hosts: &[&PhysicalHost],
    control_plane: ControlPlaneIn<'_>,
) -> Vec<FailureDomain> {
    let zones: BTreeSet<&str> = hosts.iter().filter_map(|host| zone_in(pool, host)).collect();
    let may = |zone: &str| match control_plane {
        ControlPlaneIn::Every => true,
        ControlPlaneIn::ZoneOf(host) => zone_of(host) == Some(zone),
    };
    zones
        .into_iter()
        .take(MOST)
        .map(|zone| FailureDomain {
            name: zone.to_owned(),
            control_plane: Some(may(zone)),
            attributes: BTreeMap::new(),
        })
        .collect()
}

/// The zone that a host adds to a pool.
pub(super) fn zone_in<'h>(pool: &Pool<'_>, host: &'h PhysicalHost) -> Option<&'h str> {
    zone_of(host).filter(|_| pool.contains(host))
}

fn zone_of(host: &PhysicalHost) -> Option<&str> {
    Candidate::new(host).zone().filter(|zone| !zone.is_empty())
}

#[cfg(test)]
#[path = "zones_tests.rs"]
mod tests;

//! The host that is kept for a cluster's first control-plane machine, because its address is the cluster's endpoint.

use std::collections::BTreeMap;

use beskar7_api::{Beskar7Cluster, PhysicalHost, physical_host::Reservation};

use super::{endpoint::best, missing::HostWish, pool::Pool};
use crate::claim::{Candidate, Choice, Verdict, choose, judge};

const KIND: &str = "Beskar7Cluster";

/// How a host says that it is kept for this cluster.
#[must_use]
pub fn reservation(cluster: &Beskar7Cluster) -> Reservation {
    Reservation {
        kind: KIND.to_owned(),
        namespace: cluster.metadata.namespace.clone().unwrap_or_default(),
        name: cluster.metadata.name.clone().unwrap_or_default(),
    }
}

/// What was found for a cluster that needs one.
pub(super) enum Search<'a> {
    /// This one is kept for it already, and this is its address.
    Kept(&'a str),
    /// This one can be.
    Free(&'a PhysicalHost),
    /// None can; why, for people.
    Nothing(String),
}

/// Looks for a host whose address can be the endpoint. One that is kept already comes first: a crash may have come
/// between keeping it and writing the endpoint.
pub(super) fn search<'a>(
    pool: &Pool<'_>,
    cluster: &Beskar7Cluster,
    wish: &HostWish,
    hosts: &[&'a PhysicalHost],
) -> Search<'a> {
    let mine = reservation(cluster);
    let (declaring, silent): (Vec<&PhysicalHost>, Vec<&PhysicalHost>) =
        hosts.iter().filter(|host| pool.contains(host)).partition(|host| address(host).is_some());
    let chosen = |kept_for| {
        let wish = pool.wish_for(wish, kept_for);
        match choose(&wish, declaring.iter().map(|host| Candidate::new(host)), &BTreeMap::new()) {
            Choice::Host(chosen) => {
                declaring.iter().find(|host| is(host, &chosen)).copied().ok_or_else(String::new)
            }
            Choice::Nothing(tally) => Err(tally.message(&wish)),
        }
    };
    if let Some(address) = chosen(Some(&mine)).ok().and_then(address) {
        return Search::Kept(address);
    }
    match chosen(None) {
        Ok(host) => Search::Free(host),
        Err(why) if silent.is_empty() => Search::Nothing(why),
        Err(_) if declaring.is_empty() => Search::Nothing(format!(
            "None of {} hosts declares an address: write the address that a machine will have into spec.addresses of \
             its PhysicalHost",
            silent.len()
        )),
        Err(why) => {
            Search::Nothing(format!("{why}; {} more declare no address in spec.addresses", silent.len()))
        }
    }
}

/// The address that a host says its machine will have.
fn address(host: &PhysicalHost) -> Option<&str> {
    best(&host.spec.addresses).map(|(_, address)| address)
}

/// Whether a host says that its machine will have this address.
pub(super) fn declares(host: &PhysicalHost, address: &str) -> bool {
    host.spec.addresses.iter().any(|declared| declared.address == address)
}

/// Whether a host is kept for this cluster.
pub(super) fn is_kept(host: &PhysicalHost, cluster: &Beskar7Cluster) -> bool {
    let (namespace, name) = (&cluster.metadata.namespace, &cluster.metadata.name);
    host.spec.reserved_for.as_ref().is_some_and(|kept_for| {
        kept_for.kind == KIND
            && Some(&kept_for.namespace) == namespace.as_ref()
            && Some(&kept_for.name) == name.as_ref()
    })
}

/// Whether a host could be kept for this cluster.
pub(super) fn is_free(pool: &Pool<'_>, host: &PhysicalHost) -> bool {
    match judge(&pool.wish_for(&HostWish::default(), None), &Candidate::new(host)) {
        Verdict::Fits => true,
        Verdict::Rejected(_) | Verdict::OutOfSight => false,
    }
}

fn is(host: &PhysicalHost, chosen: &Candidate<'_>) -> bool {
    let Candidate { namespace, name, .. } = Candidate::new(host);
    namespace == chosen.namespace && name == chosen.name
}

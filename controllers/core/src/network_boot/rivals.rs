//! Which of several reservations is answered, where they want the same: the oldest.

use std::net::Ipv4Addr;

use beskar7_api::DHCPReservation;

/// What two reservations can't both have. Without its MAC address one is not answered at all: that is said first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shared {
    /// The MAC address of the machine that asks.
    Mac,
    /// The IP address that it is given.
    Address,
}

/// What two different reservations both want.
#[must_use]
pub fn shared(one: &DHCPReservation, other: &DHCPReservation) -> Option<Shared> {
    if one.spec.host_mac.eq_ignore_ascii_case(&other.spec.host_mac) {
        return Some(Shared::Mac);
    }
    // One address is written in one way only.
    let same = one.spec.ip_address == other.spec.ip_address;
    (same && address_of(one).is_some()).then_some(Shared::Address)
}

/// The address that a reservation gives, if it does.
#[must_use]
pub fn address_of(reservation: &DHCPReservation) -> Option<Ipv4Addr> {
    reservation.spec.ip_address.as_deref()?.parse().ok()
}

/// Of two reservations that want the same, the lesser one has it.
#[must_use]
pub fn rank(reservation: &DHCPReservation) -> impl Ord + use<'_> {
    let metadata = &reservation.metadata;
    (metadata.creation_timestamp.as_ref().map(|time| time.0), name(reservation))
}

/// The reservation that is answered in the place of this one, or given its address, if another is; and which of both.
#[must_use]
pub fn answered_before<'a>(
    reservation: &DHCPReservation,
    all: impl IntoIterator<Item = &'a DHCPReservation>,
) -> Option<(Shared, &'a DHCPReservation)> {
    let older = others(reservation, all).filter(|other| rank(other) < rank(reservation));
    let rivals = older.filter_map(|other| Some((shared(reservation, other)?, other)));
    rivals.min_by_key(|(shared, other)| (*shared, rank(other)))
}

/// Another reservation, older or not, that gives the address that this one is to give.
#[must_use]
pub fn gives_its_address<'a>(
    reservation: &DHCPReservation,
    all: impl IntoIterator<Item = &'a DHCPReservation>,
) -> Option<&'a DHCPReservation> {
    let address = address_of(reservation)?;
    others(reservation, all).find(|other| address_of(other) == Some(address))
}

/// Those that stay.
fn others<'a>(
    reservation: &DHCPReservation,
    all: impl IntoIterator<Item = &'a DHCPReservation>,
) -> impl Iterator<Item = &'a DHCPReservation> {
    let is_other = |other: &&DHCPReservation| {
        name(other) != name(reservation) && other.metadata.deletion_timestamp.is_none()
    };
    all.into_iter().filter(is_other)
}

fn name(reservation: &DHCPReservation) -> (Option<&str>, Option<&str>) {
    (reservation.metadata.namespace.as_deref(), reservation.metadata.name.as_deref())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn reservation(name: &str, created: u8, mac: u8, address: Option<&str>) -> DHCPReservation {
        serde_json::from_value(json!({
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "DHCPReservation",
            "metadata": {"name": name, "namespace": "metal", "creationTimestamp": format!("2026-01-{created:02}T00:00:00Z")},
            "spec": {"hostRef": {"name": name}, "hostMAC": format!("52:54:00:00:00:{mac:02X}"), "ipAddress": address,
                "prefix": 24},
        }))
        .unwrap()
    }

    #[test]
    fn of_several_that_want_the_same_the_oldest_has_it() {
        let (seven, eight) = (Some("10.0.0.7"), Some("10.0.0.8"));
        let own = reservation("m", 10, 0xA, seven);
        for (others, expected) in [
            (vec![], None),
            (vec![own.clone()], None),
            (vec![reservation("a", 9, 0xB, eight)], None),
            (vec![reservation("a", 9, 0xB, None)], None),
            (vec![reservation("a", 9, 0xB, seven)], Some((Shared::Address, "a"))),
            (vec![reservation("a", 11, 0xB, seven)], None),
            (vec![reservation("a", 9, 0xA, eight)], Some((Shared::Mac, "a"))),
            (vec![reservation("a", 9, 0xA, seven)], Some((Shared::Mac, "a"))),
            (vec![reservation("a", 11, 0xA, seven)], None),
            // Of the same second.
            (vec![reservation("a", 10, 0xB, seven)], Some((Shared::Address, "a"))),
            (vec![reservation("z", 10, 0xB, seven)], None),
            // The oldest is named, and what is worse is said first.
            (
                vec![reservation("b", 9, 0xB, seven), reservation("a", 8, 0xC, seven)],
                Some((Shared::Address, "a")),
            ),
            (vec![reservation("a", 8, 0xB, seven), reservation("b", 9, 0xA, None)], Some((Shared::Mac, "b"))),
        ] {
            let found = answered_before(&own, &others);
            let found = found.map(|(shared, other)| (shared, other.metadata.name.as_deref().unwrap()));
            assert_eq!(found, expected, "{others:?}");
        }
    }

    #[test]
    fn what_is_not_given_is_not_shared() {
        let (none, seven) = (reservation("a", 1, 1, None), reservation("b", 2, 2, Some("10.0.0.7")));
        let wrong = |name: &str, mac| reservation(name, 1, mac, Some("none"));
        for (one, other, expected) in [
            (&none, &reservation("c", 3, 3, None), None),
            (&none, &seven, None),
            (&wrong("x", 8), &wrong("y", 9), None),
            (&seven, &reservation("c", 3, 3, Some("10.0.0.7")), Some(Shared::Address)),
        ] {
            assert_eq!((shared(one, other), shared(other, one)), (expected, expected), "{one:?} {other:?}");
        }
    }

    #[test]
    fn one_that_goes_stands_in_nobodys_way() {
        let own = reservation("m", 10, 1, Some("10.0.0.7"));
        let mut other = reservation("a", 9, 2, Some("10.0.0.7"));
        assert!(answered_before(&own, [&other]).is_some() && gives_its_address(&own, [&other]).is_some());
        assert!(gives_its_address(&other, [&own]).is_some(), "older or not");
        assert!(gives_its_address(&own, [&own]).is_none());
        other.metadata.deletion_timestamp = other.metadata.creation_timestamp.clone();
        assert!(answered_before(&own, [&other]).is_none() && gives_its_address(&own, [&other]).is_none());
    }
}

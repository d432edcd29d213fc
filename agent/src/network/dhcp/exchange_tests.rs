//! Conversations, step by step and to their end.

use super::super::message::tests::{US, answer};
use super::*;

const OFFER: u8 = 2;
const ACK: u8 = 5;
const NAK: u8 = 6;
const ID: u32 = 77;
const SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const OURS: [u8; 4] = [10, 0, 0, 5];

fn said(kind: u8, options: &[(u8, &[u8])]) -> Answer {
    Answer::parse(&answer(kind, ID, OURS, options)).unwrap()
}

fn from_server(kind: u8) -> Answer {
    said(kind, &[(54, &SERVER.octets()), (51, &[0, 0, 0, 100])])
}

/// What is asked (the option that says so, and what stands behind it), of whom, and for how long one waits.
fn asked(next: &Next) -> (&'static str, Ipv4Addr, u64) {
    let Next::Send { message, to, wait } = next else { panic!("{next:?}") };
    let what = match (message[242], message[243]) {
        (1, _) => "discover",
        (3, 50) => "take",
        (3, _) => "keep",
        other => panic!("{other:?}"),
    };
    (what, *to, wait.as_secs())
}

fn lease() -> Lease {
    let (mut exchange, _) = Exchange::begin(US, ID);
    exchange.hear(&from_server(OFFER));
    let Next::Leased(lease) = exchange.hear(&from_server(ACK)) else { panic!() };
    lease
}

#[test]
fn an_offer_is_taken_and_acknowledged() {
    let (mut exchange, next) = Exchange::begin(US, ID);
    assert_eq!(asked(&next), ("discover", Ipv4Addr::BROADCAST, 1));
    assert_eq!(asked(&exchange.hear(&from_server(OFFER))), ("take", Ipv4Addr::BROADCAST, 1));
    let Next::Leased(lease) = exchange.hear(&from_server(ACK)) else { panic!() };
    assert_eq!((lease.addressing.address, lease.addressing.prefix), (Ipv4Addr::from(OURS), USUAL_PREFIX));
    assert_eq!((lease.server, lease.renew_after.as_secs(), lease.lasts.as_secs()), (SERVER, 50, 100));
}

#[test]
fn what_is_not_meant_for_this_moment_says_nothing() {
    let stranger = Answer { mac: Mac([9; 6]), ..from_server(OFFER) };
    let old = Answer { transaction: ID + 1, ..from_server(OFFER) };
    let nothing = Answer { address: Ipv4Addr::UNSPECIFIED, ..from_server(OFFER) };
    let (mut exchange, _) = Exchange::begin(US, ID);
    for message in [stranger, old, nothing, said(OFFER, &[]), from_server(ACK), from_server(NAK)] {
        assert_eq!(exchange.hear(&message), Next::Wait, "{message:?}");
    }
    exchange.hear(&from_server(OFFER));
    let other = said(OFFER, &[(54, &[10, 0, 0, 2])]);
    let empty = Answer { address: Ipv4Addr::UNSPECIFIED, ..from_server(ACK) };
    for message in [other, empty] {
        assert_eq!(exchange.hear(&message), Next::Wait, "{message:?}");
    }
}

#[test]
fn it_is_asked_less_and_less_often_and_not_for_ever() {
    let (mut exchange, mut next) = Exchange::begin(US, ID);
    let mut waits = Vec::new();
    while next != Next::Silent {
        waits.push(asked(&next).2);
        next = exchange.time_is_over();
    }
    assert_eq!(waits, [1, 2, 4, 8, 8, 8]);
    // The servers are told for how long: some answer only then.
    let (mut exchange, _) = Exchange::begin(US, ID);
    let Next::Send { message, .. } = exchange.time_is_over() else { panic!() };
    assert_eq!(message[8..10], [0, 1]);
}

#[test]
fn an_offer_that_comes_late_is_still_taken() {
    let (mut exchange, mut next) = Exchange::begin(US, ID);
    for _ in 1..MOST_TRIES {
        next = exchange.time_is_over();
    }
    assert_eq!(asked(&next).0, "discover");
    assert_eq!(asked(&exchange.hear(&from_server(OFFER))).0, "take");
    assert_eq!(exchange.time_is_over(), Next::Silent);
}

#[test]
fn a_server_that_offers_and_goes_away_or_refuses_is_not_clung_to() {
    let (mut exchange, _) = Exchange::begin(US, ID);
    exchange.hear(&from_server(OFFER));
    for expected in ["take", "take", "discover"] {
        assert_eq!(asked(&exchange.time_is_over()).0, expected);
    }
    let (mut exchange, _) = Exchange::begin(US, ID);
    exchange.hear(&from_server(OFFER));
    assert_eq!(asked(&exchange.hear(&from_server(NAK))).0, "discover");
    // One that does so for ever is not asked for ever.
    let ends = (0..100).any(|_| {
        exchange.hear(&from_server(OFFER));
        exchange.hear(&from_server(NAK)) == Next::Silent
    });
    assert!(ends);
}

#[test]
fn an_address_is_kept_by_asking_its_server_and_then_everybody() {
    let lease = lease();
    let (mut exchange, mut next) = Exchange::renew(US, ID, &lease);
    for to in [SERVER, SERVER, Ipv4Addr::BROADCAST] {
        let (what, whom, _) = asked(&next);
        assert_eq!((what, whom), ("keep", to));
        next = exchange.time_is_over();
    }
    assert!(matches!(exchange.clone().hear(&from_server(ACK)), Next::Leased(again) if again == lease));
    assert!(
        matches!(exchange.clone().hear(&said(ACK, &[])), Next::Leased(again) if again.server == SERVER),
        "the server need not say its name again"
    );
    assert_eq!(exchange.hear(&from_server(NAK)), Next::Refused);
}

#[test]
fn the_time_for_renewal_is_half_or_what_the_server_says() {
    for (options, renew, lasts) in [
        (&[(51, &[0, 0, 0, 100][..])][..], 50, 100),
        (&[(51, &[0, 0, 0, 100]), (58, &[0, 0, 0, 20])], 20, 100),
        (&[(51, &[0, 0, 0, 100]), (58, &[0, 0, 0, 200])], 50, 100),
        (&[], 1800, 3600),
        (&[(51, &[255; 4])], u64::from(u32::MAX / 2), u64::from(u32::MAX)),
    ] {
        let lease = leased(&said(ACK, options), SERVER).unwrap();
        assert_eq!((lease.renew_after.as_secs(), lease.lasts.as_secs()), (renew, lasts), "{options:?}");
    }
}

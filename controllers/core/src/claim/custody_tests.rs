//! A table over everything that a host can say about its claim.

use serde_json::{Value, json};

use super::{super::samples::host, *};

const MINE: &str = "0123456789abcdef0123456789abcdef";
const OTHER: &str = "ffffffffffffffffffffffffffffffff";

struct Said {
    consumer: bool,
    claim: Option<&'static str>,
    machine: Option<&'static str>,
    released: Option<&'static str>,
    state: Option<&'static str>,
}

fn patch(said: &Said, more: Value) -> beskar7_api::PhysicalHost {
    let consumer = said.consumer.then(|| json!({"kind": "Beskar7Machine", "namespace": "t", "name": "m"}));
    let mut host = host("h", more);
    host.spec.consumer_ref = consumer.map(|consumer| serde_json::from_value(consumer).unwrap());
    host.spec.claim_id = said.claim.map(Into::into);
    let annotations = host.metadata.annotations.get_or_insert_default();
    if let Some(released) = said.released {
        annotations.insert(beskar7_api::annotations::RELEASE.into(), released.into());
    }
    let status = host.status.get_or_insert_default();
    status.claim_id = said.machine.map(Into::into);
    status.state = said.state.map(|state| serde_json::from_value(json!(state)).unwrap());
    host
}

#[test]
fn what_a_claim_asks_of_the_host() {
    use Custody::*;
    let said = |consumer, claim, machine, released, state| Said { consumer, claim, machine, released, state };
    let mine = Some(MINE);
    for (name, said, expected) in [
        ("new", said(false, None, None, None, None), Free),
        ("available", said(false, None, None, None, Some("Available")), Free),
        ("clean and cleared", said(false, None, None, None, Some("Deprovisioning")), Free),
        ("an old release", said(false, None, None, Some(OTHER), Some("Available")), Free),
        ("bound", said(true, mine, None, None, Some("Available")), Accept),
        ("bound, status lost", said(true, mine, None, None, None), Accept),
        ("held", said(true, mine, mine, None, Some("Provisioned")), Held),
        ("held, an old release", said(true, mine, mine, Some(OTHER), Some("Provisioned")), Held),
        (
            "reference lost",
            said(false, mine, mine, None, Some("Provisioned")),
            Kept(super::Kept::ReferenceLost),
        ),
        (
            "reference lost at once",
            said(false, mine, None, None, Some("Available")),
            Kept(super::Kept::ReferenceLost),
        ),
        ("all lost", said(false, None, mine, None, Some("Provisioned")), Kept(super::Kept::ClaimLost)),
        (
            "all lost but the reference",
            said(true, None, mine, None, Some("Provisioned")),
            Kept(super::Kept::ClaimLost),
        ),
        (
            "all lost, another's release",
            said(false, None, mine, Some(OTHER), Some("Provisioned")),
            Kept(super::Kept::ClaimLost),
        ),
        ("all lost, released", said(false, None, mine, mine, Some("Provisioned")), Deprovision),
        ("no claim ID", said(true, None, None, None, Some("Available")), Kept(super::Kept::NoClaimId)),
        ("released", said(false, mine, mine, mine, Some("Provisioned")), Deprovision),
        ("released by a person", said(true, mine, mine, mine, Some("Provisioned")), Deprovision),
        ("released before it was accepted", said(false, mine, None, mine, Some("Available")), Deprovision),
        ("released, status lost", said(false, mine, None, mine, None), Deprovision),
        ("being cleaned", said(false, mine, mine, mine, Some("Deprovisioning")), Deprovision),
        ("clean", said(false, mine, None, mine, Some("Deprovisioning")), ClearClaim),
        ("not clean of another", said(true, mine, Some(OTHER), None, Some("Claimed")), Deprovision),
    ] {
        let host = patch(&said, json!({}));
        assert_eq!(custody(&Candidate::new(&host), None), expected, "{name}");
        assert_eq!(custody(&Candidate::new(&host), Some(true)), expected, "{name}");
        // For an absent consumer nothing is begun, and nothing is taken from it.
        let absent = custody(&Candidate::new(&host), Some(false));
        match expected {
            Held | Accept => assert_eq!(absent, Kept(super::Kept::ConsumerMissing), "{name}"),
            Free | Kept(_) | Deprovision | ClearClaim | OnHold | MayGo => {
                assert_eq!(absent, expected, "{name}");
            }
        }
        let paused = patch(&said, json!({"metadata": {"annotations": {"cluster.x-k8s.io/paused": ""}}}));
        assert_eq!(custody(&Candidate::new(&paused), None), OnHold, "{name}");
        let moved = json!({"metadata": {"annotations": {"clusterctl.cluster.x-k8s.io/delete-for-move": ""}}});
        assert_eq!(custody(&Candidate::new(&patch(&said, moved)), Some(false)), OnHold, "{name}");
        // Deleting a host that is not free waits for its release.
        let deleting = patch(&said, json!({"metadata": {"deletionTimestamp": "2026-11-16T00:00:00Z"}}));
        let expected = if expected == Free { MayGo } else { expected };
        assert_eq!(custody(&Candidate::new(&deleting), None), expected, "{name}");
    }
}

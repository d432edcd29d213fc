//! Whether `clusterctl move` may take a host along.
//!
//! Not while something is done to its machine: the manager there and the manager here would both do it. clusterctl waits
//! for the annotation to go; what it finds blocked when it begins, it waits for. So it is written with what begins the
//! work, before any BMC is told anything, and goes with what ends it.

use beskar7_api::{PhysicalHost, annotations};

use super::hold::{Hold, Progress, annotation};

/// What stands in the annotation. Only this is taken off again: people may have reasons of their own.
pub const BLOCKED: &str = "beskar7: the machine is being provisioned or deprovisioned";

/// What is to be written into the annotation; nothing where something stands there already.
#[must_use]
pub fn block(host: &PhysicalHost) -> Option<&'static str> {
    annotation(host, annotations::BLOCK_MOVE).is_none().then_some(BLOCKED)
}

/// The same, for one who is about to bind a host under a claim: a machine whose boot was seen for it is left as it is.
#[must_use]
pub fn block_for(host: &PhysicalHost, claim: &str) -> Option<&'static str> {
    match Progress::of(host, claim) {
        Progress::Seen => None,
        Progress::NotBegun | Progress::Booting(_) => block(host),
    }
}

/// Whether the annotation is ours to take off.
#[must_use]
pub fn may_unblock(host: &PhysicalHost) -> bool {
    annotation(host, annotations::BLOCK_MOVE) == Some(BLOCKED)
}

/// Whether something is about to be done to a machine, and whoever asked for it did not block the move: a person who
/// released a host by hand, a consumer that does not know of it. A host that is only being deleted does not move.
#[must_use]
pub fn must_block_first(host: &PhysicalHost) -> bool {
    let is_under_claim = match Hold::of(host) {
        Hold::Held { .. } | Hold::Leaving => true,
        Hold::Free | Hold::Kept(_) | Hold::Cleaned | Hold::OnHold => false,
    };
    is_under_claim && block(host).is_some()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::claim::samples::host;

    const CLAIM: &str = "0123456789abcdef0123456789abcdef";

    fn annotated(annotations: Value) -> PhysicalHost {
        let spec = json!({"claimID": CLAIM, "consumerRef": {"kind": "Beskar7Machine", "name": "m"}});
        host(
            "h",
            json!({"metadata": {"annotations": annotations}, "spec": spec, "status": {"claimID": CLAIM}}),
        )
    }

    #[test]
    fn a_move_is_blocked_before_something_is_done_and_what_people_wrote_stays() {
        let of_people = annotated(json!({annotations::BLOCK_MOVE: "until Monday"}));
        let ours = annotated(json!({annotations::BLOCK_MOVE: BLOCKED}));
        let none = annotated(json!({}));
        for (host, writes, takes_off) in
            [(&of_people, false, false), (&ours, false, true), (&none, true, false)]
        {
            assert_eq!(block(host).is_some(), writes, "{host:?}");
            assert_eq!(must_block_first(host), writes, "{host:?}");
            assert_eq!(may_unblock(host), takes_off, "{host:?}");
        }
    }

    #[test]
    fn a_machine_that_runs_is_bound_again_without_being_blocked() {
        let seen = annotated(json!({annotations::PROVISIONED: CLAIM}));
        assert_eq!(block_for(&seen, CLAIM), None);
        assert_eq!(block_for(&seen, "another"), Some(BLOCKED));
        assert_eq!(block_for(&annotated(json!({})), CLAIM), Some(BLOCKED));
    }

    #[test]
    fn who_releases_by_hand_blocks_nothing_so_it_is_done_first() {
        let released = json!({annotations::RELEASE: CLAIM, annotations::PROVISIONED: CLAIM});
        assert!(must_block_first(&annotated(released)));
        assert!(!must_block_first(&host("free", json!({}))));
    }
}

//! Who is left alone, and who is not.

use serde_json::{Value, json};

use super::*;
use crate::claim::samples::{consumer, host as sample, merge};

const ID: &str = "0123456789abcdef0123456789abcdef";
const OLD: &str = "00000000000000000000000000000000";

/// A host of the namespace `metal`, changed by a merge patch.
fn host(patch: Value) -> PhysicalHost {
    let mut object = json!({"metadata": {"namespace": "metal"}});
    merge(&mut object, patch);
    sample("h", object)
}

fn held(id: &str) -> PhysicalHost {
    host(json!({"spec": {"claimID": id}, "status": {"claimID": id}}))
}

#[test]
fn neither_a_pause_nor_a_move_keeps_a_host_elsewhere_that_is_taken_back_and_either_keeps_one_at_home() {
    let intends = |text: String| Intent::parse(&text).unwrap();
    let (takes, gives_up) = (intends(format!("metal/h/{ID}")), intends(format!("metal/h/{ID}/given-up")));
    let renews = intends(format!("metal/h/{ID}/renews-{OLD}/given-up"));
    let wiped = host(json!({"spec": {"claimID": null}, "status": {"claimID": ID}}));
    let free = host(json!({"spec": {"claimID": null}, "status": {"claimID": null}}));
    let (is_held, is_held_still, of_another) = (held(ID), held(OLD), held("another"));
    // Whether it stays as it is: paused with its host elsewhere, moved with that, and both with its host at home.
    for (intent, host, tenure, stays) in [
        (&takes, &is_held, Tenure::Allowed, [true; 4]),
        (&takes, &is_held, Tenure::Tolerated, [true; 4]),
        (&takes, &is_held, Tenure::Unknown, [true; 4]),
        (&takes, &is_held, Tenure::Revoked, [false, false, true, true]),
        (&gives_up, &is_held, Tenure::Revoked, [false, false, true, true]),
        // Given up for another reason: that can wait.
        (&gives_up, &is_held, Tenure::Tolerated, [true; 4]),
        (&gives_up, &wiped, Tenure::Tolerated, [true; 4]),
        (&renews, &is_held_still, Tenure::Tolerated, [true; 4]),
        // Clean, the host does not say any more under which policy it was taken.
        (&gives_up, &free, Tenure::Tolerated, [false, false, true, true]),
        (&gives_up, &free, Tenure::Unknown, [false, false, true, true]),
        (&gives_up, &of_another, Tenure::Allowed, [false, false, true, true]),
        (&takes, &free, Tenure::Allowed, [true; 4]),
    ] {
        let paused = || Mark::Paused("because".to_owned());
        let found = [(paused(), "a"), (Mark::Moved, "a"), (paused(), "metal"), (Mark::Moved, "metal")];
        let found = found.map(|(mark, own)| {
            let left = left_alone(mark.clone(), own, Some(intent), Some((host, tenure)));
            assert!(left.is_none() || left == Some(mark));
            left.is_some()
        });
        assert_eq!(found, stays, "{intent} {tenure:?} {:?}", host.spec.claim_id);
    }
    for intent in [Some(&takes), Some(&gives_up), None] {
        assert_eq!(left_alone(Mark::Moved, "a", intent, None), Some(Mark::Moved));
    }
}

#[test]
fn what_is_demanded_is_written_onto_its_own_host_elsewhere_and_onto_no_other() {
    let (takes, renews) = (format!("metal/h/{ID}"), format!("metal/h/{ID}/renews-{OLD}"));
    let reference = |name: &str, uid: &str| {
        json!({"spec": {"consumerRef": {
            "kind": "Beskar7Machine", "namespace": "tenant", "name": name, "uid": uid,
        }}})
    };
    for (intent, namespace, id, named, expected) in [
        (Some(&takes), "metal", ID, reference("m", "u-1"), true),
        (Some(&renews), "metal", ID, reference("m", "u-1"), true),
        (Some(&renews), "metal", OLD, reference("m", "u-1"), true),
        (Some(&takes), "metal", OLD, reference("m", "u-1"), false),
        (Some(&takes), "tenant", ID, reference("m", "u-1"), false),
        // An intent is a tenant's to write: the host says whose it is.
        (Some(&takes), "metal", ID, reference("another", "u-2"), false),
        (Some(&takes), "metal", ID, json!({"spec": {"consumerRef": null}}), false),
        (None, "metal", ID, reference("m", "u-1"), false),
    ] {
        let mut object = json!({"metadata": {"namespace": namespace}, "spec": {"claimID": id}});
        merge(&mut object, named.clone());
        let host = sample("h", object);
        let found = is_held_elsewhere(&consumer(intent.map(String::as_str)), &Candidate::new(&host));
        assert_eq!(found, expected, "{intent:?} {namespace} {id} {named}");
    }
}

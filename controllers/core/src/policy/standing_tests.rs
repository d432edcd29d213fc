use serde_json::{Value, json};

use super::*;
use crate::{
    claim::samples::{host, merge},
    conditions::get,
};

/// A policy for everybody beside the hosts, changed by a merge patch.
fn policy(patch: Value) -> HostDeployPolicy {
    let mut policy = json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "HostDeployPolicy",
        "metadata": {"name": "gold", "namespace": "metal", "generation": 3},
        "spec": {"hostclaimNamespaces": {}},
    });
    merge(&mut policy, patch);
    serde_json::from_value(policy).unwrap()
}

fn held(under: &str) -> Value {
    json!({
        "metadata": {"annotations": {annotations::POLICY: under}},
        "spec": {"consumerRef": {"name": "m", "namespace": "tenant"}, "claimID": "c1"},
    })
}

fn and(mut one: Value, other: Value) -> Value {
    merge(&mut one, other);
    one
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

#[test]
fn a_host_is_opened_by_where_it_is_and_held_by_what_it_was_taken_under() {
    let deleted = || json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["x"]}});
    let elsewhere = || json!({"metadata": {"namespace": "elsewhere"}});
    let external = || json!({"spec": {"externallyProvisioned": true}});
    for (patch, hosts, claims) in [
        (json!({}), 1, 0),
        (held("gold"), 1, 1),
        (held("silver"), 1, 0),
        (and(held("gold"), json!({"spec": {"consumerRef": null}})), 1, 0),
        (and(held("gold"), json!({"metadata": {"annotations": null}})), 1, 0),
        (json!({"spec": {"cordoned": "a fan"}, "status": {"state": "Deprovisioning"}}), 1, 0),
        (json!({"status": null}), 1, 0),
        (elsewhere(), 0, 0),
        (and(held("gold"), elsewhere()), 0, 0),
        (deleted(), 0, 0),
        (and(held("gold"), deleted()), 0, 1),
        (external(), 0, 0),
    ] {
        let status = standing(&policy(json!({})), [&host("h", patch.clone())], true, at(1));
        assert_eq!((status.hosts, status.claims), (Some(hosts), Some(claims)), "{patch}");
    }
}

#[test]
fn all_hosts_are_counted_and_none_is_a_number_too() {
    let hosts = [host("a", held("gold")), host("b", held("silver")), host("c", json!({}))];
    let counts = |hosts: &[PhysicalHost]| {
        let status = standing(&policy(json!({})), hosts, true, at(1));
        (status.hosts, status.claims, status.observed_generation)
    };
    assert_eq!(counts(&hosts), (Some(3), Some(1), Some(3)));
    assert_eq!(counts(&[]), (Some(0), Some(0), Some(3)));
}

#[test]
fn a_policy_is_ready_when_its_expression_can_be_used() {
    let expression = |text: &str| json!({"spec": {"hostclaimNamespaces": {"nameMatches": text}}});
    for (patch, status, reason, message) in [
        (json!({}), "True", "PolicyRead", ""),
        (expression("team-[a-z]+"), "True", "PolicyRead", ""),
        // The API server takes this one.
        (
            expression(r"\Qteam\E"),
            "False",
            "ExpressionNotUsable",
            "It allows nobody: nameMatches can't be used: ",
        ),
    ] {
        let found = standing(&policy(patch.clone()), [], true, at(1)).conditions;
        let ready = get(&found, "Ready").unwrap();
        assert_eq!((ready.status.as_str(), ready.reason.as_str()), (status, reason), "{patch}");
        assert!(ready.message.starts_with(message) && ready.message.is_empty() == message.is_empty());
        assert_eq!((ready.observed_generation, found.len()), (Some(3), 1));
    }
}

#[test]
fn a_policy_that_goes_by_labels_says_so_where_they_are_not_known() {
    let labelled = json!({"spec": {"hostclaimNamespaces": {"hasLabels": [{"name": "tier"}]}}});
    for (patch, known, status, reason) in [
        (&labelled, true, "True", "PolicyRead"),
        (&labelled, false, "False", "LabelsNotKnown"),
        (&json!({}), false, "True", "PolicyRead"),
    ] {
        let found = standing(&policy(patch.clone()), [], known, at(1)).conditions;
        let ready = get(&found, "Ready").unwrap();
        assert_eq!((ready.status.as_str(), ready.reason.as_str()), (status, reason), "{patch} {known}");
    }
}

#[test]
fn nothing_new_is_the_same_status_however_late() {
    let mut policy = policy(json!({}));
    let hosts = [host("a", held("gold"))];
    let first = standing(&policy, &hosts, true, at(1));
    policy.status = Some(first.clone());
    assert_eq!(standing(&policy, &hosts, true, at(99)), first);
}

#[test]
fn a_policy_is_looked_at_again_for_hosts_that_come_and_go_and_for_their_holders() {
    let free = host("h", json!({}));
    let booting = host("h", json!({"status": {"state": "Provisioning"}, "spec": {"cordoned": "a fan"}}));
    let ours = host("h", held("gold"));
    let theirs = host("h", held("silver"));
    let external = host("h", json!({"spec": {"externallyProvisioned": true}}));
    let elsewhere = host("h", and(held("gold"), json!({"metadata": {"namespace": "elsewhere"}})));
    for (before, after, expected) in [
        (None, Some(&free), true),
        (Some(&free), None, true),
        (Some(&free), Some(&booting), false),
        (Some(&free), Some(&ours), true),
        (Some(&ours), Some(&free), true),
        (Some(&free), Some(&theirs), false),
        (Some(&theirs), Some(&ours), true),
        (Some(&free), Some(&external), true),
        (None, Some(&external), false),
        (None, Some(&elsewhere), false),
        (None, None, false),
    ] {
        assert_eq!(concerned_by_host(&policy(json!({})), before, after), expected, "{before:?} {after:?}");
    }
}

#[test]
fn what_is_paused_moved_deleted_or_anothers_is_left_alone() {
    let labelled = || json!({"labels": {"cluster.x-k8s.io/watch-filter": "a"}});
    for (metadata, filter, expected) in [
        (json!({}), None, false),
        (json!({"annotations": {"cluster.x-k8s.io/paused": ""}}), None, true),
        (json!({"annotations": {"clusterctl.cluster.x-k8s.io/delete-for-move": ""}}), None, true),
        (json!({"deletionTimestamp": "2026-01-01T00:00:00Z"}), None, true),
        (labelled(), None, false),
        (labelled(), Some("a"), false),
        (labelled(), Some("b"), true),
        (json!({}), Some("a"), true),
    ] {
        let policy = policy(json!({ "metadata": metadata }));
        assert_eq!(left_alone(&policy, filter), expected, "{metadata} {filter:?}");
    }
}

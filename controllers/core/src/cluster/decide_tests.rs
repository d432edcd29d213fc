//! Tables over the order of the contract, and over what a status keeps.

use serde_json::json;

use super::{super::samples::*, *};
use crate::events::Severity;

const GIVEN: &str = r#"{"controlPlaneEndpoint": {"host": "10.0.0.100", "port": 6443}}"#;

fn given() -> serde_json::Value {
    serde_json::from_str(GIVEN).unwrap()
}

fn annotated(name: &str) -> serde_json::Value {
    json!({"metadata": {"annotations": {name: ""}}, "spec": given()})
}

const DELETED: &str = "2026-11-16T00:00:00Z";
const MOVED: &str = "clusterctl.cluster.x-k8s.io/delete-for-move";
const MANAGED: &str = "cluster.x-k8s.io/managed-by";
const PAUSED_BY: &str = "cluster.x-k8s.io/paused";

#[test]
fn what_is_moved_or_managed_by_others_is_not_touched() {
    for name in [MOVED, MANAGED] {
        for deleted in [json!(null), json!(DELETED)] {
            for finalizers in [json!([]), json!(["beskar7cluster.infrastructure.cluster.x-k8s.io"])] {
                let mut world = World::new(annotated(name));
                world.cluster.metadata.deletion_timestamp = serde_json::from_value(deleted.clone()).unwrap();
                world.cluster.metadata.finalizers = serde_json::from_value(finalizers).unwrap();
                world.hosts = vec![host("h", kept())];
                let decided = world.decide();
                assert_eq!(decided.step, "rest", "{name}");
                assert!(!decided.says, "{name}");
                assert!(decided.events.is_empty() && decided.requeue == Requeue::OnChange);
                assert!(!world.asks());
            }
        }
    }
}

#[test]
fn without_its_cluster_it_waits_and_says_so() {
    let mut nameless = World::new(json!({"spec": given()}));
    nameless.cluster.metadata.owner_references = None;
    nameless.cluster.metadata.finalizers = None;
    let absent =
        World { owner: None, ..World::new(json!({"spec": given(), "metadata": {"finalizers": null}})) };
    for (world, told) in [(nameless, "spec.infrastructureRef of a Cluster"), (absent, "Cluster prod")] {
        let decided = world.decide();
        assert_eq!(decided.step, "rest", "no finalizer comes before the owner");
        assert_eq!(decided.endpoint(), ("False", "WaitingForOwnerCluster"));
        assert_eq!(decided.condition("Ready"), ("False", "WaitingForOwnerCluster"));
        assert!(decided.message("Ready").contains(told), "{}", decided.message("Ready"));
        assert!(!decided.provisioned() && !decided.status.ready);
        assert_eq!(decided.requeue, Requeue::OnChange);
        assert!(decided.events.is_empty(), "every cluster begins so");
    }
}

#[test]
fn it_is_adopted_before_anything_is_done_even_when_it_is_paused() {
    let mut world = World::new(annotated(PAUSED_BY));
    world.cluster.metadata.finalizers = Some(vec!["somebody/else".to_owned()]);
    let decided = world.decide();
    assert_eq!((decided.step.as_str(), decided.says), ("adopt", false));
}

#[test]
fn paused_it_says_so_in_the_words_of_cluster_api_and_nothing_is_done() {
    let by_cluster = "Cluster spec.paused is set to true";
    let by_annotation = "Beskar7Cluster has the cluster.x-k8s.io/paused annotation";
    for (patch, cluster_paused, told) in [
        (annotated(PAUSED_BY), false, by_annotation.to_owned()),
        (json!({"spec": given()}), true, by_cluster.to_owned()),
        (annotated(PAUSED_BY), true, format!("{by_cluster}, {by_annotation}")),
    ] {
        for deleted in [json!(null), json!(DELETED)] {
            let mut world = World::with_replicas(1, vec![host("h", kept())]);
            world.cluster = cluster(patch.clone());
            world.cluster.metadata.deletion_timestamp = serde_json::from_value(deleted).unwrap();
            world.owner.as_mut().unwrap().spec.paused = Some(cluster_paused);
            let decided = world.decide();
            assert_eq!(decided.step, "rest", "a pause holds a deletion too");
            assert_eq!(decided.condition("Paused"), ("True", "Paused"));
            assert_eq!(decided.message("Paused"), told);
            assert_eq!(decided.status.conditions.len(), 1, "nothing else is said");
            assert!(!decided.provisioned() && !world.asks());
        }
    }
    let decided = World::new(json!({"spec": given()})).decide();
    assert_eq!(decided.condition("Paused"), ("False", "NotPaused"));
}

#[test]
fn deleted_it_gives_back_what_was_kept_for_it_and_goes() {
    let deleted = json!({"metadata": {"deletionTimestamp": DELETED}, "status": {"ready": true}});
    let elsewhere = host("b", kept());
    let other =
        json!({"spec": {"reservedFor": {"kind": "Beskar7Cluster", "namespace": "metal", "name": "d"}}});
    // A Cluster that is gone holds no deletion.
    for owner in [Some(owner(json!({}))), None] {
        let mut world = World { owner, ..World::new(deleted.clone()) };
        world.hosts = vec![host("a", other.clone()), elsewhere.clone()];
        let decided = world.decide();
        assert_eq!(decided.step, "unreserve b");
        assert_eq!(decided.condition("Ready"), ("False", "Deleting"));
        assert!(!decided.status.ready);
        world.hosts = vec![host("a", other.clone()), host("b", json!({}))];
        assert_eq!(world.decide().step, "let go");
        // Others hold it still.
        world.cluster.metadata.finalizers = Some(vec!["somebody/else".to_owned()]);
        world.hosts = vec![elsewhere.clone()];
        assert_eq!(world.decide().step, "rest");
    }
    let mut orphan = World::new(deleted);
    orphan.cluster.metadata.owner_references = None;
    assert_eq!(orphan.decide().step, "let go");
}

#[test]
fn provisioned_once_is_provisioned_for_ever() {
    let was = json!({"initialization": {"provisioned": true}});
    let wrong = json!({"controlPlaneEndpoint": {"host": "https://x", "port": 1}});
    let with = |spec: serde_json::Value, status: &serde_json::Value| json!({"spec": spec, "status": status});
    for (name, world) in [
        ("wrong", World::new(with(wrong, &was))),
        ("no owner", World { owner: None, ..World::new(with(json!({}), &was)) }),
        ("several", World { cluster: cluster(with(json!({}), &was)), ..World::with_replicas(3, vec![]) }),
        ("no host", World { cluster: cluster(with(json!({}), &was)), ..World::with_replicas(1, vec![]) }),
    ] {
        let decided = world.decide();
        assert_eq!(decided.endpoint().0, "False", "{name}");
        assert!(decided.provisioned() && !decided.status.ready, "{name}");
    }
}

#[test]
fn what_is_said_again_is_the_same() {
    let at = |second| Timestamp::from_second(second).unwrap();
    for world in [
        World::new(json!({"spec": given()})),
        World::new(json!({})),
        World { owner: None, ..World::new(json!({})) },
        World::with_replicas(3, vec![host("h", json!({}))]),
        World::with_replicas(1, vec![]),
    ] {
        let first = world.decide_at(at(10));
        let mut world = world;
        world.cluster.status = Some(first.status.clone());
        let second = world.decide_at(at(20));
        assert_eq!(second.status, first.status);
        assert!(second.events.is_empty(), "{:?}", second.events);
    }
}

#[test]
fn people_are_told_what_keeps_it_and_that_it_goes_on() {
    let mut world = World::with_replicas(3, vec![]);
    let waiting = world.decide();
    let told = &waiting.events[..];
    assert!(
        matches!(told, [event] if event.severity == Severity::Warning && event.reason == "EndpointNeeded")
    );
    world.cluster = cluster(json!({"spec": given()}));
    world.cluster.status = Some(waiting.status);
    let known = world.decide();
    let told = &known.events[..];
    assert!(matches!(told, [event] if event.severity == Severity::Normal && event.reason == "EndpointGiven"));
    assert!(told[0].note.contains("10.0.0.100:6443"), "{told:?}");
    assert_eq!(known.status.observed_generation, Some(3));
}

#[test]
fn hosts_of_another_namespace_are_used_where_a_policy_opens_it_and_else_that_is_said() {
    let pool = json!({"hostPool": {"namespace": "racks"}});
    let there = |name: &str| {
        let labels = json!({"topology.kubernetes.io/zone": "a"});
        host(name, json!({"metadata": {"namespace": "racks", "labels": labels}}))
    };
    let mut spec = given();
    spec["hostPool"] = pool["hostPool"].clone();
    let mut world = World::new(json!({"spec": spec}));
    world.hosts = vec![there("h")];
    let decided = world.decide();
    assert_eq!(decided.endpoint(), ("True", "EndpointGiven"));
    assert_eq!(decided.condition("Ready"), ("False", "HostPoolNotAllowed"));
    assert!(decided.message("Ready").contains("No HostDeployPolicy in namespace racks"), "{decided:?}");
    assert!(
        !decided.status.ready && decided.provisioned(),
        "machines say for themselves that they get no host"
    );
    assert!(decided.status.failure_domains.is_empty());
    assert_eq!(decided.events.len(), 1);

    let mut world = World::with_replicas(1, vec![there("h")]);
    world.cluster = cluster(json!({"spec": pool}));
    let decided = world.decide();
    assert_eq!((decided.step.as_str(), decided.endpoint()), ("rest", ("False", "HostPoolNotAllowed")));
    assert_eq!(decided.events.len(), 1);

    world.open = ["racks".to_owned()].into();
    assert_eq!(world.decide().step, "reserve h");
    let mut spec = given();
    spec["hostPool"] = pool["hostPool"].clone();
    let mut world = World { open: world.open, ..World::new(json!({"spec": spec})) };
    world.hosts = vec![there("h")];
    let decided = world.decide();
    assert!(decided.status.ready, "{decided:?}");
    assert_eq!(decided.status.failure_domains.len(), 1);

    let mut spec = given();
    spec["hostPool"] = json!({"namespace": "metal"});
    assert!(World::new(json!({"spec": spec})).decide().status.ready, "its own namespace may be named");
}

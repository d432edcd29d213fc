//! Tables over who is woken.

use beskar7_api::PhysicalHost;
use serde_json::{Value, json};

use super::{super::samples::*, *};

fn saying(reason: &str) -> Value {
    json!({"status": {
        "controlPlaneEndpoint": {"host": "10.1.0.1", "port": 6443},
        "conditions": [{
            "type": "ControlPlaneEndpointReady", "status": "False", "reason": reason, "message": "",
            "lastTransitionTime": "2026-11-16T00:00:00Z",
        }],
    }})
}

#[test]
fn a_host_wakes_those_only_whom_it_concerns() {
    let zone = |zone: &str| host("h", json!({"metadata": {"labels": {"topology.kubernetes.io/zone": zone}}}));
    let plain = || host("h", json!({}));
    let busy = || host("h", json!({"status": {"state": "Provisioned"}}));
    let silent = || host("h", json!({"spec": {"addresses": []}}));
    let elsewhere = || {
        host("h", json!({"metadata": {"namespace": "other", "labels": {"topology.kubernetes.io/zone": "a"}}}))
    };
    let steady = || json!({});
    let waiting = || saying("WaitingForPhysicalHost");
    let (some, none) = (Some::<PhysicalHost>, None::<PhysicalHost>);
    for (name, cluster_, before, after, expected) in [
        ("came without a zone", steady(), none.clone(), some(plain()), false),
        ("changed its state", steady(), some(zone("a")), some(zone("a")), false),
        ("came with a zone", steady(), none.clone(), some(zone("a")), true),
        ("went with its zone", steady(), some(zone("a")), none.clone(), true),
        ("changed its zone", steady(), some(zone("a")), some(zone("b")), true),
        ("lost its zone", steady(), some(zone("a")), some(plain()), true),
        ("came elsewhere", steady(), none.clone(), some(elsewhere()), false),
        ("changed, and it waits for one", waiting(), some(busy()), some(plain()), true),
        ("came, and it waits for one", waiting(), none.clone(), some(plain()), true),
        ("went, and it waits for one", waiting(), some(plain()), none.clone(), true),
        ("came elsewhere, and it waits for one", waiting(), none.clone(), some(elsewhere()), false),
        ("is kept for it", steady(), some(host("h", kept())), some(host("h", kept())), true),
        ("was kept for it", steady(), some(host("h", kept())), some(plain()), true),
        ("is the endpoint", saying("HostReserved"), some(plain()), some(plain()), true),
        ("is the endpoint again", saying("ReservedHostGone"), none.clone(), some(plain()), true),
        ("is not the endpoint", saying("HostReserved"), some(silent()), some(silent()), false),
        ("has the endpoint's address by chance", saying("EndpointGiven"), none, some(plain()), false),
    ] {
        let woken = concerned_by_host(&cluster(cluster_), before.as_ref(), after.as_ref(), &BTreeSet::new());
        assert_eq!(woken, expected, "a host {name}");
    }
}

#[test]
fn a_change_of_the_pool_is_a_change_of_zones() {
    let pool = json!({"spec": {"hostPool": {"selector": {"matchLabels": {"rack": "r1"}}}}});
    let labelled = |rack: &str| {
        let labels = json!({"topology.kubernetes.io/zone": "a", "rack": rack});
        host("h", json!({"metadata": {"labels": labels}}))
    };
    assert!(concerned_by_host(
        &cluster(pool.clone()),
        Some(&labelled("r2")),
        Some(&labelled("r1")),
        &BTreeSet::new()
    ));
    assert!(!concerned_by_host(
        &cluster(pool),
        Some(&labelled("r2")),
        Some(&labelled("r3")),
        &BTreeSet::new()
    ));
}

#[test]
fn a_machine_wakes_the_cluster_whose_control_plane_it_is_of() {
    for (patch, expected) in [
        (json!({}), true),
        (json!({"status": null}), true),
        (json!({"metadata": {"labels": null}}), false),
        (json!({"metadata": {"namespace": "other"}}), false),
        // The Beskar7Cluster's own name is not the Cluster's.
        (json!({"spec": {"clusterName": "c"}}), false),
    ] {
        assert_eq!(
            concerned_by_machine(&cluster(json!({})), &machine("m", patch.clone())),
            expected,
            "{patch}"
        );
    }
}

#[test]
fn hosts_of_a_pool_elsewhere_concern_a_cluster_where_the_pool_is_open_to_it() {
    let pool = cluster(json!({"spec": {"hostPool": {"namespace": "racks"}}}));
    let there = host(
        "h",
        json!({"metadata": {
        "namespace": "racks", "labels": {"topology.kubernetes.io/zone": "a"}}}),
    );
    assert!(concerned_by_host(&pool, None, Some(&there), &BTreeSet::from(["racks".to_owned()])));
    assert!(!concerned_by_host(&pool, None, Some(&there), &BTreeSet::from(["other".to_owned()])));
}

//! Tables over the ways to an endpoint that is known, and over what becomes of it.

use serde_json::{Value, json};

use super::super::samples::*;

fn endpoint(host: &str, port: i32) -> Value {
    json!({"controlPlaneEndpoint": {"host": host, "port": port}})
}

/// Decides until nothing is to be written into the cluster any more, as the controller does.
fn settle(world: &mut World) -> Decided {
    for _ in 0..5 {
        let decided = world.decide();
        match decided.step.strip_prefix("write ").and_then(|text| text.rsplit_once(':')) {
            Some((host, port)) => {
                let written = endpoint(host, port.parse().unwrap());
                world.cluster.spec.control_plane_endpoint =
                    serde_json::from_value(written["controlPlaneEndpoint"].clone()).unwrap();
            }
            None => {
                if decided.says {
                    world.cluster.status = Some(decided.status.clone());
                }
                return decided;
            }
        }
    }
    panic!("it writes for ever");
}

fn written(world: &World) -> (String, i32) {
    let spec = world.cluster.spec.control_plane_endpoint.clone().unwrap_or_default();
    (spec.host, spec.port)
}

#[test]
fn an_endpoint_that_is_given_is_mirrored() {
    for (own, of_cluster, expected) in [
        (endpoint("10.0.0.100", 6443), json!({}), ("10.0.0.100", 6443)),
        (endpoint("api.example.org", 443), json!({}), ("api.example.org", 443)),
        // Cluster API takes none without a port.
        (endpoint("10.0.0.100", 0), json!({}), ("10.0.0.100", 6443)),
        (endpoint("", 0), endpoint("10.0.0.100", 7443), ("10.0.0.100", 7443)),
        (json!({}), endpoint("2001:db8::7", 6443), ("2001:db8::7", 6443)),
    ] {
        let mut world = World::new(json!({"spec": own}));
        world.owner = Some(owner(of_cluster));
        assert!(!world.asks(), "nobody needs to know the control plane");
        let decided = settle(&mut world);
        let status = decided.status.control_plane_endpoint.clone().unwrap();
        assert_eq!((status.host.as_str(), status.port), expected);
        assert_eq!(written(&world), (expected.0.to_owned(), expected.1));
        assert_eq!(decided.endpoint(), ("True", "EndpointGiven"));
        assert_eq!(decided.condition("Ready"), ("True", "EndpointGiven"));
        assert!(decided.status.ready && decided.provisioned());
    }
}

#[test]
fn of_two_that_are_given_the_clusters_counts_and_the_other_stays_as_written() {
    let mut world = World::new(json!({"spec": endpoint("10.0.0.2", 6443)}));
    world.owner = Some(owner(endpoint("10.0.0.1", 6443)));
    let decided = settle(&mut world);
    assert_eq!(decided.status.control_plane_endpoint.as_ref().unwrap().host, "10.0.0.1");
    assert_eq!(written(&world).0, "10.0.0.2");
    let message = decided.message("ControlPlaneEndpointReady");
    assert!(message.contains("10.0.0.2:6443, which nobody uses"), "{message}");
}

#[test]
fn an_endpoint_that_cannot_work_is_named_with_what_to_write() {
    for (own, of_cluster, told) in [
        (
            endpoint("https://api:6443", 6443),
            json!({}),
            "In spec.controlPlaneEndpoint of this Beskar7Cluster, ",
        ),
        (
            json!({}),
            endpoint("10.0.0.300", 6443),
            "In spec.controlPlaneEndpoint of the Cluster, \"10.0.0.300\"",
        ),
        (endpoint("api", 70000), json!({}), "write a number from 1 to 65535"),
    ] {
        let mut world = World::new(json!({"spec": own}));
        world.owner = Some(owner(of_cluster));
        let decided = settle(&mut world);
        assert_eq!(decided.endpoint(), ("False", "InvalidEndpoint"));
        let message = decided.message("ControlPlaneEndpointReady");
        assert!(message.contains(told), "{message}");
        assert!(!decided.provisioned() && !decided.status.ready);
        assert_eq!(decided.status.control_plane_endpoint, None);
    }
}

#[test]
fn an_endpoint_is_discovered_from_a_control_plane_machine_that_runs() {
    let addresses = |all: &[(&str, &str)]| {
        let all: Vec<Value> =
            all.iter().map(|(type_, address)| json!({"type": type_, "address": address})).collect();
        json!({"status": {"addresses": all}})
    };
    let ready = json!([{
        "type": "InfrastructureReady", "status": "True", "reason": "Ready", "message": "",
        "lastTransitionTime": "2026-11-16T00:00:00Z",
    }]);
    let by_condition = json!({"status": {"initialization": null, "conditions": ready}});
    let younger = json!({"metadata": {"creationTimestamp": "2026-11-17T00:00:00Z"}});
    for (name, machines, expected) in [
        ("one", vec![machine("m", json!({}))], "10.0.0.7"),
        ("by its condition", vec![machine("m", by_condition)], "10.0.0.7"),
        (
            "the internal address first",
            vec![machine(
                "m",
                addresses(&[("Hostname", "m"), ("ExternalIP", "192.0.2.1"), ("InternalIP", "10.0.0.9")]),
            )],
            "10.0.0.9",
        ),
        (
            "an external one before names",
            vec![machine("m", addresses(&[("InternalDNS", "m.example.org"), ("ExternalIP", "192.0.2.1")]))],
            "192.0.2.1",
        ),
        ("a name where there is nothing else", vec![machine("m", addresses(&[("Hostname", "m-1")]))], "m-1"),
        (
            "a better address of a younger machine",
            vec![machine("a", addresses(&[("Hostname", "a")])), machine("b", younger)],
            "10.0.0.7",
        ),
        (
            "the oldest machine",
            vec![
                machine("a", json!({"metadata": {"creationTimestamp": "2026-11-17T00:00:00Z"}})),
                machine("b", addresses(&[("InternalIP", "10.0.0.8")])),
            ],
            "10.0.0.8",
        ),
    ] {
        let mut world = World { machines, ..World::new(json!({})) };
        let decided = settle(&mut world);
        assert_eq!(decided.endpoint(), ("True", "EndpointDiscovered"), "{name}");
        assert_eq!(written(&world), (expected.to_owned(), 6443), "{name}");
        assert_eq!(decided.status.control_plane_endpoint.unwrap().host, expected, "{name}");
        assert!(decided.status.ready, "{name}");
    }
}

#[test]
fn other_machines_are_not_asked() {
    for (name, patch) in [
        ("a worker", json!({"metadata": {"labels": null}})),
        ("another cluster's", json!({"spec": {"clusterName": "c"}})),
        ("in another namespace", json!({"metadata": {"namespace": "other"}})),
        ("not ready", json!({"status": {"initialization": {"infrastructureProvisioned": false}}})),
        ("without status", json!({"status": null})),
        ("deleted", json!({"metadata": {"deletionTimestamp": "2026-11-16T00:00:00Z"}})),
    ] {
        let world = World { machines: vec![machine("m", patch)], ..World::new(json!({})) };
        let decided = world.decide();
        assert_eq!(decided.endpoint(), ("False", "ControlPlaneEndpointNotSet"), "{name}");
    }
}

#[test]
fn once_known_it_stays_whatever_comes() {
    let mut world = World { machines: vec![machine("m", json!({}))], ..World::new(json!({})) };
    settle(&mut world);
    // Another machine, a control plane, and a spec that somebody replaced.
    let other = json!({"status": {"addresses": [{"type": "InternalIP", "address": "10.9.9.9"}]}});
    world.machines = vec![machine("z", other)];
    let control_plane = World::with_replicas(1, vec![host("h", json!({}))]);
    world.owner = control_plane.owner;
    world.control_plane = control_plane.control_plane;
    world.hosts = control_plane.hosts;
    for spec in [endpoint("10.0.0.7", 6443), json!({}), endpoint("", 0)] {
        world.cluster.spec = serde_json::from_value(spec).unwrap();
        assert!(!world.asks());
        let decided = settle(&mut world);
        assert_eq!(decided.endpoint(), ("True", "EndpointDiscovered"));
        assert_eq!(written(&world), ("10.0.0.7".to_owned(), 6443));
    }
}

#[test]
fn what_the_go_beskar7_wrote_into_the_status_is_kept() {
    let status = json!({"ready": true, "controlPlaneEndpoint": {"host": "10.0.0.7", "port": 6443}});
    let other = json!({"status": {"addresses": [{"type": "InternalIP", "address": "10.9.9.9"}]}});
    let mut world = World::new(json!({"spec": endpoint("", 0), "status": status}));
    world.machines = vec![machine("m", other)];
    let decided = settle(&mut world);
    assert_eq!(written(&world), ("10.0.0.7".to_owned(), 6443));
    assert!(decided.status.ready);

    // An empty one is none.
    let status = json!({"controlPlaneEndpoint": {"host": "", "port": 0}});
    let decided = settle(&mut World::new(json!({"status": status})));
    assert_eq!(decided.endpoint(), ("False", "ControlPlaneEndpointNotSet"));
    assert_eq!(decided.status.control_plane_endpoint, None);
}

#[test]
fn a_reserved_host_is_the_endpoint_and_is_told_as_such() {
    let mut world = World::with_replicas(1, vec![host("h", kept())]);
    let decided = settle(&mut world);
    assert_eq!(decided.endpoint(), ("True", "HostReserved"));
    assert_eq!(written(&world), ("10.1.0.1".to_owned(), 6443));
    let message = decided.message("ControlPlaneEndpointReady");
    assert!(message.contains("Any rollout of the control plane replaces this host"), "{message}");

    // A lost status, as after a move: the mark on the host tells it.
    world.cluster.status = None;
    assert_eq!(settle(&mut world).endpoint(), ("True", "HostReserved"));

    // In use it is the same, and more replicas change nothing any more.
    world.hosts = vec![host("h", kept())];
    world.hosts[0].spec.claim_id = Some("0123456789abcdef0123456789abcdef".to_owned());
    world.control_plane = World::with_replicas(3, vec![]).control_plane;
    assert_eq!(settle(&mut world).endpoint(), ("True", "HostReserved"));
}

#[test]
fn a_reserved_host_that_is_gone_is_not_replaced_by_another() {
    let other = json!({"spec": {"addresses": [{"type": "InternalIP", "address": "10.1.0.2"}]}});
    let mut world = World::with_replicas(1, vec![host("h", kept())]);
    settle(&mut world);
    world.hosts = vec![host("other", other)];
    let decided = settle(&mut world);
    assert_eq!((decided.step.as_str(), decided.endpoint()), ("rest", ("False", "ReservedHostGone")));
    assert!(decided.message("ControlPlaneEndpointReady").contains("10.1.0.1"));
    assert_eq!(written(&world), ("10.1.0.1".to_owned(), 6443));
    assert!(decided.provisioned());

    // It comes back, or somebody took the mark off: it is kept again.
    world.hosts.push(host("h", json!({})));
    assert_eq!(settle(&mut world).step, "reserve h");
    // In use it needs no mark.
    world.hosts[1].spec.claim_id = Some("0123456789abcdef0123456789abcdef".to_owned());
    assert_eq!(settle(&mut world).endpoint(), ("True", "HostReserved"));
}

#[test]
fn a_host_that_is_kept_for_nothing_is_given_back() {
    let elsewhere = |name: &str| {
        let mut host = host(name, kept());
        host.spec.addresses[0].address = "10.1.0.9".to_owned();
        host
    };
    // Two were kept, because one was not seen; or an endpoint was given meanwhile.
    let mut world = World::with_replicas(1, vec![elsewhere("stray"), host("h", kept())]);
    world.cluster.spec = serde_json::from_value(endpoint("10.1.0.1", 6443)).unwrap();
    assert_eq!(world.decide().step, "unreserve stray");
    let mut world = World::new(json!({"spec": endpoint("10.0.0.100", 6443)}));
    world.hosts = vec![elsewhere("stray")];
    assert_eq!(world.decide().step, "unreserve stray");
    world.hosts[0].spec.claim_id = Some("0123456789abcdef0123456789abcdef".to_owned());
    assert_eq!(world.decide().step, "rest", "a host in use is left alone");
}

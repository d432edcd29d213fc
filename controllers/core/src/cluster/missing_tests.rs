//! Tables over what is waited for, and over the host that is kept.

use serde_json::{Value, json};

use super::{
    super::{decide::Requeue, samples::*},
    *,
};

fn address(address: &str) -> Value {
    json!({"spec": {"addresses": [{"type": "InternalIP", "address": address}]}})
}

fn labelled(name: &str, labels: Value) -> PhysicalHost {
    host(name, json!({"metadata": {"labels": labels}}))
}

#[test]
fn without_a_control_plane_the_machines_come_first() {
    let world = World::new(json!({}));
    assert!(!world.asks());
    let decided = world.decide();
    assert_eq!(decided.endpoint(), ("False", "ControlPlaneEndpointNotSet"));
    assert!(decided.provisioned(), "else no machine is ever made");
    assert!(!decided.status.ready);
    assert_eq!(decided.requeue, Requeue::OnChange);
    assert!(decided.events.is_empty(), "nothing is wrong");

    let silent = machine("m-1", json!({"status": {"addresses": []}}));
    let decided = World { machines: vec![silent], ..World::new(json!({})) }.decide();
    let message = decided.message("ControlPlaneEndpointReady");
    assert!(message.contains("Machine m-1 runs, but tells no address"), "{message}");
}

#[test]
fn what_is_not_known_of_the_control_plane_is_said_and_looked_at_again() {
    let with = |why| World { control_plane: ControlPlane::Unread(why), ..World::with_replicas(1, vec![]) };
    for (world, told) in [
        (with(Unread::NotAsked), "KubeadmControlPlane kcp has not been read yet"),
        (with(Unread::Absent), "KubeadmControlPlane kcp does not exist (yet)"),
        (with(Unread::UnknownKind), "install its provider"),
        (with(Unread::Forbidden), "allow the manager to get it in controlplane.cluster.x-k8s.io"),
        (
            with(Unread::TemplateAbsent("t".into())),
            "Beskar7MachineTemplate t, which KubeadmControlPlane kcp names",
        ),
        (with(Unread::Failed("it broke".into())), "can't be read: it broke"),
    ] {
        assert!(world.asks());
        let decided = world.decide();
        assert_eq!(decided.endpoint(), ("False", "WaitingForControlPlane"));
        let message = decided.message("ControlPlaneEndpointReady");
        assert!(message.contains(told) && message.contains("spec.controlPlaneEndpoint"), "{message}");
        assert!(!decided.provisioned());
        match world.control_plane {
            ControlPlane::Unread(Unread::Failed(_)) => assert_eq!(decided.requeue, Requeue::Failed),
            ControlPlane::Unread(_) | ControlPlane::Found { .. } => {
                assert!(matches!(decided.requeue, Requeue::Growing(_)), "it is not watched")
            }
        }
    }
}

#[test]
fn several_machines_need_an_endpoint_that_somebody_gives() {
    let hosts = || vec![host("h", json!({}))];
    let silent = ControlPlane::Found { replicas: None, brings_endpoint: false, hosts: Box::default() };
    for (world, told) in [
        (World::with_replicas(3, hosts()), "wants 3 machines"),
        (World::with_replicas(0, hosts()), "wants 0 machines"),
        (World { control_plane: silent, ..World::with_replicas(1, hosts()) }, "does not say how many"),
    ] {
        let decided = world.decide();
        assert_eq!((decided.step.as_str(), decided.endpoint()), ("rest", ("False", "EndpointNeeded")));
        let message = decided.message("ControlPlaneEndpointReady");
        assert!(message.contains(told) && message.contains("a virtual IP"), "{message}");
        assert!(message.contains("flavour kube-vip"), "{message}");
        assert!(!decided.provisioned());
        assert!(matches!(decided.requeue, Requeue::Growing(_)), "the number may change, and is not watched");
    }
}

#[test]
fn a_control_plane_that_brings_its_endpoint_is_not_held_up() {
    let control_plane =
        ControlPlane::Found { replicas: Some(1), brings_endpoint: true, hosts: Box::default() };
    let decided = World { control_plane, ..World::with_replicas(1, vec![host("h", json!({}))]) }.decide();
    assert_eq!(
        (decided.step.as_str(), decided.endpoint()),
        ("rest", ("False", "ControlPlaneEndpointNotSet"))
    );
    assert!(decided.provisioned());
}

#[test]
fn for_one_machine_a_free_host_with_a_declared_address_is_kept() {
    let claimed = json!({"spec": {"claimID": "0123456789abcdef0123456789abcdef"}});
    let others =
        json!({"spec": {"reservedFor": {"kind": "Beskar7Cluster", "namespace": "metal", "name": "d"}}});
    let deleted = json!({"metadata": {"deletionTimestamp": "2026-11-16T00:00:00Z"}});
    let mut kept_and_deleted = kept();
    kept_and_deleted["metadata"] = deleted["metadata"].clone();
    for (name, hosts, expected) in [
        ("the only one", vec![host("h", json!({}))], "reserve h"),
        (
            "not one that is in use, promised or silent",
            vec![
                host("a", claimed),
                host("b", others),
                host("c", json!({"spec": {"addresses": []}})),
                host("d", json!({"status": {"state": "Enrolling"}})),
                host("e", json!({"spec": {"cordoned": "new fans"}})),
                host("f", deleted),
                host("h", json!({})),
            ],
            "reserve h",
        ),
        (
            "one that is kept already, though another would do",
            vec![host("a", json!({})), host("b", kept()), host("c", json!({}))],
            "write 10.1.0.1:6443",
        ),
        (
            "another, where the kept one is deleted",
            vec![host("a", kept_and_deleted), host("h", json!({}))],
            "reserve h",
        ),
    ] {
        let mut hosts = hosts;
        for _ in 0..hosts.len() {
            hosts.rotate_left(1);
            let decided = World::with_replicas(1, hosts.clone()).decide();
            assert_eq!(decided.step, expected, "{name}");
            assert!(!decided.says, "{name}: nothing is said before it is done");
        }
    }
}

#[test]
fn the_same_hosts_give_the_same_choice_in_any_order() {
    let mut hosts: Vec<PhysicalHost> =
        (0..7).map(|number| host(&format!("h-{number}"), address(&format!("10.1.0.{number}")))).collect();
    let first = World::with_replicas(1, hosts.clone()).decide().step;
    for _ in 0..7 {
        hosts.rotate_left(1);
        assert_eq!(World::with_replicas(1, hosts.clone()).decide().step, first);
    }
}

#[test]
fn a_port_that_is_wished_for_without_a_host_is_kept() {
    let mut world = World::with_replicas(1, vec![host("h", kept())]);
    world.cluster = cluster(json!({"spec": {"controlPlaneEndpoint": {"host": "", "port": 8443}}}));
    assert_eq!(world.decide().step, "write 10.1.0.1:8443");
}

#[test]
fn where_no_host_will_do_the_reasons_are_counted() {
    let claimed = || json!({"spec": {"claimID": "0123456789abcdef0123456789abcdef"}});
    let silent = |name: &str| host(name, json!({"spec": {"addresses": []}}));
    for (hosts, told) in [
        (vec![], "There are no hosts that this may have: add PhysicalHosts"),
        (vec![silent("a"), silent("b")], "None of 2 hosts declares an address"),
        (
            vec![host("a", claimed()), silent("b")],
            "0 of 1 host matches: 1 claimed; 1 more declare no address",
        ),
        (vec![host("a", claimed()), host("b", claimed())], "0 of 2 hosts match: 2 claimed"),
    ] {
        let decided = World::with_replicas(1, hosts).decide();
        assert_eq!(
            (decided.step.as_str(), decided.endpoint()),
            ("rest", ("False", "WaitingForPhysicalHost"))
        );
        let message = decided.message("ControlPlaneEndpointReady");
        assert!(message.contains(told), "{message}");
        assert!(!decided.provisioned());
    }
}

#[test]
fn the_pool_and_the_template_of_the_machines_say_which_hosts_will_do() {
    let selector = json!({"matchLabels": {"rack": "r1"}});
    let hosts = || vec![labelled("a", json!({"rack": "r2"})), labelled("h", json!({"rack": "r1"}))];
    let mut pooled = World::with_replicas(1, hosts());
    pooled.cluster = cluster(json!({"spec": {"hostPool": {"selector": selector}}}));
    assert_eq!(pooled.decide().step, "reserve h");

    let wanting = |selector: Value, requirements: Value| ControlPlane::Found {
        replicas: Some(1),
        brings_endpoint: false,
        hosts: Box::new(HostWish {
            selector: serde_json::from_value(selector).unwrap(),
            requirements: serde_json::from_value(requirements).unwrap(),
        }),
    };
    let with = |control_plane| World { control_plane, ..World::with_replicas(1, hosts()) };
    assert_eq!(with(wanting(selector, json!(null))).decide().step, "reserve h");
    let decided = with(wanting(json!(null), json!({"minCPUCores": 4}))).decide();
    assert!(decided.message("ControlPlaneEndpointReady").contains("2 cores unknown"), "{decided:?}");
    let decided = with(wanting(json!({"inNamespace": "racks"}), json!(null))).decide();
    assert_eq!((decided.step.as_str(), decided.endpoint()), ("rest", ("False", "HostPoolNotAllowed")));
    assert!(decided.message("ControlPlaneEndpointReady").contains("inNamespace"), "{decided:?}");
    assert_eq!(
        with(wanting(json!({"inNamespace": "metal", "matchLabels": {"rack": "r2"}}), json!(null)))
            .decide()
            .step,
        "reserve a"
    );
}

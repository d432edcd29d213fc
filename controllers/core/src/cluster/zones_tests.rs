//! Tables over the failure domains of a cluster.

use serde_json::{Value, json};

use super::super::samples::*;

fn zoned(name: &str, zone: &str) -> Value {
    json!({"metadata": {"name": name, "labels": {"topology.kubernetes.io/zone": zone}}})
}

fn domains(decided: &Decided) -> Vec<(&str, bool)> {
    let domains = &decided.status.failure_domains;
    domains.iter().map(|domain| (domain.name.as_str(), domain.control_plane.unwrap())).collect()
}

#[test]
fn failure_domains_are_the_zones_of_the_pool_sorted_and_once() {
    let elsewhere =
        json!({"metadata": {"namespace": "other", "labels": {"topology.kubernetes.io/zone": "x"}}});
    let mut world = World::new(json!({}));
    world.hosts = vec![
        host("1", zoned("1", "b")),
        host("2", zoned("2", "a")),
        host("3", zoned("3", "b")),
        host("4", zoned("4", "")),
        host("5", json!({})),
        host("6", elsewhere),
        // In use, or not reached: its zone is there all the same.
        host("7", json!({"metadata": {"labels": {"topology.kubernetes.io/zone": "c"}}, "status": null})),
    ];
    assert_eq!(domains(&world.decide()), [("a", true), ("b", true), ("c", true)]);

    let pool = json!({"hostPool": {"selector": {"matchExpressions": [
        {"key": "topology.kubernetes.io/zone", "operator": "NotIn", "values": ["b"]},
    ]}}});
    world.cluster = cluster(json!({"spec": pool}));
    assert_eq!(domains(&world.decide()), [("a", true), ("c", true)]);

    // What went is taken off.
    world.cluster.status = Some(world.decide().status);
    world.hosts.clear();
    assert_eq!(domains(&world.decide()), []);
}

#[test]
fn there_are_as_many_as_the_api_holds_and_no_more() {
    let mut world = World::new(json!({}));
    let name = |number| format!("z-{number:03}");
    world.hosts = (0..120).map(|number| host(&name(number), zoned(&name(number), &name(number)))).collect();
    let decided = world.decide();
    let domains = domains(&decided);
    assert_eq!((domains.len(), domains[0].0, domains[99].0), (100, "z-000", "z-099"));
}

#[test]
fn the_control_plane_is_where_the_reserved_host_is() {
    let mut reserved = host("h", kept());
    reserved.metadata.labels = host("x", zoned("x", "b")).metadata.labels;
    let others = || vec![host("1", zoned("1", "a")), host("2", zoned("2", "b"))];
    let mut world = World::with_replicas(1, others());
    world.cluster = cluster(json!({"spec": {"controlPlaneEndpoint": {"host": "10.1.0.1", "port": 6443}}}));
    for other in &mut world.hosts {
        other.spec.addresses.clear();
    }
    world.hosts.push(reserved);
    assert_eq!(domains(&world.decide()), [("a", false), ("b", true)]);

    // Once the first machine has it, others may be anywhere.
    world.hosts[2].spec.claim_id = Some("0123456789abcdef0123456789abcdef".to_owned());
    assert_eq!(domains(&world.decide()), [("a", true), ("b", true)]);

    // Without a zone it fits no failure domain: Cluster API must name none.
    world.hosts[2].spec.claim_id = None;
    world.hosts[2].metadata.labels = None;
    assert_eq!(domains(&world.decide()), [("a", false), ("b", false)]);
}

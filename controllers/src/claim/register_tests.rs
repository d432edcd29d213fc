//! Who waits, who has chosen, who is woken.

use std::{collections::BTreeSet, sync::Arc};

use beskar7_api::{Beskar7Machine, PhysicalHost, cluster_api};
use beskar7_core::{
    claim::Wanting,
    machine::{self, Owner, Surroundings},
};
use serde_json::{Value, json};

use super::*;
use crate::watch::{Key, key};

fn id(name: &str) -> ConsumerId {
    ConsumerId { kind: "Beskar7Machine", key: ("metal".to_owned(), name.to_owned()) }
}

fn host_key(name: &str) -> Key {
    ("metal".to_owned(), name.to_owned())
}

fn host(name: &str, zone: &str, spec: Value) -> Arc<PhysicalHost> {
    let mut connection =
        json!({"redfishConnection": {"address": "https://127.0.0.1:9", "credentialsSecretRef": "bmc"}});
    connection.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    Arc::new(
        serde_json::from_value(json!({
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "PhysicalHost",
            "metadata": {"name": name, "namespace": "metal", "labels": {"topology.kubernetes.io/zone": zone}},
            "spec": connection, "status": {"state": "Available"},
        }))
        .unwrap(),
    )
}

fn free(name: &str) -> Arc<PhysicalHost> {
    host(name, "a", json!({}))
}

fn claimed(name: &str) -> Arc<PhysicalHost> {
    host(name, "a", json!({"claimID": "c", "consumerRef": {"kind": "Beskar7Machine", "name": "x"}}))
}

/// What a machine of cluster edge wants, of a zone if one is given.
fn wanting(zone: Option<&str>) -> Arc<Wanting> {
    let machine: Beskar7Machine = serde_json::from_value(json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "Beskar7Machine",
        "metadata": {"name": "m", "namespace": "metal"}, "spec": {},
    }))
    .unwrap();
    let owner: cluster_api::Machine = serde_json::from_value(json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "metadata": {"name": "m"},
        "spec": {"clusterName": "edge", "failureDomain": zone},
    }))
    .unwrap();
    let around = Surroundings { owner: Owner::There(&owner), cluster: None, infrastructure: None };
    Arc::new(machine::wanting(&machine, &around, None, &BTreeSet::new()))
}

fn names(woken: BTreeSet<ConsumerId>) -> Vec<String> {
    woken.into_iter().map(|consumer| consumer.key.1).collect()
}

#[test]
fn no_two_who_choose_at_once_choose_the_same() {
    let register = Register::default();
    let hosts: Vec<_> = (0..50).map(|number| free(&format!("h-{number}"))).collect();
    let mut chosen = BTreeSet::new();
    for number in 0..50 {
        let host = register.choose(&id(&format!("m-{number}")), &wanting(None), &hosts).unwrap();
        assert!(chosen.insert(key(host.as_ref())), "{:?} was chosen twice", key(host.as_ref()));
    }
    let told = register.choose(&id("late"), &wanting(None), &hosts).unwrap_err();
    assert_eq!(told, "0 of 50 hosts match: 50 claimed");
}

#[test]
fn zones_stay_even_though_nothing_shows_on_the_hosts_yet() {
    let register = Register::default();
    let zone = |number: usize| ["a", "b", "c"][number % 3];
    let hosts: Vec<_> = (0..30).map(|number| host(&format!("h-{number}"), zone(number), json!({}))).collect();
    let mut count = std::collections::BTreeMap::new();
    for number in 0..9 {
        let host = register.choose(&id(&format!("m-{number}")), &wanting(None), &hosts).unwrap();
        *count
            .entry(host.metadata.labels.as_ref().unwrap()["topology.kubernetes.io/zone"].clone())
            .or_insert(0) += 1;
    }
    assert_eq!(count.into_values().collect::<Vec<_>>(), [3, 3, 3]);
}

#[test]
fn who_chooses_again_frees_what_it_chose_before() {
    let register = Register::default();
    let (one, two) = (vec![free("one")], vec![free("one"), free("two")]);
    register.choose(&id("m"), &wanting(None), &one).unwrap();
    assert!(register.choose(&id("n"), &wanting(None), &one).is_err());
    assert_eq!(register.gives_up_choice(&id("m")), Some(host_key("one")));
    register.choose(&id("n"), &wanting(None), &one).unwrap();
    let host = register.choose(&id("m"), &wanting(None), &two).unwrap();
    assert_eq!(key(host.as_ref()), host_key("two"));
    assert_eq!(register.forget(&id("m")), Some(host_key("two")));
    assert_eq!(register.forget(&id("m")), None);
}

#[test]
fn exactly_those_who_could_use_a_host_are_woken() {
    let register = Register::default();
    let none: Vec<Arc<PhysicalHost>> = Vec::new();
    for (name, zone) in [("any", None), ("in-a", Some("a")), ("in-b", Some("b"))] {
        register.choose(&id(name), &wanting(zone), &none).unwrap_err();
    }
    let seen = |host: &Arc<PhysicalHost>| names(register.saw_host(&key(host.as_ref()), Some(host), None));
    assert_eq!(seen(&free("h")), ["any", "in-a"]);
    assert_eq!(seen(&claimed("h")), Vec::<String>::new());
    // One takes it: the others need not look, until it is given up.
    register.choose(&id("any"), &wanting(None), &[free("h")]).unwrap();
    assert_eq!(seen(&free("h")), Vec::<String>::new());
    register.gives_up_choice(&id("any"));
    assert_eq!(seen(&free("h")), ["in-a"], "who chose does not wait any more");
    register.stops_waiting(&id("in-a"));
    assert_eq!(seen(&free("h")), Vec::<String>::new());
}

#[test]
fn a_choice_ends_when_it_shows_on_the_host() {
    let register = Register::default();
    let hosts = [free("h")];
    register.choose(&id("m"), &wanting(None), &hosts).unwrap();
    register.saw_host(&host_key("h"), Some(&claimed("h")), None);
    assert_eq!(register.gives_up_choice(&id("m")), None, "it was forgotten");
}

#[test]
fn those_who_refer_to_a_host_are_woken_whatever_changed() {
    let register = Register::default();
    let intent = format!("metal/h/{}", "0123456789abcdef".repeat(2));
    register.saw_consumer(&id("intends"), Some(&intent));
    let seen = |held_by: Option<&str>| {
        names(register.saw_host(&host_key("h"), Some(&claimed("h")), held_by.map(id)))
    };
    assert_eq!(seen(Some("holds")), ["holds", "intends"]);
    assert_eq!(register.held_by(&id("holds")), [host_key("h")]);
    // Somebody takes it away: the one who had it must know.
    assert_eq!(seen(None), ["holds", "intends"]);
    assert_eq!(register.held_by(&id("holds")), Vec::<Key>::new());
    assert_eq!(seen(None), ["intends"]);
    register.saw_consumer(&id("intends"), None);
    assert_eq!(names(register.saw_host(&host_key("h"), None, None)), Vec::<String>::new());
}

#[test]
fn a_policy_or_a_namespace_that_changed_wakes_who_waits_and_who_holds_by_it() {
    let register = Register::default();
    let elsewhere =
        |name: &str| ConsumerId { kind: "Beskar7Machine", key: ("tenant".to_owned(), name.to_owned()) };
    register.waits(&id("waits"), &wanting(None));
    register.saw_host(&host_key("h"), Some(&claimed("h")), Some(elsewhere("holds")));
    register.saw_host(&host_key("own"), Some(&claimed("own")), Some(id("at-home")));
    // Who holds hosts at home may need a policy for them, too: tenants' claims do.
    assert_eq!(names(register.concerned_by_policy("metal")), ["at-home", "waits", "holds"]);
    assert_eq!(names(register.concerned_by_policy("lab")), ["waits"]);
    assert_eq!(names(register.concerned_by_namespace("tenant")), ["holds"]);
    assert_eq!(names(register.concerned_by_namespace("metal")), ["at-home", "waits"]);
}

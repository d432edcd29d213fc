//! The roles that a release installs grant what the manager needs, and nothing else.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests may panic")]

use std::{collections::BTreeSet, path::Path};

use beskar7_controllers::{
    options::Options,
    permissions::{self, Where},
};
use serde_json::Value;

/// Verb, resource and group, as one text.
fn grants(file: &str) -> BTreeSet<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../config").join(file);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let role: Value = serde_saphyr::from_str(&text).unwrap();
    let texts = |rule: &Value, key: &str| -> Vec<String> {
        rule[key].as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
    };
    let mut all = BTreeSet::new();
    for rule in role["rules"].as_array().unwrap() {
        assert!(rule.get("resourceNames").is_none(), "{file}: this test does not know resourceNames");
        for group in texts(rule, "apiGroups") {
            for resource in texts(rule, "resources") {
                all.extend(texts(rule, "verbs").iter().map(|verb| format!("{verb} {resource} ({group})")));
            }
        }
    }
    all
}

fn needs(flag: &str, places: &[Where]) -> BTreeSet<String> {
    let options =
        Options::read(["manager", flag, "--boot-url=http://boot.example.org"].map(Into::into)).unwrap();
    permissions::required(&options)
        .into_iter()
        .filter(|need| places.contains(&need.place))
        .map(|need| {
            let subresource = need.subresource.map(|part| format!("/{part}")).unwrap_or_default();
            format!("{} {}{subresource} ({})", need.verb, need.resource, need.group)
        })
        .collect()
}

#[test]
fn the_cluster_role_is_what_is_needed() {
    let needed = needs("--leader-elect", &[Where::Watched, Where::Cluster]);
    assert_eq!(grants("rbac/role.yaml"), needed);
}

#[test]
fn the_role_for_our_own_namespace_is_what_is_needed() {
    assert_eq!(grants("rbac/leader_election_role.yaml"), needs("--leader-elect", &[Where::Own]));
}

#[test]
fn the_role_for_discovered_machines_is_what_is_needed() {
    let arguments = [
        "manager",
        "--boot-url=http://boot.example.org",
        "--dhcp=proxy",
        "--dhcp-interfaces=eth1",
        "--ipxe-dir=/ipxe",
        "--agent-kernel=http://boot.example.org/kernel",
        "--agent-initramfs=http://boot.example.org/initramfs",
        "--discovery-namespace=racks",
    ];
    let options = Options::read(arguments.map(Into::into)).unwrap();
    let needed = permissions::required(&options).into_iter().filter(|need| need.place == Where::Discovery);
    let needed: BTreeSet<String> =
        needed.map(|need| format!("{} {} ({})", need.verb, need.resource, need.group)).collect();
    assert_eq!(grants("rbac/discovery_role.yaml"), needed);
}

#[test]
fn a_boot_server_by_itself_may_do_what_it_needs_and_no_more() {
    assert_eq!(grants("boot/role.yaml"), needs("--boot-only", &[Where::Watched, Where::Cluster]));
    assert_eq!(grants("boot/own_role.yaml"), needs("--boot-only", &[Where::Own]));
    let (boot, all) = (grants("boot/role.yaml"), grants("rbac/role.yaml"));
    assert!(boot.is_subset(&all), "{:?}", boot.difference(&all));
}

//! Every way in which a Node is found, and every way in which it is not.

use super::*;

const OURS: &str = "b7://metal/h";
const UUID: &str = "00112233-4455-6677-8899-aabbccddeeff";
const BOOT: i64 = 1000;
const FLAG: &str = "--provider-id=b7://metal/h";

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

/// A Node of our board without a providerID, made after the boot.
pub(crate) fn node(name: &str) -> Node {
    Node {
        name: name.to_owned(),
        uid: format!("{name}-uid"),
        created: Some(at(BOOT + 60)),
        deleting: false,
        provider_id: None,
        system: SystemId::Real(UUID.to_owned()),
        labels: BTreeMap::new(),
        ours: BTreeSet::new(),
        theirs: BTreeSet::new(),
    }
}

fn with_id(name: &str, id: &str) -> Node {
    Node { provider_id: Some(id.to_owned()), ..node(name) }
}

fn foreign(name: &str) -> Node {
    Node { system: SystemId::Real("another".to_owned()), ..node(name) }
}

fn deleting(node: Node) -> Node {
    Node { deleting: true, ..node }
}

fn old(node: Node) -> Node {
    Node { created: Some(at(BOOT - 1)), ..node }
}

/// What is expected: the Node, or the reason and a part of the words.
enum Expected {
    Linked(&'static str),
    Found(&'static str),
    None(&'static str, &'static [&'static str]),
}

#[test]
fn one_node_and_one_host_are_linked_and_everything_else_is_refused_with_words() {
    use Expected::{Found, Linked, None as Refused};
    let real = SystemId::Real(UUID.to_owned());
    let filler = SystemId::Filler("03000200-0400-0500-0006-000700080009".to_owned());
    let anything: &[&str] = &[];
    let twin: &[&str] = &["metal/twin"];
    for (what, system, nodes, twins, expected) in [
        ("the kubelet was told", &real, vec![with_id("a", OURS), foreign("b")], anything, Linked("a")),
        (
            "the kubelet was told, and the UUID tells nothing",
            &filler,
            vec![with_id("a", OURS)],
            anything,
            Linked("a"),
        ),
        (
            "the kubelet was told, and others have its UUID",
            &real,
            vec![with_id("a", OURS), node("b")],
            twin,
            Linked("a"),
        ),
        (
            "an old one of the same identity goes",
            &real,
            vec![deleting(with_id("a", OURS)), with_id("b", OURS)],
            anything,
            Linked("b"),
        ),
        (
            "two have the identity",
            &real,
            vec![with_id("a", OURS), with_id("b", OURS)],
            anything,
            Refused(reasons::SEVERAL_NODES_MATCH, &["a, b", "Delete", FLAG]),
        ),
        (
            "the one with the identity goes",
            &real,
            vec![deleting(with_id("a", OURS)), node("b")],
            anything,
            Refused(reasons::NODE_BEING_DELETED, &["Node a"]),
        ),
        ("by UUID", &real, vec![node("a"), foreign("b")], anything, Found("a")),
        (
            "none is there",
            &real,
            vec![foreign("b"), with_id("c", "b7://metal/c")]
                .into_iter()
                .map(|node| Node { system: SystemId::Untold, ..node })
                .collect(),
            anything,
            Refused(reasons::WAITING_FOR_NODE, &[OURS]),
        ),
        ("nothing is there", &real, vec![], anything, Refused(reasons::WAITING_FOR_NODE, &[OURS])),
        (
            "the host tells no UUID",
            &SystemId::Untold,
            vec![Node { system: SystemId::Untold, ..node("a") }],
            anything,
            Refused(reasons::UUID_UNKNOWN, &[FLAG, "{{ ds.meta_data.provider_id }}", "kubeletExtraArgs"]),
        ),
        (
            "the host tells a filler",
            &filler,
            vec![Node { system: filler.clone(), ..node("a") }],
            anything,
            Refused(reasons::UUID_NOT_UNIQUE, &["03000200-0400-0500-0006-000700080009", FLAG]),
        ),
        (
            "two Nodes match",
            &real,
            vec![node("a"), node("b")],
            anything,
            Refused(reasons::SEVERAL_NODES_MATCH, &["a, b", FLAG]),
        ),
        (
            "two Nodes match, and one is known by another identity",
            &real,
            vec![node("a"), with_id("b", "b7://metal/other")],
            anything,
            Refused(reasons::SEVERAL_NODES_MATCH, &["a, b", FLAG]),
        ),
        (
            "two Nodes match, and one of them goes",
            &real,
            vec![deleting(node("a")), node("b")],
            anything,
            Found("b"),
        ),
        (
            "the one that matches goes",
            &real,
            vec![deleting(node("a"))],
            anything,
            Refused(reasons::NODE_BEING_DELETED, &["Node a"]),
        ),
        (
            "two hosts match",
            &real,
            vec![node("a")],
            twin,
            Refused(reasons::SEVERAL_HOSTS_MATCH, &["Node a", "metal/twin", FLAG]),
        ),
        (
            "it is somebody else's",
            &real,
            vec![with_id("a", "aws:///i-1")],
            anything,
            Refused(
                reasons::NODE_HAS_ANOTHER_PROVIDER_ID,
                &["Node a", "aws:///i-1", "can't be changed", FLAG],
            ),
        ),
        (
            "it is of an earlier life",
            &real,
            vec![old(node("a"))],
            anything,
            Refused(reasons::NODE_OF_EARLIER_BOOT, &["Node a", "delete it"]),
        ),
        (
            "it is of an earlier life and was told",
            &real,
            vec![old(with_id("a", OURS))],
            anything,
            Refused(reasons::NODE_OF_EARLIER_BOOT, &["Node a", "delete it"]),
        ),
    ] {
        let sought =
            Sought { provider_id: OURS, system, booting_since: Some(at(BOOT)), born: Some(at(BOOT - 100)) };
        let link = sought.among(&nodes, || twins.iter().map(|name| (*name).to_owned()).collect());
        let finding = link.finding(OURS, None);
        match expected {
            Linked(name) => {
                assert!(matches!(&link, Link::Linked(node) if node.name == name), "{what}: {link:?}");
                assert_eq!((finding.truth, finding.reason), (Truth::True, reasons::LINKED), "{what}");
                assert!(finding.message.contains(name), "{what}: {}", finding.message);
            }
            Found(name) => {
                assert!(matches!(&link, Link::Found(node) if node.name == name), "{what}: {link:?}");
                assert_eq!((finding.truth, finding.reason), (Truth::False, reasons::LINKING_NODE), "{what}");
            }
            Refused(reason, words) => {
                assert!(matches!(&link, Link::None(_)), "{what}: {link:?}");
                assert_eq!((finding.truth, finding.reason), (Truth::False, reason), "{what}");
                for word in words {
                    assert!(finding.message.contains(word), "{what}: no {word} in {}", finding.message);
                }
                assert!(!sought.is_proof(&link), "{what}: proves a boot");
            }
        }
    }
}

#[test]
fn hosts_are_compared_only_when_a_node_was_found_by_its_uuid() {
    let system = SystemId::Real(UUID.to_owned());
    let sought = Sought { provider_id: OURS, system: &system, booting_since: None, born: None };
    for nodes in [vec![], vec![with_id("a", OURS)], vec![node("a"), node("b")], vec![foreign("a")]] {
        let _link = sought.among(&nodes, || panic!("asked for {nodes:?}"));
    }
}

#[test]
fn a_boot_is_proven_by_a_node_that_is_there_since_it_began() {
    let system = SystemId::Real(UUID.to_owned());
    for (node, booting_since, proof) in [
        (node("a"), Some(at(BOOT)), true),
        (with_id("a", OURS), Some(at(BOOT)), true),
        (Node { created: Some(at(BOOT)), ..node("a") }, Some(at(BOOT)), true),
        // What was seen to boot needs no proof.
        (node("a"), None, false),
        (old(node("a")), Some(at(BOOT)), false),
        (old(with_id("a", OURS)), Some(at(BOOT)), false),
        (Node { created: None, ..with_id("a", OURS) }, Some(at(BOOT)), false),
        (deleting(with_id("a", OURS)), Some(at(BOOT)), false),
        (with_id("a", "b7://metal/other"), Some(at(BOOT)), false),
    ] {
        let nodes = [node];
        let sought = Sought { provider_id: OURS, system: &system, booting_since, born: None };
        let link = sought.among(&nodes, Vec::new);
        assert_eq!(sought.is_proof(&link), proof, "{nodes:?} since {booting_since:?}");
    }
}

#[test]
fn once_the_boot_was_seen_a_node_is_as_young_as_the_machine_or_carries_its_identity() {
    let system = SystemId::Real(UUID.to_owned());
    let sought = Sought { provider_id: OURS, system: &system, booting_since: None, born: Some(at(BOOT)) };
    assert!(matches!(sought.among(&[node("a")], Vec::new), Link::Found(_)));
    assert!(matches!(sought.among(&[old(node("a"))], Vec::new), Link::None(Refusal::OfEarlierBoot(_))));
    assert!(matches!(sought.among(&[old(with_id("a", OURS))], Vec::new), Link::Linked(_)));
}

#[test]
fn only_what_people_must_decide_keeps_a_machine_from_being_ready() {
    let name = || "a".to_owned();
    for (refusal, needs) in [
        (Refusal::NotThere, false),
        (Refusal::NoUuid, false),
        (Refusal::Filler(name()), false),
        (Refusal::Deleting(name()), false),
        (Refusal::SeveralNodes(vec![name()]), true),
        (Refusal::SeveralHosts { node: name(), hosts: vec![] }, true),
        (Refusal::AnotherProviderId { node: name(), provider_id: name() }, true),
        (Refusal::OfEarlierBoot(name()), true),
    ] {
        assert_eq!(Link::None(refusal.clone()).needs_people(), needs, "{refusal:?}");
    }
    let node = node("a");
    assert!(!Link::Linked(&node).needs_people() && !Link::Found(&node).needs_people());
}

#[test]
fn what_can_not_be_written_says_why() {
    let node = node("a");
    let finding = Link::Found(&node).finding(OURS, Some("nodes is forbidden"));
    assert_eq!((finding.truth, finding.reason), (Truth::False, reasons::NODE_LINK_FAILED));
    assert!(finding.message.contains("Node a") && finding.message.contains("nodes is forbidden"));
}

#[test]
fn a_cluster_that_can_not_be_asked_leaves_it_unknown() {
    for (trouble, reason, word) in [
        (
            Trouble::NoKubeconfig("metal/edge-kubeconfig".into()),
            reasons::KUBECONFIG_NOT_FOUND,
            "metal/edge-kubeconfig",
        ),
        (
            Trouble::BadKubeconfig { secret: "metal/edge-kubeconfig".into(), why: "no cluster".into() },
            reasons::KUBECONFIG_NOT_USABLE,
            "no cluster",
        ),
        (
            Trouble::Unreachable("connection refused".into()),
            reasons::WORKLOAD_CLUSTER_UNREACHABLE,
            "connection refused",
        ),
    ] {
        let finding = trouble.finding();
        assert_eq!((finding.truth, finding.reason), (Truth::Unknown, reason));
        assert!(finding.message.contains(word), "{}", finding.message);
    }
}

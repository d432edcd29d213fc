//! Which labels a Node gets.

use super::{super::node_link::tests::node, *};

fn labels(all: &[(&str, &str)]) -> BTreeMap<String, String> {
    all.iter().map(|(label, value)| ((*label).to_owned(), (*value).to_owned())).collect()
}

type Pairs<'a> = &'a [(&'a str, &'a str)];

#[test]
fn a_node_gets_the_labels_of_its_host_and_loses_them_with_it() {
    let prefixes = ["topology.kubernetes.io/".to_owned(), "node.beskar7.io/gpu-".to_owned()];
    let (zone, gpu, other) =
        ("topology.kubernetes.io/zone", "node.beskar7.io/gpu-kind", "node.beskar7.io/row");
    // What the host has, what the Node has, which of it is ours, which others'; what is wanted, contested, written.
    type Case<'a> = (Pairs<'a>, Pairs<'a>, &'a [&'a str], &'a [&'a str], Pairs<'a>, &'a [&'a str], bool);
    let cases: [Case<'_>; 10] = [
        (&[], &[], &[], &[], &[], &[], false),
        (&[(other, "7")], &[], &[], &[], &[], &[], false),
        (&[(zone, "a"), (gpu, "h")], &[], &[], &[], &[(zone, "a"), (gpu, "h")], &[], true),
        (&[(zone, "a")], &[(zone, "a")], &[zone], &[], &[(zone, "a")], &[], false),
        (&[(zone, "b")], &[(zone, "a")], &[zone], &[], &[(zone, "b")], &[], true),
        (&[], &[(zone, "a")], &[zone], &[], &[], &[], true),
        (&[(zone, "b")], &[(zone, "a")], &[], &[zone], &[], &[zone], false),
        // Somebody else wants the same: it is ours as well.
        (&[(zone, "a")], &[(zone, "a")], &[], &[zone], &[(zone, "a")], &[], true),
        (&[(zone, "a")], &[(zone, "a")], &[zone], &[zone], &[(zone, "a")], &[], false),
        // It was both's; the host's value changes: the others keep theirs, and we let go.
        (&[(zone, "b"), (gpu, "h")], &[(zone, "a")], &[zone], &[zone], &[(gpu, "h")], &[zone], true),
    ];
    for case @ (host, on_node, ours, theirs, wanted, contested, changed) in cases {
        let own = |all: &[&str]| all.iter().map(|label| (*label).to_owned()).collect();
        let node = Node { labels: labels(on_node), ours: own(ours), theirs: own(theirs), ..node("n") };
        let found = Labels::of(Some(&labels(host)), &prefixes, &node);
        assert_eq!(found.wanted, labels(wanted), "{case:?}");
        assert_eq!(found.contested, contested, "{case:?}");
        assert_eq!(found.changed, changed, "{case:?}");
        assert_eq!(found.told().is_some(), !contested.is_empty());
    }
}

#[test]
fn a_host_without_labels_takes_ours_away() {
    let ours = Node {
        labels: labels(&[("node.beskar7.io/row", "7")]),
        ours: ["node.beskar7.io/row".to_owned()].into(),
        ..node("n")
    };
    let found = Labels::of(None, &["node.beskar7.io/".to_owned()], &ours);
    assert!(found.changed && found.wanted.is_empty());
}

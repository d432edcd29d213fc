//! What is kept of a Node.

use beskar7_core::machine::node_link::SystemId;
use serde_json::json;

use super::*;

fn prefixes() -> Vec<String> {
    vec!["topology.kubernetes.io/".to_owned()]
}

#[test]
fn a_node_is_kept_with_who_set_which_label() {
    let fields = |labels: serde_json::Value| json!({"f:metadata": {"f:labels": labels}, "f:spec": {}});
    let read: Read = serde_json::from_value(json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {
            "name": "n", "uid": "u", "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": {
                "topology.kubernetes.io/zone": "a", "topology.kubernetes.io/region": "r",
                "node.beskar7.io/row": "7", "kubernetes.io/hostname": "n",
            },
            "managedFields": [
                {"manager": LABELS_BY, "operation": "Apply",
                 "fieldsV1": fields(json!({"f:topology.kubernetes.io/zone": {}, "f:node.beskar7.io/row": {}}))},
                {"manager": "kubelet", "operation": "Update",
                 "fieldsV1": fields(json!({".": {}, "f:topology.kubernetes.io/region": {},
                    "f:kubernetes.io/hostname": {}}))},
                {"manager": LABELS_BY, "operation": "Update",
                 "fieldsV1": fields(json!({"f:topology.kubernetes.io/zone": {}}))},
            ],
        },
        "spec": {"providerID": "", "podCIDR": "10.0.0.0/24"},
        "status": {"nodeInfo": {"systemUUID": "4C4C4544-0035-3410-8050-C6C04F314733"}, "images": []},
    }))
    .unwrap();
    let node = keep(read, &prefixes());
    let names = |all: &[&str]| all.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
    assert_eq!((node.name.as_str(), node.uid.as_str(), node.deleting), ("n", "u", false));
    assert_eq!(node.created.map(|created| created.as_second()), Some(1_767_225_600));
    assert_eq!(node.provider_id, None, "an empty one is none");
    assert_eq!(node.ours, names(&["topology.kubernetes.io/zone", "node.beskar7.io/row"]));
    assert_eq!(node.theirs, names(&["topology.kubernetes.io/zone", "topology.kubernetes.io/region"]));
    let kept: BTreeSet<String> = node.labels.keys().cloned().collect();
    assert_eq!(
        kept,
        names(&["topology.kubernetes.io/zone", "topology.kubernetes.io/region", "node.beskar7.io/row"]),
        "what we set under another prefix is known, too: it is to go"
    );
    assert!(matches!(node.system, SystemId::Real(_)));
}

#[test]
fn a_node_that_says_nothing_of_itself_is_kept_all_the_same() {
    let read: Read = serde_json::from_value(json!({
        "metadata": {"name": "n", "deletionTimestamp": "2026-01-01T00:00:00Z"}, "spec": {}, "status": {},
    }))
    .unwrap();
    let node = keep(read, &prefixes());
    assert!(node.deleting && node.labels.is_empty() && node.system == SystemId::Untold);
}

#[test]
fn both_byte_orders_are_one_board_and_fillers_are_none() {
    let real = system_id(Some("4C4C4544-0035-3410-8050-C6C04F314733"));
    assert!(matches!(real, SystemId::Real(_)));
    assert_eq!(system_id(Some(" 44454c4c-3500-1034-8050-c6c04f314733 ")), real);
    for filler in [
        "03000200-0400-0500-0006-000700080009",
        "00020003-0004-0005-0006-000700080009",
        "00000000-0000-0000-0000-000000000000",
        "FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF",
        "To be filled by O.E.M.",
    ] {
        assert_eq!(system_id(Some(filler)), SystemId::Filler(filler.to_owned()));
    }
    assert_eq!((system_id(None), system_id(Some(" "))), (SystemId::Untold, SystemId::Untold));
}

//! What a claim wants, and may want.

use serde_json::json;

use super::{super::samples::claim, *};

const ON: Delivery = Delivery::On { url_length: 80, agent: crate::delivery::AgentBoot::None };

fn open(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(ToString::to_string).collect()
}

#[test]
fn hosts_come_from_where_a_policy_opens_them_and_from_nowhere_else() {
    for (spec, expected) in [
        (json!({}), vec!["lab", "racks"]),
        (json!({"hostSelector": {"matchLabels": {"kind": "medium"}}}), vec!["lab", "racks"]),
        (json!({"hostSelector": {"inNamespace": "racks"}}), vec!["racks"]),
        (json!({"hostSelector": {"inNamespace": "other"}}), vec![]),
        (json!({"hostRef": {"name": "h", "namespace": "lab"}}), vec!["lab"]),
        (json!({"hostRef": {"name": "h", "namespace": "other"}}), vec![]),
        (json!({"hostRef": {"name": "h"}}), vec![]),
    ] {
        let wanting = wanting(&claim(json!({ "spec": spec })), &open(&["lab", "racks"]), ON);
        assert_eq!(wanting.namespaces, open(&expected), "{spec}");
    }
    let at_home = wanting(&claim(json!({"spec": {"hostRef": {"name": "h"}}})), &open(&["a"]), ON);
    assert_eq!((at_home.namespaces, at_home.host.as_deref()), (open(&["a"]), Some("h")));
}

#[test]
fn what_is_wanted_of_a_host_is_what_the_claim_says() {
    let wanting = wanting(
        &claim(json!({"spec": {
            "hostSelector": {"matchLabels": {"kind": "medium"}}, "failureDomain": "z",
            "hardwareRequirements": {"minCPUCores": 8},
        }})),
        &open(&["racks"]),
        ON,
    );
    let wish = wanting.wish();
    assert_eq!((wish.owner, wish.zone, wish.host), (Some("Tenant/a"), Some("z"), None));
    assert_eq!(wish.selector.unwrap().match_labels["kind"], "medium");
    assert_eq!(wish.requirements.unwrap().min_cpu_cores, Some(8));
}

#[test]
fn a_host_that_is_forbidden_and_one_that_is_not_there_look_alike() {
    let told = |spec: serde_json::Value, open_: &[&str]| {
        let claim = claim(json!({ "spec": spec }));
        not_authorized(&claim, &wanting(&claim, &open(open_), ON), false)
    };
    let named = json!({"hostRef": {"name": "h", "namespace": "metal"}});
    assert_eq!((told(named.clone(), &[]), told(named, &["metal"])), (None, None));
    assert!(told(json!({}), &[]).unwrap().contains("lets namespace a have hosts"));
    let there = told(json!({"hostSelector": {"inNamespace": "metal"}}), &["lab"]).unwrap();
    assert!(there.contains("in namespace metal"), "{there}");
    assert_eq!(told(json!({}), &["lab"]), None);
    let claim = claim(json!({}));
    let unlabelled = not_authorized(&claim, &wanting(&claim, &open(&[]), ON), true).unwrap();
    assert!(
        unlabelled.contains("lets namespace a have hosts") && unlabelled.contains("labels"),
        "{unlabelled}"
    );
}

#[test]
fn a_claim_that_is_paused_says_why_and_one_that_is_moved_is_not_looked_at() {
    let marked = |marks: &[&str]| {
        let all: serde_json::Map<String, serde_json::Value> =
            marks.iter().map(|mark| ((*mark).to_owned(), json!(""))).collect();
        on_hold(&claim(json!({"metadata": {"annotations": all}})))
    };
    let paused = Mark::Paused("The annotation cluster.x-k8s.io/paused is set".to_owned());
    for (marks, expected) in [
        (&[][..], None),
        (&[annotations::PAUSED], Some(paused)),
        (&[annotations::DELETE_FOR_MOVE], Some(Mark::Moved)),
        (&[annotations::PAUSED, annotations::DELETE_FOR_MOVE], Some(Mark::Moved)),
    ] {
        assert_eq!(marked(marks), expected, "{marks:?}");
    }
}

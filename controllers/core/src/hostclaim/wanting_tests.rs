//! What a claim wants, and may want.

use serde_json::json;

use super::{
    super::samples::{claim, host},
    *,
};

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
fn a_paused_claim_says_why() {
    assert_eq!(on_hold(&claim(json!({}))), None);
    let paused = claim(json!({"metadata": {"annotations": {"cluster.x-k8s.io/paused": ""}}}));
    assert!(on_hold(&paused).unwrap().contains("cluster.x-k8s.io/paused"));
}

#[test]
fn a_paused_claim_keeps_no_host_that_is_taken_back_and_is_left_alone_otherwise() {
    const ID: &str = "0123456789abcdef0123456789abcdef";
    const OLD: &str = "00000000000000000000000000000000";
    let intends = |intent: String| {
        let annotations = json!({annotations::PAUSED: "", annotations::CLAIM: intent});
        claim(json!({"metadata": {"annotations": annotations}}))
    };
    let (takes, gives_up) = (format!("metal/h/{ID}"), format!("metal/h/{ID}/given-up"));
    let renews = format!("metal/h/{ID}/renews-{OLD}/given-up");
    let held = |id: &str| host(json!({"spec": {"claimID": id}, "status": {"claimID": id}}));
    let wiped = host(json!({"spec": {"claimID": null}, "status": {"claimID": ID}}));
    let free = host(json!({"spec": {"claimID": null}, "status": {"claimID": null}}));
    for (intent, host, tenure, stays) in [
        (&takes, &held(ID), Tenure::Allowed, true),
        (&takes, &held(ID), Tenure::Tolerated, true),
        (&takes, &held(ID), Tenure::Revoked, false),
        (&gives_up, &held(ID), Tenure::Revoked, false),
        // Given up for another reason: that can wait.
        (&gives_up, &held(ID), Tenure::Tolerated, true),
        (&gives_up, &wiped, Tenure::Tolerated, true),
        (&renews, &held(OLD), Tenure::Tolerated, true),
        // Clean, the host does not say any more under which policy it was taken.
        (&gives_up, &free, Tenure::Tolerated, false),
        (&gives_up, &held("another"), Tenure::Allowed, false),
        (&takes, &free, Tenure::Allowed, true),
    ] {
        let why = stays_on_hold(&intends(intent.clone()), Some((host, tenure)));
        assert_eq!(why.is_some(), stays, "{intent} {tenure:?} {:?}", host.spec.claim_id);
    }
    assert!(stays_on_hold(&intends(takes), None).is_some());
    assert_eq!(stays_on_hold(&claim(json!({})), Some((&held(ID), Tenure::Allowed))), None);
}

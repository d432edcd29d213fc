//! Who may have hosts.

use serde_json::{Value, json};

use super::*;

fn policy(name: &str, spec: Value) -> Policy {
    let object: HostDeployPolicy = serde_json::from_value(json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "HostDeployPolicy",
        "metadata": {"name": name, "namespace": "metal"}, "spec": spec,
    }))
    .unwrap();
    Policy::new(&object)
}

fn for_namespaces(conditions: Value) -> Policy {
    policy("p", json!({ "hostclaimNamespaces": conditions }))
}

#[test]
fn all_conditions_of_a_policy_must_hold() {
    let labels: BTreeMap<String, String> =
        [("tier".to_owned(), "gold".to_owned()), ("team".to_owned(), "x".to_owned())].into();
    let (a, b) =
        (Asking { name: "tenant-a", labels: Some(&labels) }, Asking { name: "tenant-b", labels: None });
    for (conditions, for_a, for_b) in [
        (json!({}), true, true),
        (json!({"names": ["tenant-a"]}), true, false),
        (json!({"names": ["tenant-a", "tenant-b"]}), true, true),
        (json!({"nameMatches": "tenant-.*"}), true, true),
        (json!({"nameMatches": "tenant"}), false, false),
        (json!({"nameMatches": "a"}), false, false),
        (json!({"nameMatches": "x|tenant-a"}), true, false),
        (json!({"nameMatches": "TENANT-A"}), false, false),
        (json!({"hasLabels": [{"name": "tier"}]}), true, false),
        (json!({"hasLabels": [{"name": "tier", "value": "gold"}]}), true, false),
        (json!({"hasLabels": [{"name": "tier", "value": "silver"}]}), false, false),
        (json!({"hasLabels": [{"name": "tier"}, {"name": "team", "value": "x"}]}), true, false),
        (json!({"hasLabels": [{"name": "tier"}, {"name": "owner"}]}), false, false),
        (json!({"names": ["tenant-a"], "nameMatches": "tenant-b"}), false, false),
        (json!({"names": ["tenant-a"], "hasLabels": [{"name": "tier", "value": "silver"}]}), false, false),
    ] {
        let policy = for_namespaces(conditions.clone());
        assert_eq!((policy.allows(&a), policy.allows(&b)), (for_a, for_b), "{conditions}");
        assert_eq!(policy.unreadable(), None);
    }
}

#[test]
fn an_expression_that_cannot_be_used_allows_nobody_and_says_so() {
    let anybody = Asking { name: "a", labels: None };
    for expression in ["(", "a)|(.*", "a{1,1000000000}", "(?=a)"] {
        let policy = for_namespaces(json!({ "nameMatches": expression }));
        assert!(!policy.allows(&anybody), "{expression}");
        assert!(policy.unreadable().unwrap().starts_with("nameMatches can't be used: "), "{expression}");
    }
}

#[test]
fn one_policy_is_enough_and_the_strictest_cleaning_counts() {
    let gold = json!({"hostclaimNamespaces": {"names": ["a"]}, "minimumCleaning": "Full"});
    let broken = json!({"hostclaimNamespaces": {"nameMatches": "("}, "minimumCleaning": "Full"});
    let all = [
        policy("everybody", json!({"hostclaimNamespaces": {}, "minimumCleaning": "Metadata"})),
        policy("broken", broken),
        policy("also", json!({"hostclaimNamespaces": {"names": ["a"]}})),
        policy("gold", gold),
    ];
    let terms_of = |name| {
        let terms = terms(&all, &Asking { name, labels: None }).unwrap();
        (terms.policy.to_string(), terms.minimum_cleaning)
    };
    assert_eq!(terms_of("a"), ("also".to_owned(), Cleaning::Full));
    assert_eq!(terms_of("b"), ("everybody".to_owned(), Cleaning::Metadata));
    let nobody: [Policy; 0] = [];
    assert_eq!(terms(&nobody, &Asking { name: "a", labels: None }), None, "no policy, no host");
    assert_eq!(terms(&all[1..], &Asking { name: "b", labels: None }), None);
}

#[test]
fn what_becomes_of_a_host_is_said_by_the_policy_that_it_was_taken_under() {
    let all = [
        policy("keeps", json!({"hostclaimNamespaces": {}})),
        policy("takes", json!({"hostclaimNamespaces": {}, "onRevoke": "Release"})),
    ];
    for (under, expected) in [
        (Some("takes"), Tenure::Revoked),
        (Some("keeps"), Tenure::Tolerated),
        (Some("gone"), Tenure::Tolerated),
        (None, Tenure::Tolerated),
    ] {
        assert_eq!(not_allowed_any_more(&all, under, None), expected, "{under:?}");
    }
}

#[test]
fn nothing_is_taken_back_for_labels_that_nobody_knows() {
    let takes = |conditions: Value| {
        policy("takes", json!({"hostclaimNamespaces": conditions, "onRevoke": "Release"}))
    };
    let gold = json!([{"name": "tier", "value": "gold"}]);
    let other =
        policy("other", json!({"hostclaimNamespaces": {"names": ["a"], "hasLabels": [{"name": "x"}]}}));
    for (conditions, beside, under, expected) in [
        (json!({"hasLabels": gold}), None, Some("takes"), Tenure::Unknown),
        (json!({"names": ["a"], "hasLabels": gold}), None, Some("takes"), Tenure::Unknown),
        (json!({"nameMatches": "a|b", "hasLabels": gold}), None, Some("takes"), Tenure::Unknown),
        // Whatever its labels are, it is not meant.
        (json!({"names": ["b"], "hasLabels": gold}), None, Some("takes"), Tenure::Revoked),
        (json!({"nameMatches": "b", "hasLabels": gold}), None, Some("takes"), Tenure::Revoked),
        (json!({"nameMatches": "(", "hasLabels": gold}), None, Some("takes"), Tenure::Revoked),
        (json!({"names": ["b"]}), None, Some("takes"), Tenure::Revoked),
        (json!({"names": ["b"]}), None, Some("gone"), Tenure::Tolerated),
        // By another one it may still have what the one that it was taken under takes back; in whichever order.
        (json!({"names": ["b"]}), Some(&other), Some("takes"), Tenure::Unknown),
        (json!({"names": ["b"]}), Some(&other), None, Tenure::Unknown),
    ] {
        let takes = takes(conditions.clone());
        for all in [
            beside.into_iter().chain([&takes]).collect::<Vec<_>>(),
            [&takes].into_iter().chain(beside).collect(),
        ] {
            assert_eq!(not_allowed_any_more(all, under, Some("a")), expected, "{conditions}");
        }
        let known = not_allowed_any_more([&takes], under, None);
        let taken = if under == Some("takes") { Tenure::Revoked } else { Tenure::Tolerated };
        assert_eq!(known, taken, "{conditions}: who knows that there are no such labels");
    }
}

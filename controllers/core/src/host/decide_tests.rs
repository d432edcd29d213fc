//! Tables over the decision for a host.

use beskar7_api::conditions::host::{
    MISSING_CREDENTIALS, MISSING_SECRET_DATA, NOT_PROBED, REDFISH_CONNECTION_READY, SECRET_GET_FAILED,
    SECRET_NOT_FOUND,
};
use serde_json::json;

use super::{
    super::connection::SecretView::{self, Absent, Found, Unreadable},
    *,
};

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn host(spec: serde_json::Value, status: serde_json::Value) -> PhysicalHost {
    let mut whole =
        json!({"redfishConnection": {"address": "https://10.0.0.1", "credentialsSecretRef": "bmc"}});
    merge(&mut whole, &spec);
    serde_json::from_value(json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1",
        "kind": "PhysicalHost",
        "metadata": {"name": "h", "namespace": "metal", "generation": 3},
        "spec": whole,
        "status": status,
    }))
    .unwrap()
}

fn merge(into: &mut serde_json::Value, from: &serde_json::Value) {
    match (into, from) {
        (serde_json::Value::Object(into), serde_json::Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key.clone()).or_insert(serde_json::Value::Null), value);
            }
        }
        (into, from) => *into = from.clone(),
    }
}

fn keys(keys: &[&str]) -> SecretView {
    Found(keys.iter().map(ToString::to_string).collect())
}

fn observed(credentials: Option<SecretView>, ca_bundle: Option<SecretView>) -> Observed {
    Observed { secrets: Secrets { credentials, ca_bundle } }
}

fn complete() -> Observed {
    observed(Some(keys(&["username", "password"])), None)
}

fn condition<'a>(decision: &'a Decision, type_: &str) -> (&'a str, &'a str, &'a str) {
    let condition = get(&decision.status.conditions, type_).unwrap();
    (&condition.status, &condition.reason, &condition.message)
}

#[test]
fn connection_settings_are_judged() {
    let with_ca = json!({"redfishConnection": {"caBundleSecretRef": {"name": "ca"}}});
    let user_and_password = || Some(keys(&["username", "password"]));
    let forbidden = || Unreadable("the API server answered 403".to_owned());
    for (name, spec, observed, status, reason, told, requeue) in [
        (
            "complete",
            json!({}),
            complete(),
            "Unknown",
            NOT_PROBED,
            "has not been contacted",
            Requeue::After(READ_AGAIN),
        ),
        (
            "more keys than needed",
            json!({}),
            observed(Some(keys(&["a", "password", "username"])), None),
            "Unknown",
            NOT_PROBED,
            "",
            Requeue::After(READ_AGAIN),
        ),
        (
            "no name",
            json!({"redfishConnection": {"credentialsSecretRef": ""}}),
            observed(None, None),
            "False",
            MISSING_CREDENTIALS,
            "name a Secret in namespace metal",
            Requeue::Growing(LOOK_SOON),
        ),
        (
            "no Secret",
            json!({}),
            observed(Some(Absent), None),
            "False",
            SECRET_NOT_FOUND,
            "Secret metal/bmc does not exist: create it with username and password",
            Requeue::Growing(LOOK_SOON),
        ),
        (
            "no permission",
            json!({}),
            observed(Some(forbidden()), None),
            "False",
            SECRET_GET_FAILED,
            "the API server answered 403",
            Requeue::Failed,
        ),
        (
            "no password",
            json!({}),
            observed(Some(keys(&["username"])), None),
            "False",
            MISSING_SECRET_DATA,
            "Secret metal/bmc of spec.redfishConnection.credentialsSecretRef has no password",
            Requeue::Growing(LOOK_SOON),
        ),
        (
            "empty Secret",
            json!({}),
            observed(Some(keys(&[])), None),
            "False",
            MISSING_SECRET_DATA,
            "has no username and password",
            Requeue::Growing(LOOK_SOON),
        ),
        (
            "CA bundle",
            with_ca.clone(),
            observed(user_and_password(), Some(keys(&["ca.crt"]))),
            "Unknown",
            NOT_PROBED,
            "",
            Requeue::After(READ_AGAIN),
        ),
        (
            "CA bundle of a TLS Secret",
            with_ca.clone(),
            observed(user_and_password(), Some(keys(&["tls.crt", "tls.key"]))),
            "Unknown",
            NOT_PROBED,
            "",
            Requeue::After(READ_AGAIN),
        ),
        (
            "no CA bundle",
            with_ca.clone(),
            observed(user_and_password(), Some(Absent)),
            "False",
            SECRET_NOT_FOUND,
            "Secret metal/ca does not exist: create it with ca.crt",
            Requeue::Growing(LOOK_SOON),
        ),
        (
            "CA bundle without certificates",
            with_ca.clone(),
            observed(user_and_password(), Some(keys(&["tls.key"]))),
            "False",
            MISSING_SECRET_DATA,
            "has no ca.crt (or tls.crt)",
            Requeue::Growing(LOOK_SOON),
        ),
        (
            "CA bundle unreadable",
            with_ca.clone(),
            observed(user_and_password(), Some(forbidden())),
            "False",
            SECRET_GET_FAILED,
            "Secret metal/ca",
            Requeue::Failed,
        ),
        (
            "credentials come first",
            with_ca,
            observed(Some(Absent), Some(Absent)),
            "False",
            SECRET_NOT_FOUND,
            "Secret metal/bmc",
            Requeue::Growing(LOOK_SOON),
        ),
    ] {
        let decision = decide(&host(spec, json!({})), &observed, at(7));
        for type_ in [REDFISH_CONNECTION_READY, conditions::READY] {
            let found = condition(&decision, type_);
            assert_eq!((found.0, found.1), (status, reason), "{name}: {type_}");
            assert!(found.2.contains(told), "{name}: {}", found.2);
        }
        assert_eq!(decision.requeue, requeue, "{name}");
        assert_eq!(decision.status.observed_generation, Some(3), "{name}");
        assert!(!decision.status.ready, "{name}");
        assert_eq!(decision.status.error_message.is_some(), status == "False", "{name}");
        assert_eq!(condition(&decision, conditions::PAUSED).0, "False", "{name}");
    }
}

#[test]
fn a_state_is_given_once_and_never_lost() {
    let claim = json!({"consumerRef": {"kind": "Beskar7Machine", "name": "m"}, "claimID": "c"});
    let id_only = json!({"claimID": "c"});
    let states = [
        "Enrolling",
        "Inspecting",
        "Available",
        "Claimed",
        "Provisioning",
        "Provisioned",
        "Deprovisioning",
        "Error",
        "Unknown",
    ];
    for observed in [complete(), observed(Some(Absent), None)] {
        let after = |spec: &serde_json::Value, status| {
            decide(&host(spec.clone(), status), &observed, at(1)).status.state
        };
        assert_eq!(after(&json!({}), json!({})), Some(HostState::Enrolling));
        assert_eq!(after(&claim, json!({})), None, "a claimed host without a state is not a new one");
        assert_eq!(after(&id_only, json!({})), None);
        for state in states {
            let kept: HostState = serde_json::from_value(json!(state)).unwrap();
            for spec in [&json!({}), &claim, &id_only] {
                assert_eq!(after(spec, json!({"state": state})), Some(kept), "{spec}");
            }
        }
    }
}

#[test]
fn deciding_again_changes_nothing() {
    for observed in [complete(), observed(Some(Absent), None), observed(Some(Unreadable("x".into())), None)] {
        let mut host = host(json!({}), json!({}));
        host.status = Some(decide(&host, &observed, at(1)).status);
        let again = decide(&host, &observed, at(1000));
        assert_eq!(Some(&again.status), host.status.as_ref());
        assert_eq!(again.events, []);
    }
}

#[test]
fn people_are_told_of_changes_only() {
    let absent = observed(Some(Absent), None);
    let empty = observed(Some(keys(&[])), None);
    let mut host = host(json!({}), json!({}));
    for (observed, expected) in [
        (&complete(), None),
        (&absent, Some((Severity::Warning, SECRET_NOT_FOUND))),
        (&absent, None),
        (&empty, Some((Severity::Warning, MISSING_SECRET_DATA))),
        (&complete(), Some((Severity::Normal, NOT_PROBED))),
        (&complete(), None),
    ] {
        let decision = decide(&host, observed, at(1));
        let told: Vec<_> =
            decision.events.iter().map(|event| (event.severity, event.reason.as_str())).collect();
        assert_eq!(told, expected.into_iter().collect::<Vec<_>>());
        host.status = Some(decision.status);
    }
}

#[test]
fn a_paused_host_is_left_as_it_is() {
    let mut host = host(json!({}), json!({"state": "Provisioned", "ready": true, "observedGeneration": 2}));
    assert!(!paused(&host));
    host.metadata.annotations = Some([(annotations::PAUSED.to_owned(), String::new())].into());
    assert!(paused(&host));
    let decision = decide_paused(&host, at(1));
    assert_eq!(condition(&decision, conditions::PAUSED).0, "True");
    assert_eq!(decision.requeue, Requeue::OnChange);
    assert_eq!(decision.events, []);
    let mut rest = decision.status.clone();
    rest.conditions.clear();
    assert_eq!(Some(rest), host.status, "more than the condition changed");

    host.status = Some(decision.status);
    host.metadata.annotations = None;
    let decision = decide(&host, &complete(), at(2));
    assert_eq!(condition(&decision, conditions::PAUSED).0, "False");
}

#[test]
fn a_moved_host_is_none_of_our_business() {
    let mut host = host(json!({}), json!({}));
    assert!(!left_alone(&host));
    host.metadata.annotations = Some([(annotations::DELETE_FOR_MOVE.to_owned(), String::new())].into());
    assert!(left_alone(&host));
}

#[test]
fn other_parts_of_the_status_are_kept() {
    let status = json!({"state": "Available", "observedPowerState": "Off", "conditions": [{
        "type": "HostAvailable", "status": "True", "reason": "Yes", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }]});
    let decision = decide(&host(json!({}), status), &complete(), at(1));
    assert!(get(&decision.status.conditions, "HostAvailable").is_some());
    assert!(decision.status.observed_power_state.is_some());
}

//! Tables over the decision for a host.

use beskar7_api::conditions::host::{
    BOOT_SEEN, CONSUMER_MISSING, MISSING_CREDENTIALS, MISSING_SECRET_DATA, NOT_PROBED,
    REDFISH_CONNECTION_READY, SECRET_GET_FAILED, SECRET_NOT_FOUND,
};
use beskar7_api::{
    HostState,
    annotations::{BOOTING, PROVISIONED, RELEASE},
    boot::BootParameterMechanism,
    hardware::Architecture,
    physical_host::PowerState,
};
use serde_json::json;

use super::{
    super::{
        connection::SecretView::{self, Absent, Found, Unreadable},
        contact::Sighting,
        hold::Evidence,
        plan::{Boot, Seen},
    },
    *,
};
use crate::{conditions::get, events::Severity};

const PACE: Pace =
    Pace { poll: Duration::from_secs(60), boot: Duration::from_secs(600), release: Duration::from_secs(600) };

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
    let secrets = Secrets { credentials, ca_bundle, only_for: None };
    Observed {
        secrets,
        contact: Contact::NotTried,
        consumer_exists: None,
        trouble: None,
        sight: None,
        cleaned: false,
    }
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
            Requeue::After(PACE.poll),
        ),
        (
            "more keys than needed",
            json!({}),
            observed(Some(keys(&["a", "password", "username"])), None),
            "Unknown",
            NOT_PROBED,
            "",
            Requeue::After(PACE.poll),
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
            Requeue::Failed(Failure::Secret),
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
            Requeue::After(PACE.poll),
        ),
        (
            "CA bundle of a TLS Secret",
            with_ca.clone(),
            observed(user_and_password(), Some(keys(&["tls.crt", "tls.key"]))),
            "Unknown",
            NOT_PROBED,
            "",
            Requeue::After(PACE.poll),
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
            Requeue::Failed(Failure::Secret),
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
        let decision = decide(&host(spec, json!({})), &observed, PACE, at(7));
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
fn credentials_go_only_where_their_secret_says() {
    for (list, reason) in
        [("10.0.0.2, 10.0.0.1", "NotProbed"), ("10.0.0.2", "SecretNotForBMC"), ("", "SecretNotForBMC")]
    {
        let mut observed = complete();
        observed.secrets.only_for = Some(list.to_owned());
        let host = host(json!({}), json!({}));
        assert_eq!(may_be_asked(&host, &observed.secrets), reason == "NotProbed", "{list}");
        let decision = decide(&host, &observed, PACE, at(1));
        assert_eq!(condition(&decision, REDFISH_CONNECTION_READY).1, reason, "{list}");
    }
}

/// A BMC that answers, with the machine in this power.
fn answered(power: PowerState) -> Observed {
    let seen = Seen { power, armed: Some(false), boot: Some(Boot::NotBegun) };
    let sighting = Sighting {
        seen,
        hardware: serde_json::from_value(
            json!({"model": "R1", "uuid": "38947555-7742-3448-3784-823347823834"}),
        )
        .unwrap(),
        health: serde_json::from_value(json!({"health": "OK"})).unwrap(),
        bmc: None,
        parts: None,
    };
    Observed { contact: Contact::Answered(Box::new(sighting)), ..complete() }
}

fn silent(passes: bool) -> Observed {
    let message = "the BMC can't be reached: check its address".to_owned();
    let trouble = Trouble { reason: conditions::host::REDFISH_CONNECTION_FAILED, message, passes };
    Observed { contact: Contact::Failed(trouble), ..complete() }
}

fn held() -> serde_json::Value {
    json!({"consumerRef": {"kind": "Beskar7Machine", "namespace": "metal", "name": "m"}, "claimID": "c", "bootIsoSource": "http://i/x.iso"})
}

fn with_annotations(mut host: PhysicalHost, annotations: &[(&str, &str)]) -> PhysicalHost {
    let owned = annotations.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    host.metadata.annotations = Some(owned.collect());
    host
}

#[test]
fn nothing_is_done_for_a_consumer_that_is_missing_and_nothing_taken_from_it() {
    for (annotations, state, provisioned) in [
        (vec![], HostState::Claimed, ("False", CONSUMER_MISSING)),
        (vec![(BOOTING, "c 1 progress")], HostState::Provisioning, ("False", CONSUMER_MISSING)),
        (vec![(PROVISIONED, "c")], HostState::Provisioned, ("True", BOOT_SEEN)),
    ] {
        // Also where the status was lost on the way: a move takes it.
        for before in [json!({}), json!({"claimID": "c", "state": "Claimed"})] {
            let host = with_annotations(host(held(), before), &annotations);
            let missing = Observed { consumer_exists: Some(false), ..answered(PowerState::Off) };
            let decision = decide(&host, &missing, PACE, at(9));
            assert_eq!(decision.plan, Plan::Watch, "{annotations:?}");
            assert_eq!(decision.status.state, Some(state));
            let (truth, reason, message) = condition(&decision, conditions::host::AVAILABLE);
            assert_eq!((truth, reason), ("False", CONSUMER_MISSING));
            assert!(message.contains("Beskar7Machine metal/m") && message.contains(RELEASE), "{message}");
            let (truth, reason, _) = condition(&decision, conditions::host::PROVISIONED);
            assert_eq!((truth, reason), provisioned, "{annotations:?}");
            let warned = decision.events.iter().any(|event| event.reason == CONSUMER_MISSING);
            assert!(warned, "{:?}", decision.events);
            let there = Observed { consumer_exists: Some(true), ..missing };
            let decision = decide(&host, &there, PACE, at(9));
            assert_eq!(condition(&decision, conditions::host::AVAILABLE).1, "Claimed");
        }
    }
}

#[test]
fn a_state_follows_from_what_is_written_down_and_never_from_an_error() {
    let released = json!({"claimID": "c"});
    let by_hand = json!({"consumerRef": {"kind": "Beskar7Machine", "name": "m"}});
    for (spec, annotations, before, state) in [
        (held(), vec![], json!({}), HostState::Claimed),
        (held(), vec![], json!({"state": "Available"}), HostState::Claimed),
        (held(), vec![(BOOTING, "c 1 progress")], json!({}), HostState::Provisioning),
        (held(), vec![(PROVISIONED, "c")], json!({}), HostState::Provisioned),
        (held(), vec![(PROVISIONED, "c")], json!({"state": "Error"}), HostState::Provisioned),
        (held(), vec![(PROVISIONED, "another")], json!({"state": "Provisioned"}), HostState::Claimed),
        (
            released.clone(),
            vec![(PROVISIONED, "c"), (RELEASE, "c")],
            json!({"state": "Provisioned"}),
            HostState::Deprovisioning,
        ),
        (released.clone(), vec![(RELEASE, "c")], json!({}), HostState::Deprovisioning),
        // Nobody has released it: what it was it stays.
        (released.clone(), vec![(RELEASE, "other")], json!({"state": "Provisioned"}), HostState::Provisioned),
        (released, vec![], json!({"state": "Provisioned"}), HostState::Provisioned),
        (json!({}), vec![], json!({"state": "Provisioned", "claimID": "c"}), HostState::Provisioned),
        (by_hand.clone(), vec![], json!({"state": "Provisioned"}), HostState::Provisioned),
        (by_hand, vec![], json!({}), HostState::Claimed),
    ] {
        let host = with_annotations(host(spec.clone(), before), &annotations);
        for observed in [answered(PowerState::On), silent(true), silent(false), observed(Some(Absent), None)]
        {
            let decision = decide(&host, &observed, PACE, at(9));
            assert_eq!(decision.status.state, Some(state), "{spec} {annotations:?}");
            assert_eq!(condition(&decision, conditions::host::AVAILABLE).0, "False", "{spec}");
        }
    }
}

#[test]
fn a_free_host_is_available_once_it_was_identified() {
    let identified = json!({"state": "Available", "hardwareDetails": {"model": "R1"}});
    for (before, observed, state, available) in [
        (json!({}), complete(), HostState::Enrolling, "NotConnected"),
        (json!({}), answered(PowerState::Off), HostState::Available, "Free"),
        (json!({}), silent(true), HostState::Enrolling, "NotConnected"),
        (json!({}), silent(false), HostState::Error, "NotConnected"),
        (json!({"state": "Error"}), answered(PowerState::On), HostState::Available, "Free"),
        (identified.clone(), silent(true), HostState::Available, "NotConnected"),
        (identified, silent(false), HostState::Available, "NotConnected"),
        (
            json!({"state": "Deprovisioning", "hardwareDetails": {}}),
            silent(true),
            HostState::Available,
            "NotConnected",
        ),
    ] {
        let decision = decide(&host(json!({}), before.clone()), &observed, PACE, at(9));
        assert_eq!(decision.status.state, Some(state), "{before}");
        assert_eq!(condition(&decision, conditions::host::AVAILABLE).1, available, "{before}");
        assert_eq!(decision.plan, Plan::Watch);
    }
}

#[test]
fn a_host_that_must_not_be_claimed_says_why() {
    let mut unhealthy = answered(PowerState::Off);
    if let Contact::Answered(sighting) = &mut unhealthy.contact {
        sighting.health.health_rollup = Some("Critical".into());
    }
    let well = answered(PowerState::Off);
    for (spec, observed, reason, told) in [
        (json!({"cordoned": "fan 3 is loud"}), &well, "Cordoned", "fan 3 is loud"),
        (json!({"externallyProvisioned": true}), &well, "ExternallyProvisioned", "did not install"),
        (json!({}), &unhealthy, "Unhealthy", "repair"),
        (held(), &well, "Claimed", "Held by Beskar7Machine metal/m"),
        (json!({"claimID": "c"}), &well, "ClaimLost", "release to c"),
        (
            json!({"consumerRef": {"kind": "Beskar7Machine", "name": "m"}}),
            &well,
            "ClaimedWithoutID",
            "no claimID",
        ),
    ] {
        let decision = decide(&host(spec.clone(), json!({})), observed, PACE, at(9));
        let (status, found, message) = condition(&decision, conditions::host::AVAILABLE);
        assert_eq!((status, found), ("False", reason), "{spec}");
        assert!(message.contains(told), "{spec}: {message}");
    }
}

#[test]
fn what_went_wrong_is_said_until_it_is_right() {
    let trouble = Trouble {
        reason: conditions::host::SET_BOOT_ISO_FAILED,
        message: "no drive takes an ISO".into(),
        passes: true,
    };
    let host = host(held(), json!({}));
    let wrong = Observed { trouble: Some(trouble), ..answered(PowerState::Off) };
    let decision = decide(&host, &wrong, PACE, at(1));
    for type_ in [conditions::host::PROVISIONED, conditions::READY] {
        assert_eq!(condition(&decision, type_), ("False", "SetBootISOFailed", "no drive takes an ISO"));
    }
    assert_eq!(decision.requeue, Requeue::Failed(Failure::Bmc));
    assert!(matches!(decision.plan, Plan::Install(_)), "it is tried again");
    assert_eq!(decision.status.error_message.as_deref(), Some("no drive takes an ISO"));
    let right = decide(&host, &answered(PowerState::Off), PACE, at(2));
    assert_eq!(condition(&right, conditions::host::PROVISIONED).1, "Provisioning");
    assert_eq!((right.status.ready, right.status.error_message), (true, None));
}

#[test]
fn a_host_that_can_not_be_booted_as_wanted_says_so_and_is_looked_at_as_usual() {
    let mut spec = held();
    merge(&mut spec, &json!({"boot": {"kernelArgs": ["a=b"]}}));
    let mut host = host(spec, json!({}));
    let before = Trouble { reason: conditions::host::SET_BOOT_ISO_FAILED, message: "x".into(), passes: true };
    for trouble in [None, Some(before)] {
        let decision = decide(&host, &Observed { trouble, ..answered(PowerState::Off) }, PACE, at(1));
        for type_ in [conditions::host::PROVISIONED, conditions::READY] {
            let (status, reason, message) = condition(&decision, type_);
            assert_eq!((status, reason), ("False", "BootParametersUnsupported"));
            assert!(message.contains("UefiTarget"), "{message}");
        }
        assert_eq!(decision.status.state, Some(HostState::Claimed));
        assert_eq!(decision.requeue, Requeue::After(PACE.poll));
        assert!(decision.plan.refusal().is_some(), "{:?}", decision.plan);
        assert!(decision.events.iter().any(|event| event.reason == "BootParametersUnsupported"));
    }
    // A silent BMC is said first: what is wanted of it does not matter then.
    let silent = decide(&host, &silent(true), PACE, at(1));
    assert_eq!(condition(&silent, conditions::READY).1, "RedfishConnectionFailed");
    host.spec.boot_parameter_mechanism = BootParameterMechanism::UefiTarget;
    host.spec.architecture = Some(Architecture::Amd64);
    let decision = decide(&host, &answered(PowerState::Off), PACE, at(1));
    assert!(matches!(decision.plan, Plan::Install(_)), "{:?}", decision.plan);
    assert_eq!(condition(&decision, conditions::READY).0, "True");
}

#[test]
fn how_a_boot_was_seen_is_told_and_stays_told() {
    let mut host = with_annotations(host(held(), json!({})), &[(PROVISIONED, "c")]);
    let unknown = decide(&host, &answered(PowerState::On), PACE, at(1));
    assert_eq!(condition(&unknown, conditions::host::PROVISIONED).1, "BootSeen");
    let observed = Observed { sight: Some(Sight::By(Evidence::Progress)), ..answered(PowerState::On) };
    let seen = decide(&host, &observed, PACE, at(1));
    assert_eq!(condition(&seen, conditions::host::PROVISIONED), ("True", "BootProgressSeen", ""));
    host.status = Some(seen.status);
    let later = decide(&host, &silent(true), PACE, at(2));
    assert_eq!(condition(&later, conditions::host::PROVISIONED).1, "BootProgressSeen");
}

#[test]
fn what_is_known_of_a_machine_is_not_lost_to_a_hiccup_and_not_given_to_another() {
    let with_uuid = |uuid: &str, parts: Option<Parts>| {
        let mut observed = answered(PowerState::On);
        if let Contact::Answered(sighting) = &mut observed.contact {
            sighting.hardware.uuid = Some(uuid.to_owned());
            sighting.parts = parts;
        }
        observed
    };
    let parts = Parts {
        cpu_model: Some("Xeon".into()),
        nics: vec![serde_json::from_value(json!({"name": "eth0"})).unwrap()],
        ..Parts::default()
    };
    let mut host = host(json!({}), json!({}));
    for (observed, model, nics) in [
        (with_uuid("a", None), None, 0),
        (with_uuid("a", Some(parts)), Some("Xeon"), 1),
        (with_uuid("a", None), Some("Xeon"), 1),
        (silent(true), Some("Xeon"), 1),
        (with_uuid("b", None), None, 0),
    ] {
        let status = decide(&host, &observed, PACE, at(1)).status;
        let hardware = &status.hardware_details.as_ref().unwrap().hardware;
        assert_eq!(hardware.cpu.as_ref().and_then(|cpu| cpu.model.as_deref()), model);
        assert_eq!(hardware.nics.len(), nics);
        host.status = Some(status);
    }
}

#[test]
fn deciding_again_changes_nothing() {
    for observed in [
        complete(),
        observed(Some(Absent), None),
        observed(Some(Unreadable("x".into())), None),
        answered(PowerState::On),
        silent(true),
    ] {
        let mut host = host(json!({}), json!({}));
        host.status = Some(decide(&host, &observed, PACE, at(1)).status);
        let again = decide(&host, &observed, PACE, at(1000));
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
        (&complete(), Some((Severity::Normal, "Enrolling"))),
        (&complete(), None),
        (&absent, Some((Severity::Warning, SECRET_NOT_FOUND))),
        (&absent, None),
        (&empty, Some((Severity::Warning, MISSING_SECRET_DATA))),
        (&complete(), Some((Severity::Normal, NOT_PROBED))),
        (&complete(), None),
        (&answered(PowerState::On), Some((Severity::Normal, "Available"))),
        (&silent(true), Some((Severity::Warning, "RedfishConnectionFailed"))),
        (&silent(true), None),
        (&answered(PowerState::On), Some((Severity::Normal, "Connected"))),
    ] {
        let decision = decide(&host, observed, PACE, at(1));
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
    let decision = decide(&host, &complete(), PACE, at(2));
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
fn whose_a_machine_is_is_written_before_it_is_touched_and_cleared_after_it_is_clean() {
    let off = || answered(PowerState::Off);
    let host = |spec: serde_json::Value, state: &str, machine: Option<&str>| {
        with_annotations(host(spec, json!({"state": state, "claimID": machine})), &[(RELEASE, "c")])
    };
    let mut claimed = host(held(), "Available", None);
    claimed.metadata.annotations = None;
    let accepted = decide(&claimed, &off(), PACE, at(1));
    assert_eq!(accepted.status.claim_id.as_deref(), Some("c"));
    assert!(matches!(accepted.plan, Plan::Install(_)), "after the status is written");

    let released = json!({"claimID": "c"});
    let leaving = decide(&host(released.clone(), "Provisioned", Some("c")), &off(), PACE, at(1));
    assert_eq!((leaving.status.claim_id.as_deref(), leaving.plan), (Some("c"), Plan::Deprovision));
    let cleaned = Observed { cleaned: true, ..off() };
    let done = decide(&host(released.clone(), "Deprovisioning", Some("c")), &cleaned, PACE, at(1));
    assert_eq!((done.status.claim_id, done.plan), (None, Plan::ClearClaim));
    assert_eq!(done.status.state, Some(HostState::Deprovisioning), "free is another write");
    // The same, found by whoever comes after a crash.
    let found = decide(&host(released, "Deprovisioning", None), &off(), PACE, at(1));
    assert_eq!((found.status.claim_id, found.plan), (None, Plan::ClearClaim));
    let free = decide(&host(json!({}), "Deprovisioning", None), &off(), PACE, at(1));
    assert_eq!((free.status.claim_id, free.status.state), (None, Some(HostState::Available)));
}

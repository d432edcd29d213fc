//! What is said of claims.

use serde_json::{Value, json};

use super::{
    super::samples::{claim, host},
    *,
};
use crate::conditions::get;

const ISO: &str = "http://images/os.iso";
const ON: Delivery = Delivery::On { url_length: 80, agent: crate::delivery::AgentBoot::None };

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

/// Status and reason of Association, Synchronization, Provisioned and Ready.
fn said(claim: &HostClaim, course: &Course<'_>) -> Vec<String> {
    let decision = decide(claim, course, ON, at(1));
    ["Association", "Synchronization", "Provisioned", "Ready"]
        .map(|type_| {
            let told = get(&decision.status.conditions, type_).unwrap();
            assert_eq!(told.observed_generation, Some(2));
            format!("{} {}", told.status, told.reason)
        })
        .to_vec()
}

fn message(claim: &HostClaim, course: &Course<'_>, type_: &str) -> String {
    get(&decide(claim, course, ON, at(1)).status.conditions, type_).unwrap().message.clone()
}

fn seen() -> Value {
    json!({
        "metadata": {"annotations": {"beskar7.infrastructure.cluster.x-k8s.io/provisioned": "id"}},
        "spec": {"bootIsoSource": ISO, "online": true},
        "status": {"state": "Provisioned", "observedPowerState": "On"},
    })
}

#[test]
fn once_associated_it_waits_to_be_turned_on() {
    let claim = claim(json!({"spec": {"image": {"url": ISO}}}));
    let host = host(json!({}));
    let course = Course::Held(&host, Tenure::Allowed, &Synced::Yes);
    assert_eq!(
        said(&claim, &course),
        ["True HostAssociated", "True ConfigurationSynced", "False available", "False IssuesReported"]
    );
    assert_eq!(message(&claim, &course, "Ready"), "* Provisioned: available");
    let status = decide(&claim, &course, ON, at(1)).status;
    assert_eq!(status.phase, Some(ClaimPhase::Bound));
    let hardware_data = status.hardware_data.unwrap();
    assert_eq!((hardware_data.name.as_str(), hardware_data.namespace.as_deref()), ("h", Some("metal")));
    assert_eq!((status.host_uid.as_deref(), status.powered_on), (Some("u-h"), Some(false)));
    assert_eq!(status.hardware.unwrap().serial_number.as_deref(), Some("s"));
}

#[test]
fn once_it_was_seen_to_boot_all_is_well() {
    let claim = claim(json!({"spec": {"image": {"url": ISO}, "online": true}}));
    let host = host(seen());
    let course = Course::Held(&host, Tenure::Allowed, &Synced::Yes);
    assert_eq!(
        said(&claim, &course),
        ["True HostAssociated", "True ConfigurationSynced", "True provisioned", "True InfoReported"]
    );
    assert_eq!(message(&claim, &course, "Ready"), "");
    assert_eq!(decide(&claim, &course, ON, at(1)).status.powered_on, Some(true));
}

#[test]
fn what_goes_wrong_is_said_without_a_word_of_the_bmc() {
    let claim = claim(json!({"spec": {"image": {"url": ISO}, "online": true}}));
    let condition = |type_: &str, reason: &str| {
        json!({"type": type_, "status": "False", "reason": reason, "message": "bmc.example says no to root",
            "lastTransitionTime": "2026-01-01T00:00:00Z"})
    };
    for (type_, reason, expected) in [
        ("RedfishConnectionReady", "AuthenticationFailed", "False HostError"),
        ("HostProvisioned", "ConfigurationNotRead", "False HostError"),
        ("HostProvisioned", "Provisioning", "False provisioning"),
    ] {
        let held = host(json!({
            "spec": {"bootIsoSource": ISO}, "status": {"conditions": [condition(type_, reason)]},
        }));
        let course = Course::Held(&held, Tenure::Allowed, &Synced::Yes);
        assert_eq!(said(&claim, &course)[2], expected, "{reason}");
        let text = serde_json::to_string(&decide(&claim, &course, ON, at(1)).status).unwrap();
        for secret in ["bmc.example", "bmc-secret", "root"] {
            assert!(!text.contains(secret), "{secret}: {text}");
        }
    }
}

#[test]
fn what_its_agent_could_not_do_is_passed_on_and_that_another_machine_came_is_not() {
    let claim = claim(json!({"spec": {"image": {"url": "http://images/os.raw"}, "online": true}}));
    let condition = json!({"type": "HostProvisioned", "status": "False", "reason": "InstallationFailed",
        "message": "words", "lastTransitionTime": "2026-01-01T00:00:00Z"});
    for (another, passed_on) in [(json!(null), true), (json!("9f6d"), false)] {
        let agent = json!({"claim": "id", "second": 1, "order": "install-100-1", "state": "failed",
            "step": "comparing UUIDs", "message": "the UUID 9f6d", "another": another});
        let held = host(json!({
            "metadata": {"annotations": {annotations::BOOTING: "id 100", annotations::AGENT: agent.to_string()}},
            "spec": {"boot": {"method": "iPXE", "install": {"image": "http://images/os.raw"}}},
            "status": {"conditions": [condition]},
        }));
        let delivery = Delivery::On { url_length: 80, agent: crate::delivery::AgentBoot::Network };
        let course = Course::Held(&held, Tenure::Allowed, &Synced::Yes);
        let status = decide(&claim, &course, delivery, at(1)).status;
        let found = get(&status.conditions, "Provisioned").unwrap();
        assert_eq!(found.reason, "HostError");
        let said = serde_json::to_string(&status).unwrap();
        assert_eq!(said.contains("9f6d"), passed_on, "{said}");
        assert_eq!(found.message.contains("ask the platform team"), !passed_on, "{said}");
    }
}

#[test]
fn what_this_version_cannot_do_is_said_and_not_passed_over() {
    let held = host(json!({}));
    let course = Course::Held(&held, Tenure::Allowed, &Synced::Yes);
    let qcow2 = claim(json!({"spec": {"image": {"url": "http://images/os.qcow2"}, "online": true}}));
    assert_eq!(said(&qcow2, &course)[2], "False ImageNotSupported");
    let booted = host(seen());
    let why = message(&qcow2, &Course::Held(&booted, Tenure::Allowed, &Synced::Yes), "Provisioned");
    assert!(why.contains("runs what it did"), "{why}");
    let with_data = claim(json!({"spec": {"image": {"url": ISO}, "userData": {"name": "u"}}}));
    assert_eq!(said(&with_data, &course)[1], "True ConfigurationSynced");
    let without_server = decide(&with_data, &course, Delivery::Off, at(1)).status.conditions;
    assert_eq!(get(&without_server, "Synchronization").unwrap().reason, "ConfigurationNotSupported");
    let missing = Synced::no("SecretNotFound", "There is no Secret u");
    let course = Course::Held(&held, Tenure::Allowed, &missing);
    assert_eq!(said(&with_data, &course)[1], "False SecretNotFound");
    assert!(message(&with_data, &course, "Ready").contains("* Synchronization: There is no Secret u"));
}

#[test]
fn what_ran_is_taken_off_before_the_next_image() {
    let renewed = host(json!({"spec": {"claimID": "new"}, "status": {"claimID": "id"}}));
    let claim = claim(json!({"spec": {"image": {"url": ISO}, "online": true}}));
    let course = Course::Held(&renewed, Tenure::Allowed, &Synced::Yes);
    assert_eq!(said(&claim, &course)[2], "False deprovisioning");
}

#[test]
fn every_course_has_its_words() {
    let claim = claim(json!({}));
    let held = host(json!({}));
    for (course, association, phase) in [
        (Course::Unauthorized("no policy"), "False NotAuthorized", Some(ClaimPhase::Unbound)),
        (Course::Searching("0 of 3 hosts match"), "False NoMatchingHost", Some(ClaimPhase::Unbound)),
        (Course::Binding, "False Associating", Some(ClaimPhase::Unbound)),
        (Course::Held(&held, Tenure::Tolerated, &Synced::Yes), "True NotAuthorized", Some(ClaimPhase::Bound)),
        (Course::Held(&held, Tenure::Unknown, &Synced::Yes), "True NotAuthorized", Some(ClaimPhase::Bound)),
        (Course::Lost, "False HostLost", Some(ClaimPhase::Unbound)),
        (Course::Releasing { overdue: false }, "False Releasing", None),
    ] {
        assert_eq!(said(&claim, &course)[0], association, "{course:?}");
        assert_eq!(decide(&claim, &course, ON, at(1)).status.phase, phase, "{course:?}");
    }
    let booted = host(seen());
    let mut running = claim.clone();
    let course = Course::Held(&booted, Tenure::Allowed, &Synced::Yes);
    running.status = Some(decide(&running, &course, ON, at(1)).status);
    let paused = decide(&running, &Course::HostPaused, ON, at(2)).status;
    assert!(get(&paused.conditions, "Association").unwrap().message.contains("paused the host"));
    assert_eq!(get(&paused.conditions, "Provisioned").unwrap().status, "True", "what was said of it stays");
    assert_eq!(paused.phase, Some(ClaimPhase::Bound));
    let overdue = message(&claim, &Course::Releasing { overdue: true }, "Association");
    assert!(overdue.contains("force-release"), "{overdue}");
    let paused = decide(&claim, &Course::Paused("because"), ON, at(1));
    assert_eq!(paused.status.conditions.len(), 1, "nothing else is said");
    assert_eq!(get(&paused.status.conditions, "Paused").unwrap().message, "because");
}

#[test]
fn people_are_told_of_a_host_and_of_what_is_wrong_once() {
    let mut claim = claim(json!({"spec": {"image": {"url": ISO}}}));
    let held = host(json!({}));
    let searching = decide(&claim, &Course::Searching("0 of 0"), ON, at(1));
    let reasons: Vec<&str> = searching.events.iter().map(|event| event.reason.as_str()).collect();
    assert_eq!(reasons, ["Unbound", "NoMatchingHost"]);
    claim.status = Some(searching.status);
    assert!(decide(&claim, &Course::Searching("0 of 0"), ON, at(2)).events.is_empty());
    let bound = decide(&claim, &Course::Held(&held, Tenure::Allowed, &Synced::Yes), ON, at(3));
    assert_eq!(bound.events.first().map(|event| event.note.as_str()), Some("Host h"));
}

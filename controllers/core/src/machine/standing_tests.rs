//! What is said of a machine.

use beskar7_api::annotations::PROVISIONED;
use serde_json::json;

use super::{
    super::samples::{held, machine},
    *,
};

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn told<'a>(status: &'a Beskar7MachineStatus, type_: &str) -> (&'a str, &'a str, &'a str) {
    let found = get(&status.conditions, type_).unwrap();
    (&found.status, &found.reason, &found.message)
}

#[test]
fn every_course_has_its_phase_and_its_words() {
    let obstacle =
        Obstacle { reason: reasons::WAITING_FOR_BOOTSTRAP_DATA, message: "no data".into(), unwatched: false };
    let host = held(json!({}));
    let late = held(json!({"status": {"conditions": [{"type": "RedfishConnectionReady", "status": "False",
        "reason": "RedfishConnectionFailed", "message": "https://10.0.0.1 does not answer",
        "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}));
    let releasing = |host, overdue| Course::Releasing { host, overdue };
    for (course, phase, reason) in [
        (Course::Blocked(&obstacle), MachinePhase::Pending, reasons::WAITING_FOR_BOOTSTRAP_DATA),
        (Course::Searching("0 of 2"), MachinePhase::Associating, reasons::WAITING_FOR_PHYSICAL_HOST),
        (Course::Binding("metal/h"), MachinePhase::Associating, reasons::BINDING_PHYSICAL_HOST),
        (Course::Held(&host), MachinePhase::Provisioning, reasons::PHYSICAL_HOST_NOT_READY),
        (Course::Held(&late), MachinePhase::Provisioning, reasons::PHYSICAL_HOST_ERROR),
        (Course::HostPaused("metal/h"), MachinePhase::Provisioning, reasons::PHYSICAL_HOST_PAUSED),
        (Course::Lost, MachinePhase::Failed, reasons::PHYSICAL_HOST_LOST),
        (releasing(None, false), MachinePhase::Deleting, reasons::RELEASING_PHYSICAL_HOST),
        (releasing(Some(&host), false), MachinePhase::Deleting, reasons::RELEASING_PHYSICAL_HOST),
        (releasing(Some(&late), true), MachinePhase::Deleting, reasons::RELEASE_PHYSICAL_HOST_FAILED),
    ] {
        let status = decide(&machine(json!({})), &course, at(1)).status;
        assert_eq!(status.phase, Some(phase), "{course:?}");
        for type_ in [conditions::READY, reasons::INFRASTRUCTURE_READY] {
            let (truth, why, message) = told(&status, type_);
            assert_eq!((truth, why), ("False", reason), "{course:?}");
            assert!(!message.contains("10.0.0.1"), "the BMC is told of: {message}");
        }
        assert!(!status.ready && status.initialization.is_none());
        assert_eq!(status.observed_generation, Some(3));
        assert_eq!(told(&status, conditions::PAUSED).0, "False");
    }
}

#[test]
fn what_its_agent_could_not_do_is_passed_on_and_that_another_machine_came_is_not() {
    let condition = json!({"type": "HostProvisioned", "status": "False", "reason": "InstallationFailed",
        "message": "words", "lastTransitionTime": "2026-01-01T00:00:00Z"});
    for (another, passed_on) in [(json!(null), true), (json!("9f6d"), false)] {
        let agent = json!({"claim": "c", "second": 1, "order": "install-100-1", "state": "failed",
            "step": "comparing UUIDs", "message": "the UUID 9f6d", "another": another});
        let host = held(json!({
            "metadata": {"annotations": {annotations::BOOTING: "c 100", annotations::AGENT: agent.to_string()}},
            "spec": {"boot": {"method": "iPXE", "install": {"image": "http://images/os.raw"}}},
            "status": {"claimID": "c", "conditions": [condition]},
        }));
        let status = decide(&machine(json!({})), &Course::Held(&host), at(1)).status;
        let (_, reason, message) = told(&status, conditions::READY);
        assert_eq!(reason, reasons::PHYSICAL_HOST_ERROR);
        let said = serde_json::to_string(&status).unwrap();
        assert_eq!(said.contains("9f6d"), passed_on, "{said}");
        assert_eq!(message.contains("see its conditions"), !passed_on, "{message}");
    }
}

#[test]
fn a_machine_is_provisioned_when_its_boot_was_seen_for_this_claim_and_it_has_its_identity() {
    let seen = |claim: &str| {
        held(json!({
            "metadata": {"annotations": {PROVISIONED: claim}},
            "spec": {"addresses": [{"type": "InternalIP", "address": "10.9.0.1"}]},
            "status": {"addresses": [{"type": "InternalIP", "address": "10.9.0.2"}]},
        }))
    };
    let identified = json!({"spec": {"providerID": "b7://metal/h"}});
    for (machine, host, provisioned) in [
        (machine(json!({})), seen("c"), false),
        (machine(identified.clone()), seen("an earlier one"), false),
        (machine(identified.clone()), held(json!({})), false),
        (machine(identified), seen("c"), true),
    ] {
        let status = decide(&machine, &Course::Held(&host), at(1)).status;
        assert_eq!(status.ready, provisioned);
        assert_eq!(status.phase == Some(MachinePhase::Provisioned), provisioned);
        assert_eq!(status.initialization.is_some(), provisioned);
        assert_eq!(status.host_ref.as_ref().and_then(|host| host.name.as_deref()), Some("h"));
        assert_eq!(status.failure_domain.as_deref(), Some("a"));
    }
    let host = seen("c");
    assert_eq!(provider_id(&host), "b7://metal/h");
    let declared = decide(&machine(json!({})), &Course::Held(&host), at(1)).status.addresses;
    assert_eq!(declared.first().map(|found| found.address.as_str()), Some("10.9.0.1"));
    let mut host = host;
    host.spec.addresses.clear();
    let discovered = decide(&machine(json!({})), &Course::Held(&host), at(1)).status.addresses;
    assert_eq!(discovered.first().map(|found| found.address.as_str()), Some("10.9.0.2"));
}

#[test]
fn what_cluster_api_has_latched_stays_when_the_host_is_lost() {
    let mut machine = machine(json!({"spec": {"providerID": "b7://metal/h"}}));
    let host = held(json!({"metadata": {"annotations": {PROVISIONED: "c"}}}));
    machine.status = Some(decide(&machine, &Course::Held(&host), at(1)).status);
    let decision = decide(&machine, &Course::Lost, at(2));
    assert_eq!(decision.status.initialization, Some(Initialization { provisioned: Some(true) }));
    assert!(!decision.status.ready);
    let warned = decision
        .events
        .iter()
        .any(|event| event.severity == Severity::Warning && event.reason == reasons::PHYSICAL_HOST_LOST);
    assert!(warned, "{:?}", decision.events);
}

#[test]
fn a_pause_changes_nothing_but_the_word_for_it() {
    let mut machine = machine(json!({}));
    machine.status = Some(decide(&machine, &Course::Searching("0 of 2"), at(1)).status);
    let paused = decide(&machine, &Course::Paused("Cluster.spec.paused is true"), at(2));
    let before = machine.status.unwrap();
    assert_eq!(told(&paused.status, conditions::PAUSED), ("True", "Paused", "Cluster.spec.paused is true"));
    assert_eq!(paused.status.phase, before.phase);
    assert_eq!(told(&paused.status, conditions::READY), told(&before, conditions::READY));
    assert!(paused.events.is_empty());
}

#[test]
fn who_waits_too_long_for_a_release_is_told_the_way_out() {
    let host = held(json!({}));
    let status =
        decide(&machine(json!({})), &Course::Releasing { host: Some(&host), overdue: true }, at(1)).status;
    let (_, _, message) = told(&status, conditions::READY);
    assert!(message.contains(annotations::FORCE_RELEASE) && message.contains("metal/h"), "{message}");
}

#[test]
fn people_are_told_of_phases_and_of_what_goes_wrong_once() {
    let mut machine = machine(json!({}));
    let reasons_of = |decision: &Decision| -> Vec<(Severity, String)> {
        decision.events.iter().map(|event| (event.severity, event.reason.clone())).collect()
    };
    let host = held(json!({}));
    let normal = |reason: &str| (Severity::Normal, reason.to_owned());
    let warning = |reason: &str| (Severity::Warning, reason.to_owned());
    let obstacle = Obstacle { reason: reasons::SPEC_NOT_USABLE, message: "x".into(), unwatched: false };
    for (course, expected) in [
        (Course::Blocked(&obstacle), vec![normal("Pending"), warning("SpecNotUsable")]),
        (Course::Blocked(&obstacle), vec![]),
        (Course::Searching("0 of 2"), vec![normal("Associating"), warning("WaitingForPhysicalHost")]),
        (Course::Searching("0 of 3"), vec![]),
        (Course::Held(&host), vec![normal("Provisioning")]),
    ] {
        let decision = decide(&machine, &course, at(1));
        assert_eq!(reasons_of(&decision), expected, "{course:?}");
        machine.status = Some(decision.status);
    }
}

#[test]
fn a_node_is_told_of_beside_the_infrastructure_and_spoils_ready_only_when_people_must_act() {
    let mut machine = machine(json!({"spec": {"providerID": "b7://metal/h"}}));
    let host = held(json!({"metadata": {"annotations": {PROVISIONED: "c"}}}));
    let found = |truth, reason| Finding { truth, reason, message: "words".into() };
    for (finding, needs_people, ready, events) in [
        (found(Truth::Unknown, reasons::WORKLOAD_CLUSTER_UNREACHABLE), false, "True", vec!["Provisioned"]),
        (found(Truth::False, reasons::WAITING_FOR_NODE), false, "True", vec![]),
        (found(Truth::False, reasons::SEVERAL_NODES_MATCH), true, "False", vec!["SeveralNodesMatch"]),
        (found(Truth::False, reasons::SEVERAL_NODES_MATCH), true, "False", vec![]),
        (found(Truth::True, reasons::LINKED), false, "True", vec!["Linked"]),
        (found(Truth::True, reasons::LINKED), false, "True", vec![]),
    ] {
        let decision = decide(&machine, &Course::Held(&host), at(1));
        let decision = decision.with_node(&machine, &finding, needs_people, at(1));
        let told_of: Vec<&str> = decision.events.iter().map(|event| event.reason.as_str()).collect();
        assert_eq!(told_of, events, "{finding:?}");
        let status = decision.status;
        assert!(status.ready && status.initialization.is_some(), "{finding:?}");
        assert_eq!(told(&status, reasons::INFRASTRUCTURE_READY).0, "True", "{finding:?}");
        assert_eq!(told(&status, conditions::READY).0, ready, "{finding:?}");
        assert_eq!(told(&status, reasons::NODE_LINKED).1, finding.reason);
        machine.status = Some(status);
    }
    let lost = decide(&machine, &Course::Lost, at(2)).status;
    assert!(get(&lost.conditions, reasons::NODE_LINKED).is_none(), "without a host there is no Node");
}

#[test]
fn while_it_boots_the_way_to_readiness_is_told_and_not_its_node() {
    let machine = machine(json!({}));
    let host = held(json!({}));
    let several =
        Finding { truth: Truth::False, reason: reasons::SEVERAL_NODES_MATCH, message: "words".into() };
    let decision = decide(&machine, &Course::Held(&host), at(1)).with_node(&machine, &several, true, at(1));
    assert_eq!(told(&decision.status, conditions::READY).1, reasons::PHYSICAL_HOST_NOT_READY);
}

#[test]
fn a_host_that_is_only_tolerated_is_said_to_be_once() {
    let (mut machine, mut host) = (machine(json!({})), held(json!({})));
    host.metadata.namespace = Some("racks".into());
    let say = |machine: &Beskar7Machine| {
        decide(machine, &Course::Held(&host), at(1)).tolerated(machine, &host, at(1))
    };
    let first = say(&machine);
    let told = get(&first.status.conditions, reasons::PHYSICAL_HOST_ASSOCIATED).unwrap();
    assert_eq!((told.status.as_str(), told.reason.as_str()), ("True", "NotAuthorized"));
    assert!(told.message.contains("no HostDeployPolicy in namespace racks lets namespace metal"), "{told:?}");
    assert_eq!(first.events.iter().filter(|event| event.reason == "NotAuthorized").count(), 1);
    machine.status = Some(first.status.clone());
    let second = say(&machine);
    assert_eq!(second.status, first.status);
    assert!(second.events.is_empty(), "{:?}", second.events);
}

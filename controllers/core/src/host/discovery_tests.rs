//! What is written of a machine that nobody wrote down, and what follows for it while nobody knows its BMC.

use beskar7_api::{
    HostState,
    annotations::{AGENT, ERRAND, INSPECTED, PAUSED, SAME_MACHINE},
    conditions,
    hardware::Hardware,
    physical_host::PowerState,
};
use serde_json::{Value, json};

use super::*;
use crate::{
    claim::samples::merge,
    delivery::{AgentBoot, Delivery},
    host::{
        Decision, Failure, Observed, Pace, Requeue,
        connection::SecretView,
        contact::Contact,
        decide,
        plan::Farewell,
        samples::{PACE, answered, at, condition, host, observed, with_annotations},
    },
};

const MAC: &str = "52:54:00:00:00:0a";
const ARMED: &str = "inspect i 100 on";
const UUID: &str = "38947555-7742-3448-3784-823347823834";
const FILLER: &str = "03000200-0400-0500-0006-000700080009";

fn labelled(mut host: PhysicalHost) -> PhysicalHost {
    host.metadata.labels = Some(BTreeMap::from([(labels::DISCOVERED.to_owned(), "true".to_owned())]));
    host
}

/// As it was written down, but for `spec`.
fn written_with(spec: Value, status: Value, marks: &[(&str, &str)]) -> PhysicalHost {
    let mut whole = json!({
        "redfishConnection": {"address": NOWHERE, "credentialsSecretRef": "discovered-52540000000a-bmc"},
        "bootMACAddress": MAC, "cordoned": CORDON, "inspect": true,
    });
    merge(&mut whole, spec);
    labelled(with_annotations(host(whole, status), marks))
}

fn written(marks: &[(&str, &str)]) -> PhysicalHost {
    written_with(json!({}), json!(null), marks)
}

/// Its Secret is not there.
fn unknown() -> Observed {
    observed(Some(SecretView::Absent), None)
}

fn said(state: &str, second: i64) -> String {
    json!({"claim": "i", "second": second, "order": "inspect-100-1", "state": state, "step": "looking"})
        .to_string()
}

fn pace() -> Pace {
    Pace { delivery: Delivery::On { url_length: 60, agent: AgentBoot::Network }, ..PACE }
}

fn decided(host: &PhysicalHost, observed: &Observed, second: i64) -> Decision {
    decide(host, observed, pace(), at(second))
}

#[test]
fn a_machine_is_written_down_cordoned_without_a_bmc_and_on_its_errand() {
    let found = candidate(MAC, "racks", Some("east"), 0xab, at(100));
    let errand = format!("inspect {:0>32} 100 on", "ab");
    assert_eq!(
        serde_json::to_value(&found).unwrap(),
        json!({
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "PhysicalHost",
            "metadata": {
                "name": "discovered-52540000000a", "namespace": "racks",
                "labels": {"cluster.x-k8s.io/watch-filter": "east", labels::DISCOVERED: "true"},
                "annotations": {ERRAND: errand, annotations::BLOCK_MOVE: BLOCKED},
            },
            "spec": {
                "redfishConnection": {
                    "address": "https://bmc.invalid", "credentialsSecretRef": "discovered-52540000000a-bmc",
                    "insecureSkipVerify": false,
                },
                "cordoned": CORDON, "inspect": true, "externallyProvisioned": false,
                "bootParameterMechanism": "ISOOverlay", "bootMACAddress": MAC,
            },
        })
    );
    assert!(is_candidate(&found) && is_inspecting(&found) && !may_be_begun_again(&found));
}

#[test]
fn a_machine_whose_bmc_nobody_knows_is_served_until_it_was_inspected_or_not_heard() {
    let (running, failed) = (said("running", 650), said("failed", 650));
    let mut stuck: Value = serde_json::from_str(&said("running", 2400)).unwrap();
    stuck["since"] = json!(650);
    let stuck = stuck.to_string();
    let serve = "ServeAgent inspect i 100 on";
    for (spec, marks, second, expected) in [
        (json!({}), vec![(ERRAND, ARMED)], 100, serve),
        (json!({}), vec![(ERRAND, ARMED)], 699, serve),
        (json!({}), vec![(ERRAND, ARMED)], 700, "CloseErrand"),
        // It works, and is only slow.
        (json!({}), vec![(ERRAND, ARMED), (AGENT, &running)], 700, serve),
        (json!({}), vec![(ERRAND, ARMED), (AGENT, &running)], 950, "CloseErrand"),
        // It talks, and comes no further.
        (json!({}), vec![(ERRAND, ARMED), (AGENT, &stuck)], 2449, serve),
        (json!({}), vec![(ERRAND, ARMED), (AGENT, &stuck)], 2450, "CloseErrand"),
        // Turned off and on, it may do better.
        (json!({}), vec![(ERRAND, ARMED), (AGENT, &failed)], 699, serve),
        (json!({}), vec![(ERRAND, ARMED), (AGENT, &failed)], 700, "CloseErrand"),
        // Its agent is still to be told to turn it off.
        (json!({}), vec![(ERRAND, ARMED), (INSPECTED, "1970-01-01T00:02:00Z")], 179, "AwaitBoot"),
        (json!({}), vec![(ERRAND, ARMED), (INSPECTED, "1970-01-01T00:02:00Z")], 180, "CloseErrand"),
        (json!({}), vec![(ERRAND, ARMED), (INSPECTED, "by hand")], 121, "CloseErrand"),
        // Somebody wants it left alone.
        (json!({"inspect": false}), vec![(ERRAND, ARMED)], 101, "CloseErrand"),
        (json!({}), vec![(ERRAND, ARMED), (PAUSED, "")], 101, "Watch"),
        (json!({}), vec![], 101, "Watch"),
        (json!({}), vec![(INSPECTED, "1970-01-01T00:02:00Z")], 101, "Watch"),
        // Its BMC was known once, and is to start the agent.
        (json!({}), vec![(ERRAND, "inspect i")], 101, "Watch"),
    ] {
        let found = written_with(spec.clone(), json!(null), &marks);
        let told = match without_bmc(&found, at(second), PACE.boot) {
            Plan::ServeAgent(errand) => format!("ServeAgent {errand}"),
            Plan::CloseErrand => "CloseErrand".to_owned(),
            Plan::AwaitBoot => "AwaitBoot".to_owned(),
            Plan::Watch => "Watch".to_owned(),
            other @ (Plan::WaitForConsumer
            | Plan::Refuse(_)
            | Plan::Install(_)
            | Plan::NoteOn(_)
            | Plan::TakeOut
            | Plan::TurnOn
            | Plan::WriteSeen(_)
            | Plan::Power(_)
            | Plan::Restart(_)
            | Plan::NoteRestarted(_)
            | Plan::Deprovision
            | Plan::CallAgent(_)
            | Plan::SendAgent(..)
            | Plan::NoteSent(_)
            | Plan::EndErrand
            | Plan::ClearClaim
            | Plan::HandOver
            | Plan::LetGo(_)) => panic!("{other:?}"),
        };
        assert_eq!(told, expected, "{spec} {marks:?} {second}");
    }
    let mut other = written(&[(ERRAND, ARMED)]);
    other.metadata.labels = None;
    assert_eq!(without_bmc(&other, at(101), PACE.boot), Plan::Watch, "the BMC of others turns them on");
}

#[test]
fn a_candidate_that_was_not_inspected_is_begun_again_when_it_asks_again() {
    let inspected = [(INSPECTED, "1970-01-01T00:02:00Z")];
    let accepted = json!({"redfishConnection": {"address": "https://10.0.0.1"}});
    let held = json!({"claimID": "c", "consumerRef": {"kind": "HostClaim", "namespace": "a", "name": "c"}});
    for (spec, marks, expected) in [
        (json!({}), &[][..], true),
        (json!({}), &[(ERRAND, ARMED)][..], false),
        (json!({}), &inspected[..], false),
        (json!({"inspect": false}), &[][..], false),
        (json!({}), &[(PAUSED, "")][..], false),
        (accepted, &[][..], false),
        (held, &[][..], false),
    ] {
        assert_eq!(
            may_be_begun_again(&written_with(spec.clone(), json!(null), marks)),
            expected,
            "{spec} {marks:?}"
        );
    }
}

#[test]
fn what_a_candidate_says_of_itself_is_what_there_is_to_do() {
    let seen: Hardware = serde_json::from_value(json!({"serialNumber": "S1", "uuid": UUID})).unwrap();
    let (running, failed) = (said("running", 120), said("failed", 650));
    for (marks, observed, state, reason, words) in [
        (
            vec![(ERRAND, ARMED)],
            unknown(),
            HostState::Inspecting,
            "Inspecting",
            "has not asked what to do yet",
        ),
        (
            vec![(ERRAND, ARMED), (AGENT, running.as_str())],
            unknown(),
            HostState::Inspecting,
            "Inspecting",
            "Its agent looks at the machine",
        ),
        (
            vec![(ERRAND, ARMED)],
            Observed {
                trouble: Some(Trouble {
                    reason: reasons::BOOT_CONFIGURATION_NOT_READY,
                    message: "no such kernel".to_owned(),
                    passes: true,
                }),
                ..unknown()
            },
            HostState::Inspecting,
            "Inspecting",
            "no such kernel",
        ),
        (
            vec![(ERRAND, ARMED), (INSPECTED, "1970-01-01T00:02:00Z")],
            Observed { inspected: Some(Box::new(seen)), ..unknown() },
            HostState::Inspecting,
            "Inspecting",
            "",
        ),
        (
            vec![(INSPECTED, "1970-01-01T00:02:00Z")],
            unknown(),
            HostState::Enrolling,
            "Cordoned",
            "HardwareData",
        ),
        (vec![], unknown(), HostState::Enrolling, "Cordoned", "asks again"),
        (
            vec![(AGENT, failed.as_str())],
            unknown(),
            HostState::Enrolling,
            "Cordoned",
            "asks again for something to boot. Its last word: looking: no reason given",
        ),
    ] {
        let decision = decided(&written(&marks), &observed, 121);
        assert_eq!(decision.status.state, Some(state), "{marks:?}");
        let (truth, found, message) = condition(&decision, conditions::host::AVAILABLE);
        assert_eq!((truth, found), ("False", reason), "{marks:?}");
        assert!(message.contains(words), "{marks:?}: {message}");
        let (_, found, message) = condition(&decision, conditions::READY);
        assert_eq!(found, "SecretNotFound", "{marks:?}");
        assert!(message.contains("discovered-52540000000a-bmc"), "it says what is to be made: {message}");
        let shown = decision.status.hardware_details.map(|details| details.hardware);
        assert_eq!(shown, observed.inspected.map(|inspected| *inspected), "{marks:?}");
        assert_eq!(decision.status.observed_power_state, None, "nobody knows");
    }
}

#[test]
fn the_last_word_of_an_agent_that_could_not_inspect_stays_when_its_errand_is_closed() {
    let accepted = json!({"redfishConnection": {"address": "https://10.0.0.1"}});
    for (spec, marks, expected) in [
        (json!({}), vec![(ERRAND, ARMED)], true),
        (json!({}), vec![(ERRAND, ARMED), (INSPECTED, "1970-01-01T00:02:00Z")], false),
        (json!({"inspect": false}), vec![(ERRAND, ARMED)], false),
        (json!({"externallyProvisioned": true}), vec![(ERRAND, ARMED)], false),
        (accepted, vec![(ERRAND, ARMED)], false),
    ] {
        let found = written_with(spec.clone(), json!(null), &marks);
        assert_eq!(keeps_last_word(&found), expected, "{spec} {marks:?}");
    }
}

#[test]
fn a_machine_that_a_host_has_is_known_by_its_uuid_or_an_address() {
    let seen = |uuid: &str, macs: &[&str]| -> Hardware {
        let nics: Vec<Value> = macs.iter().map(|mac| json!({"name": "e", "macAddress": mac})).collect();
        serde_json::from_value(json!({"uuid": uuid, "nics": nics})).unwrap()
    };
    let with = |spec: Value, uuid: &str, macs: &[&str]| {
        host(spec, json!({"hardwareDetails": serde_json::to_value(seen(uuid, macs)).unwrap()}))
    };
    let by_boot = || host(json!({"bootMACAddress": "52:54:00:00:00:0B"}), json!(null));
    for (known, uuid, macs, expected) in [
        (with(json!({}), UUID, &[]), UUID, vec![], true),
        (with(json!({}), "55759438-4277-4834-3784-823347823834", &[]), UUID, vec![], true),
        (with(json!({}), FILLER, &[]), FILLER, vec![], false),
        (with(json!({}), "x", &["52:54:00:00:00:0b"]), UUID, vec![MAC, "52:54:00:00:00:0B"], true),
        (by_boot(), UUID, vec![MAC, "52:54:00:00:00:0b"], true),
        (by_boot(), UUID, vec![MAC], false),
        (with(json!({}), "x", &["00:00:00:00:00:00"]), UUID, vec!["00:00:00:00:00:00"], false),
        (with(json!({}), "x", &["ff:ff:ff:ff:ff:ff"]), UUID, vec!["ff:ff:ff:ff:ff:ff"], false),
        // What another stranger says of itself makes nobody known.
        (written_with(json!({}), json!({"hardwareDetails": {"uuid": UUID}}), &[]), UUID, vec![MAC], false),
    ] {
        let all = [host(json!({}), json!(null)), known.clone()];
        let found = same_machine(&written(&[]), &seen(uuid, &macs), &all);
        assert_eq!(found.is_some(), expected, "{known:?} {uuid} {macs:?}");
        assert!(found.is_none_or(|found| *found == known));
        let accepted = same_machine(&host(json!({}), json!(null)), &seen(uuid, &macs), &all);
        assert_eq!(accepted, None, "only who was not accepted is compared");
    }
}

#[test]
fn a_machine_that_is_known_starts_from_its_disk_and_is_not_turned_off() {
    use crate::{
        agent::{Next, next},
        network_boot::{Told, told},
    };
    let twin = (SAME_MACHINE, "metal/node-7");
    for (marks, restarts) in [
        (vec![(ERRAND, ARMED), (INSPECTED, "1970-01-01T00:02:00Z")], false),
        (vec![(ERRAND, ARMED), (INSPECTED, "1970-01-01T00:02:00Z"), twin], true),
    ] {
        let host = written(&marks);
        let next = next(&host, "i", None, |_| false).unwrap();
        assert_eq!(matches!(next, Next::Restart(_)), restarts, "{next:?}");
        assert_eq!(matches!(next, Next::PowerOff(_)), !restarts, "{next:?}");
        assert_eq!(told(&host, "i", |_| false) == Told::Disk, restarts);
    }
    let left = written(&[(INSPECTED, "1970-01-01T00:02:00Z"), twin]);
    let decision = decided(&left, &unknown(), 121);
    let (_, reason, message) = condition(&decision, conditions::host::AVAILABLE);
    assert!(reason == "Cordoned" && message.contains("metal/node-7"), "{message}");
    assert!(!may_be_begun_again(&left), "it is told nothing when it asks again");
}

#[test]
fn a_candidate_that_was_moved_is_told_again_what_it_is_made_of() {
    let inspected = (INSPECTED, "1970-01-01T00:02:00Z");
    let moved = written(&[inspected]);
    assert!(has_lost_details(&moved) && !has_lost_details(&written(&[])));
    let whole = written_with(json!({}), json!({"hardwareDetails": {"uuid": UUID}}), &[inspected]);
    assert!(!has_lost_details(&whole));
    let seen: Hardware = serde_json::from_value(json!({"uuid": UUID})).unwrap();
    let decision = decided(&moved, &Observed { inspected: Some(Box::new(seen)), ..unknown() }, 121);
    assert_eq!(decision.status.hardware_details.unwrap().hardware.uuid.as_deref(), Some(UUID));
}

#[test]
fn what_the_agent_saw_makes_no_host_available() {
    let details =
        json!({"hardwareDetails": {"serialNumber": "S1", "uuid": UUID, "nics": [{"macAddress": MAC}]}});
    let uncordoned = json!({"cordoned": null, "redfishConnection": {"address": "https://10.0.0.1"}});
    let marks = [(INSPECTED, "1970-01-01T00:02:00Z")];
    let found = written_with(uncordoned, details, &marks);
    let decision = decided(&found, &unknown(), 200);
    assert_eq!(decision.status.state, Some(HostState::Enrolling), "its BMC was never asked");
    let kept = decision.status.hardware_details.map(|details| details.hardware.serial_number);
    assert_eq!(kept, Some(Some("S1".to_owned())));

    // Its BMC answers: it is a host like all others, and not inspected again.
    let decision = decided(&found, &answered(PowerState::Off), 200);
    assert_eq!((decision.status.state, &decision.plan), (Some(HostState::Available), &Plan::Watch));
    assert_eq!(condition(&decision, conditions::host::AVAILABLE).0, "True");
    let known = decision.status.hardware_details.unwrap().hardware;
    assert_eq!(known.model.as_deref(), Some("R1"), "as its BMC says");
    assert_eq!(known.nics[0].unknown_to_bmc, Some(true), "its BMC told nothing of it yet");
}

#[test]
fn the_bmc_of_another_machine_makes_no_host_available() {
    let accepted = json!({"cordoned": null, "redfishConnection": {"address": "https://10.0.0.1"}});
    let found = written_with(accepted, json!(null), &[(INSPECTED, "1970-01-01T00:02:00Z")]);
    let another = AnotherMachine { inspected: "a".to_owned(), told: UUID.to_owned() };
    let decision =
        decided(&found, &Observed { another: Some(another.clone()), ..answered(PowerState::Off) }, 200);
    assert_eq!(decision.status.state, Some(HostState::Error));
    for type_ in [conditions::READY, conditions::host::AVAILABLE] {
        let (truth, reason, message) = condition(&decision, type_);
        assert_eq!((truth, reason), ("False", "BMCOfAnotherMachine"), "{type_}");
        assert!(message.contains(UUID) && message.contains(annotations::INSPECTED_UUID), "{message}");
    }
    assert_eq!(decision.plan, Plan::Refuse(another.trouble()));
}

#[test]
fn a_candidate_goes_at_once_when_it_is_deleted() {
    let details = json!({"hardwareDetails": {"serialNumber": "S1"}});
    for marks in [&[(ERRAND, ARMED)][..], &[]] {
        let mut found = written_with(json!({}), details.clone(), marks);
        found.metadata.deletion_timestamp = serde_json::from_value(json!("1970-01-01T00:03:00Z")).unwrap();
        assert_eq!(decided(&found, &unknown(), 181).plan, Plan::LetGo(Farewell::Clean), "{marks:?}");
    }
}

#[test]
fn what_is_not_ready_is_tried_again_soon_and_all_else_waits_for_people() {
    let trouble =
        Trouble { reason: reasons::BOOT_CONFIGURATION_NOT_READY, message: String::new(), passes: true };
    let soon = |seconds| Requeue::After(Duration::from_secs(seconds));
    for (marks, trouble, expected) in [
        (vec![(ERRAND, ARMED)], Some(trouble), Requeue::Failed(Failure::BootResources)),
        (vec![(ERRAND, ARMED)], None, soon(20)),
        (vec![(ERRAND, ARMED), (INSPECTED, "1970-01-01T00:02:00Z")], None, soon(5)),
        (vec![], None, Requeue::Growing(Duration::from_secs(60))),
    ] {
        let found = written(&marks);
        let decision = decided(&found, &Observed { trouble, contact: Contact::NotTried, ..unknown() }, 121);
        assert_eq!(decision.requeue, expected, "{marks:?}");
    }
}

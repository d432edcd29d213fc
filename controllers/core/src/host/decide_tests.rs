//! Tables over the decision for a host.

use beskar7_api::conditions::host::{
    BOOT_SEEN, CONSUMER_MISSING, MISSING_SECRET_DATA, NOT_PROBED, SECRET_NOT_FOUND,
};
use beskar7_api::{
    HostState,
    annotations::{BOOTING, CLEANING, ERRAND, INSPECTED, PROVISIONED, RELEASE},
    boot::BootParameterMechanism,
    hardware::Architecture,
    physical_host::PowerState,
};
use serde_json::json;

use super::{
    super::{
        cleaning::demand,
        connection::SecretView::{Absent, Unreadable},
        hold::Evidence,
        samples::{
            PACE, answered, at, complete, condition, held, host, keys, observed, silent, with_annotations,
        },
    },
    *,
};
use crate::{claim::samples::merge, events::Severity};

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
        (held(), vec![(PROVISIONED, "another")], json!({"state": "Provisioned"}), HostState::Deprovisioning),
        (
            held(),
            vec![(PROVISIONED, "another")],
            json!({"state": "Provisioned", "claimID": "c"}),
            HostState::Provisioned,
        ),
        (
            held(),
            vec![(PROVISIONED, "another")],
            json!({"state": "Claimed", "claimID": "c"}),
            HostState::Claimed,
        ),
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
    merge(&mut spec, json!({"boot": {"kernelArgs": ["a=b"]}}));
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
    let cleaned = Observed { emptied: Some(Emptied::Clean), ..off() };
    let done = decide(&host(released.clone(), "Deprovisioning", Some("c")), &cleaned, PACE, at(1));
    assert_eq!((done.status.claim_id, done.plan), (None, Plan::ClearClaim));
    assert_eq!(done.status.state, Some(HostState::Deprovisioning), "free is another write");
    // The same, found by whoever comes after a crash.
    let found = decide(&host(released, "Deprovisioning", None), &off(), PACE, at(1));
    assert_eq!((found.status.claim_id, found.plan), (None, Plan::ClearClaim));
    let free = decide(&host(json!({}), "Deprovisioning", None), &off(), PACE, at(1));
    assert_eq!((free.status.claim_id, free.status.state), (None, Some(HostState::Available)));
}

#[test]
fn who_takes_a_new_claim_gets_the_machine_cleaned_and_what_it_wants_booted() {
    let old = json!({"state": "Provisioned", "claimID": "old"});
    for (image, next) in [(json!("http://i/next.iso"), HostState::Claimed), (json!(null), HostState::Claimed)]
    {
        let mut spec = held();
        spec["bootIsoSource"] = image.clone();
        let marks = [(PROVISIONED, "old")];
        let host = with_annotations(host(spec, old.clone()), &marks);
        let leaving = decide(&host, &answered(PowerState::On), PACE, at(1));
        assert_eq!(
            (leaving.status.state, &leaving.plan),
            (Some(HostState::Deprovisioning), &Plan::Deprovision)
        );
        assert_eq!(leaving.status.claim_id.as_deref(), Some("old"), "it is not the next one's yet");
        let mut cleaning = host.clone();
        cleaning.status = Some(leaving.status);
        let cleaned = Observed { emptied: Some(Emptied::Clean), ..answered(PowerState::Off) };
        let clean = decide(&cleaning, &cleaned, PACE, at(2));
        assert_eq!(
            (clean.status.claim_id.as_deref(), &clean.plan),
            (None, &Plan::HandOver),
            "nobody loses a claim"
        );
        assert_eq!(
            clean.status.state,
            Some(HostState::Claimed),
            "clean for its holder is not clean for others"
        );
        let mut handed_over = cleaning.clone();
        handed_over.status = Some(clean.status);
        let crashed = decide(&handed_over, &answered(PowerState::Off), PACE, at(3));
        assert_eq!((crashed.plan, crashed.status.claim_id.as_deref()), (Plan::Deprovision, Some("old")));
        handed_over.metadata.annotations = None;
        let mut released = with_annotations(handed_over.clone(), &[(RELEASE, "c"), (CLEANING, "Full")]);
        released.spec.consumer_ref = None;
        let leaving = decide(&released, &answered(PowerState::Off), PACE, at(3));
        assert_eq!(leaving.plan, Plan::Deprovision, "released before anything was done for the new claim");
        assert!(demand(&released, Delivery::Off).is_some(), "what the old claim left on its disks is wiped");
        let begun = decide(&handed_over, &answered(PowerState::Off), PACE, at(3));
        assert_eq!((begun.status.state, begun.status.claim_id.as_deref()), (Some(next), Some("c")));
        match image.is_null() {
            true => assert_eq!(begun.plan, Plan::WaitForConsumer),
            false => assert!(matches!(begun.plan, Plan::Install(_)), "{:?}", begun.plan),
        }
    }
}

#[test]
fn a_deleted_host_whose_consumer_took_a_new_claim_waits_for_it() {
    let mut host =
        host(held(), json!({"state": "Provisioned", "claimID": "old", "hardwareDetails": {"model": "R1"}}));
    host.metadata.deletion_timestamp = serde_json::from_value(json!("1970-01-01T00:00:00Z")).unwrap();
    let forever = decide(&host, &silent(true), PACE, at(99_999));
    assert_eq!(forever.plan, Plan::Watch);
    let cleaned = Observed { emptied: Some(Emptied::Clean), ..answered(PowerState::Off) };
    assert_eq!(decide(&host, &cleaned, PACE, at(1)).plan, Plan::HandOver);
}

/// A BMC that tells these addresses of what runs.
fn telling(addresses: &[&str]) -> Observed {
    let mut observed = answered(PowerState::On);
    let all = addresses.iter().map(|address| json!({"type": "InternalIP", "address": address}));
    let addresses = all.map(|address| serde_json::from_value(address).unwrap()).collect();
    if let Contact::Answered(sighting) = &mut observed.contact {
        sighting.parts = Some(Parts { addresses, ..Parts::default() });
    }
    observed
}

#[test]
fn addresses_are_those_of_what_runs_for_the_consumer() {
    let runs = |spec: serde_json::Value, status: serde_json::Value| {
        with_annotations(host(spec, status), &[(PROVISIONED, "c")])
    };
    let told = |host: &PhysicalHost, observed: &Observed| {
        let status = decide(host, observed, PACE, at(1)).status;
        status.addresses.into_iter().map(|address| address.address).collect::<Vec<_>>()
    };
    let known = json!({"claimID": "c", "addresses": [{"type": "InternalIP", "address": "10.0.0.7"}]});
    let fresh = runs(held(), json!({"claimID": "c"}));
    assert!(wants_addresses(&fresh));
    assert_eq!(told(&fresh, &telling(&["10.0.0.7", "fd00::7"])), ["10.0.0.7", "fd00::7"]);
    assert_eq!(told(&fresh, &answered(PowerState::On)), [""; 0], "nobody asked");
    let running = runs(held(), known.clone());
    assert!(!wants_addresses(&running));
    for observed in [answered(PowerState::On), silent(true)] {
        assert_eq!(told(&running, &observed), ["10.0.0.7"], "what was told stays");
    }
    assert_eq!(told(&running, &telling(&["10.0.0.8"])), ["10.0.0.8"]);
    // Declared ones are the word of people, who know better.
    let mut declared = held();
    declared["addresses"] = json!([{"type": "InternalIP", "address": "10.9.9.9"}]);
    let declared = runs(declared, known.clone());
    assert!(!wants_addresses(&declared));
    assert_eq!(told(&declared, &telling(&["10.0.0.8"])), ["10.9.9.9"]);
    // What does not run yet, or not any more, has none; what the BMC tells is of something else.
    for not_running in [
        host(held(), known.clone()),
        host(json!({}), json!({"addresses": known["addresses"]})),
        with_annotations(host(json!({"claimID": "c"}), known.clone()), &[(PROVISIONED, "c"), (RELEASE, "c")]),
    ] {
        assert!(!wants_addresses(&not_running));
        assert_eq!(told(&not_running, &telling(&["10.0.0.8"])), [""; 0]);
    }
    // Somebody took the claim off: it runs on.
    let lost = with_annotations(host(json!({}), known), &[(PROVISIONED, "c")]);
    assert_eq!(told(&lost, &answered(PowerState::On)), ["10.0.0.7"]);
}

#[test]
fn what_a_bmc_does_not_see_of_a_machine_stays_as_the_agent_saw_it() {
    let seen_by_agent: Hardware = serde_json::from_value(json!({
        "model": "another name", "cpu": {"cores": 8, "architecture": "amd64"}, "memory": {"totalMiB": 4096},
        "storage": [{"name": "/dev/sda"}], "nics": [{"name": "eth0"}], "firmware": [{"name": "BIOS"}],
    }))
    .unwrap();
    let hardware = |decision: Decision| decision.status.hardware_details.unwrap().hardware;
    let first = Observed { inspected: Some(Box::new(seen_by_agent)), ..answered(PowerState::Off) };
    let found = hardware(decide(&host(json!({}), json!(null)), &first, PACE, at(1)));
    assert_eq!(found.model.as_deref(), Some("R1"), "what the BMC tells counts");
    assert_eq!(found.cpu.as_ref().and_then(|cpu| cpu.cores), Some(8));
    assert_eq!((found.storage.len(), found.nics.len(), found.firmware.len()), (1, 1, 0));

    // Later looks have only what the BMC tells.
    let known = json!({"hardwareDetails": serde_json::to_value(&found).unwrap()});
    let later = hardware(decide(&host(json!({}), known.clone()), &answered(PowerState::Off), PACE, at(2)));
    assert_eq!(later, found);
    let mut with_disks = answered(PowerState::Off);
    if let Contact::Answered(sighting) = &mut with_disks.contact {
        let storage = vec![serde_json::from_value(json!({"name": "Disk 1"})).unwrap(); 2];
        sighting.parts = Some(Parts { storage, ..Parts::default() });
    }
    let seen = hardware(decide(&host(json!({}), known.clone()), &with_disks, PACE, at(3)));
    assert_eq!((seen.storage.len(), seen.nics.len()), (2, 1), "where the BMC sees some, those count");
    let mut another = answered(PowerState::Off);
    if let Contact::Answered(sighting) = &mut another.contact {
        sighting.hardware.uuid = Some("0".to_owned());
    }
    assert!(
        hardware(decide(&host(json!({}), known), &another, PACE, at(4))).storage.is_empty(),
        "another machine"
    );
}

#[test]
fn an_interface_that_the_bmc_does_not_see_is_not_forgotten() {
    let nic = |name: &str, mac: &str| json!({"name": name, "macAddress": mac});
    let with = |nics: serde_json::Value| -> Observed {
        let mut answered = answered(PowerState::Off);
        if let Contact::Answered(sighting) = &mut answered.contact {
            let nics = serde_json::from_value(nics).unwrap();
            sighting.parts = Some(Parts { nics, ..Parts::default() });
        }
        answered
    };
    let names = |host: &PhysicalHost, observed: &Observed| -> Vec<String> {
        let decision = decide(host, observed, PACE, at(2));
        let nics = decision.status.hardware_details.unwrap().hardware.nics;
        nics.into_iter().filter_map(|nic| nic.name).collect()
    };
    let uuid = "38947555-7742-3448-3784-823347823834";
    let agent = json!([nic("eth0", "52:54:00:00:00:0a"), nic("eth1", "52:54:00:00:00:0b"), {"name": "eth2"}]);
    let known = host(json!({}), json!({"hardwareDetails": {"uuid": uuid, "nics": agent}}));
    let onboard = with(json!([nic("NIC.1", "52:54:00:00:00:0A")]));
    assert_eq!(names(&known, &onboard), ["NIC.1", "eth1"]);
    let mut anew = onboard;
    anew.inspected =
        Some(Box::new(serde_json::from_value(json!({"nics": [nic("eth9", "52:54:00:00:00:09")]})).unwrap()));
    assert_eq!(
        names(&known, &anew),
        ["NIC.1", "eth9"],
        "what was taken out is gone when it is looked at anew"
    );
}

#[test]
fn what_only_the_agent_saw_is_told_from_what_the_bmc_tells_and_forgotten_when_it_looks_anew() {
    let of_agent = |name: &str, mac: &str| json!({"name": name, "macAddress": mac, "unknownToBMC": true});
    let onboard = json!({"name": "NIC.1", "macAddress": "52:54:00:00:00:0a"});
    let eth1 = of_agent("eth1", "52:54:00:00:00:0b");
    let seen = json!([
        {"name": "eth0", "macAddress": "52:54:00:00:00:0A"}, {"name": "eth9", "macAddress": "52:54:00:00:00:09"},
    ]);
    let (eth0, eth9) = (of_agent("eth0", "52:54:00:00:00:0A"), of_agent("eth9", "52:54:00:00:00:09"));
    for (known, parts, inspected, expected) in [
        (json!([onboard, eth1]), None, None, json!([onboard, eth1])),
        // Its parts were not read in the same pass.
        (json!([onboard, eth1]), None, Some(&seen), json!([onboard, eth9])),
        (json!([eth1]), None, Some(&seen), json!([eth0, eth9])),
        (json!([onboard, eth1]), Some(json!([onboard])), Some(&seen), json!([onboard, eth9])),
        (json!([onboard, eth1]), Some(json!([])), Some(&seen), json!([eth0, eth9])),
        (json!([onboard, eth1]), Some(json!([])), None, json!([onboard, eth1])),
        (json!([eth0, eth1]), Some(json!([onboard])), None, json!([onboard, eth1])),
        // Where nobody wrote down who told of it, the BMC's own word says so.
        (seen.clone(), Some(json!([onboard])), None, json!([onboard, eth9])),
    ] {
        let uuid = "38947555-7742-3448-3784-823347823834";
        let host = host(json!({}), json!({"hardwareDetails": {"uuid": uuid, "nics": known}}));
        let inspected = inspected
            .map(|nics| Box::new(serde_json::from_value::<Hardware>(json!({"nics": nics})).unwrap()));
        let mut observed = Observed { inspected, ..answered(PowerState::Off) };
        if let Contact::Answered(sighting) = &mut observed.contact {
            sighting.parts = parts
                .clone()
                .map(|nics| Parts { nics: serde_json::from_value(nics).unwrap(), ..Parts::default() });
        }
        let status = decide(&host, &observed, PACE, at(2)).status;
        let found = serde_json::to_value(status.hardware_details.unwrap().hardware.nics).unwrap();
        assert_eq!(found, expected, "{known} {parts:?} {}", observed.inspected.is_some());
    }
}

#[test]
fn a_host_that_is_to_be_inspected_is_nobodys_before() {
    let asks = json!({"inspect": true});
    for (spec, marks, status, state, why) in [
        (asks.clone(), vec![], json!(null), HostState::Inspecting, "Inspecting"),
        (asks.clone(), vec![(INSPECTED, "5")], json!(null), HostState::Available, "Free"),
        (asks.clone(), vec![(ERRAND, "inspect i 5 on")], json!(null), HostState::Inspecting, "Inspecting"),
        // What is done is not cleared up yet.
        (
            asks,
            vec![(ERRAND, "inspect i 5 on"), (INSPECTED, "5")],
            json!(null),
            HostState::Inspecting,
            "Inspecting",
        ),
        (
            json!({"inspect": true, "cordoned": "a fan"}),
            vec![],
            json!(null),
            HostState::Inspecting,
            "Cordoned",
        ),
        (json!({}), vec![], json!(null), HostState::Available, "Free"),
    ] {
        let host = with_annotations(host(spec.clone(), status), &marks);
        let decision = decide(&host, &answered(PowerState::Off), PACE, at(9));
        assert_eq!(decision.status.state, Some(state), "{spec} {marks:?}");
        assert_eq!(condition(&decision, "HostAvailable").1, why, "{spec} {marks:?}");
    }
}

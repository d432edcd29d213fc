//! When the agent is started on a machine that nobody uses, and what follows from what it does.

use std::time::Duration;

use beskar7_api::annotations::{AGENT, CLEANED, CLEANING, ERRAND, INSPECTED, PAUSED, RELEASE, UNUSED};
use serde_json::{Value, json};

use super::*;
use crate::host::{
    plan::plan,
    samples::{at, host, with_annotations},
};

const AGENT_BY_MEDIA: Delivery = Delivery::On { url_length: 60, agent: AgentBoot::VirtualMedia };

fn free(spec: Value, marks: &[(&str, &str)]) -> PhysicalHost {
    with_annotations(host(spec, json!(null)), marks)
}

/// Nobody holds it any more, and it is not clean.
fn leaving(spec: Value, marks: &[(&str, &str)]) -> PhysicalHost {
    let mut whole = json!({"claimID": "c"});
    crate::claim::samples::merge(&mut whole, spec);
    let all: Vec<(&str, &str)> = marks.iter().copied().chain([(RELEASE, "c")]).collect();
    with_annotations(host(whole, json!({"claimID": "c", "state": "Deprovisioning"})), &all)
}

fn planned(host: &PhysicalHost, power: PowerState, second: i64, delivery: Delivery) -> String {
    let seen = Seen { power, armed: None, boot: None, medium: None };
    let means = Means { patience: Duration::from_secs(600), delivery, inspect: false };
    match plan(host, seen, at(second), means) {
        Plan::SendAgent(errand, wanted) => format!("send {errand} by {:?}", wanted.method),
        Plan::NoteSent(errand) => format!("note {errand}"),
        Plan::Refuse(trouble) => trouble.reason.to_owned(),
        other @ (Plan::Watch
        | Plan::WaitForConsumer
        | Plan::Install(_)
        | Plan::NoteOn(_)
        | Plan::TakeOut
        | Plan::TurnOn
        | Plan::AwaitBoot
        | Plan::WriteSeen(_)
        | Plan::Power(_)
        | Plan::Restart(_)
        | Plan::NoteRestarted(_)
        | Plan::Deprovision
        | Plan::CallAgent(_)
        | Plan::EndErrand
        | Plan::ServeAgent(_)
        | Plan::CloseErrand
        | Plan::ClearClaim
        | Plan::HandOver
        | Plan::LetGo(_)) => format!("{other:?}"),
    }
}

fn said(id: &str, state: &str, second: i64) -> String {
    let word = if id == "i" { "inspect" } else { "clean" };
    json!({"claim": id, "second": second, "order": format!("{word}-100-1"), "state": state, "step": "wiping"})
        .to_string()
}

#[test]
fn what_is_written_is_read_again_and_nothing_else() {
    let errand = Errand::new(Purpose::Clean(Thoroughness::Full), 0xab);
    assert_eq!(errand.to_string(), format!("clean-full {:0>32}", "ab"));
    let sent = errand.sent(at(7)).seen_on();
    assert_eq!(sent.to_string(), format!("clean-full {:0>32} 7 on", "ab"));
    let again = sent.sent(at(9));
    assert_eq!(again.to_string(), format!("clean-full {:0>32} 9 try-2", "ab"));
    for errand in [errand, sent, again] {
        assert_eq!(Errand::parse(&errand.to_string()), Some(errand));
    }
    for text in ["", "inspect", "moonlight a", "inspect a soon", "clean a"] {
        assert_eq!(Errand::parse(text), None, "{text:?}");
    }
}

#[test]
fn a_host_that_nobody_holds_is_inspected_once_where_that_is_wanted() {
    use PowerState::{Off, On};
    let asks = json!({"inspect": true});
    for (spec, marks, power, expected) in [
        (json!({}), vec![], Off, "Watch"),
        (json!({"inspect": false}), vec![], Off, "Watch"),
        (asks.clone(), vec![], Off, "CallAgent(Inspect)"),
        (asks.clone(), vec![], On, "CallAgent(Inspect)"),
        (asks.clone(), vec![(INSPECTED, "5")], Off, "Watch"),
        (json!({"inspect": true, "cordoned": "a fan"}), vec![], Off, "Watch"),
        (json!({"inspect": true, "externallyProvisioned": true}), vec![], On, "Watch"),
        (asks.clone(), vec![(PAUSED, "")], Off, "Watch"),
        (asks.clone(), vec![(ERRAND, "inspect i")], Off, "send inspect i by VirtualMedia"),
        (asks.clone(), vec![(ERRAND, "inspect i 100")], On, "note inspect i 100 on"),
        (asks.clone(), vec![(ERRAND, "inspect i 100 on")], On, "AwaitBoot"),
        (asks.clone(), vec![(ERRAND, "inspect i 100 on")], Off, "send inspect i 100 on by VirtualMedia"),
        (asks.clone(), vec![(ERRAND, "inspect i 100 try-5 on")], Off, "AgentInterrupted"),
        // It never had power.
        (
            asks.clone(),
            vec![(ERRAND, "inspect i 100 try-5")],
            Off,
            "send inspect i 100 try-5 by VirtualMedia",
        ),
        (json!({"externallyProvisioned": true}), vec![(ERRAND, "inspect i 100 on")], On, "CloseErrand"),
        (asks.clone(), vec![(ERRAND, "inspect i 100 on"), (INSPECTED, "150")], On, "EndErrand"),
        (json!({"inspect": false}), vec![(ERRAND, "inspect i 100 on")], On, "EndErrand"),
        // Of another kind than what is wanted here: of a claim that is over.
        (asks, vec![(ERRAND, "clean-full i 100 on")], On, "CallAgent(Inspect)"),
    ] {
        let found = planned(&free(spec.clone(), &marks), power, 150, AGENT_BY_MEDIA);
        assert_eq!(found, expected, "{spec} {marks:?} {power:?}");
    }
    let none = Delivery::On { url_length: 60, agent: AgentBoot::None };
    assert_eq!(planned(&free(json!({"inspect": true}), &[]), Off, 0, none), "AgentNotAvailable");
}

#[test]
fn where_the_flag_says_so_every_host_is_inspected_that_does_not_refuse() {
    for (spec, always, expected) in [
        (json!({}), true, true),
        (json!({}), false, false),
        (json!({"inspect": false}), true, false),
        (json!({"inspect": true}), false, true),
    ] {
        assert_eq!(wants_inspection(&free(spec.clone(), &[]), always), expected, "{spec} {always}");
    }
}

#[test]
fn an_agent_that_was_never_heard_is_started_again_and_one_that_fails_is_not() {
    use PowerState::{Off, On};
    let (failed, running) = (said("i", "failed", 120), said("i", "running", 120));
    let on_errand = |mark: &'static str, said: Option<&str>| {
        let said = said.map(|said| (AGENT, said));
        free(json!({"inspect": true}), &[(ERRAND, mark)].into_iter().chain(said).collect::<Vec<_>>())
    };
    for (mark, said, power, second, expected) in [
        ("inspect i 100 on", None, On, 699, "AwaitBoot"),
        ("inspect i 100 on", None, On, 700, "send inspect i 100 on by VirtualMedia"),
        ("inspect i 100 try-5 on", None, On, 699, "AwaitBoot"),
        ("inspect i 100 try-5 on", None, On, 700, "Power(Off)"),
        ("inspect i 100 try-5 on", None, Off, 700, "AgentNotHeard"),
        ("inspect i 100 on", Some(&running), On, 419, "AwaitBoot"),
        ("inspect i 100 on", Some(&running), On, 420, "AgentSilent"),
        ("inspect i 100 on", Some(&failed), On, 130, "InspectionFailed"),
        // Who has put it right turns it off.
        ("inspect i 100 on", Some(&failed), Off, 130, "send inspect i by VirtualMedia"),
        // Of the time before it was started again.
        ("inspect i 110 try-2 on", Some(&failed), On, 130, "AwaitBoot"),
    ] {
        let host = on_errand(mark, said.map(String::as_str));
        assert_eq!(planned(&host, power, second, AGENT_BY_MEDIA), expected, "{mark} {said:?} {second}");
    }
}

#[test]
fn an_agent_that_talks_and_comes_no_further_is_stuck_but_later_where_a_disk_may_erase_itself() {
    let (half_an_hour, days) = (30 * 60, 72 * 60 * 60);
    for (how, demand, step, done, limit) in [
        ("metadata", "Metadata", "wiping", json!(7), half_an_hour),
        // Behind it may be another disk, of which nothing is heard.
        ("full", "Full", "overwriting", json!(7), days),
        ("full", "Full", "ATA secure erase", json!(null), days),
        ("full", "Full", "erasing", json!(7), days),
    ] {
        for (second, expected) in [(199 + limit, "AwaitBoot"), (200 + limit, "AgentStuck")] {
            let said = json!({"claim": "e", "second": second, "order": "clean-100-1", "state": "running",
                              "step": step, "done": done, "since": 200})
            .to_string();
            let errand = format!("clean-{how} e 100 on");
            let marks = [(ERRAND, errand.as_str()), (AGENT, said.as_str()), (CLEANING, demand)];
            let found = planned(&leaving(json!({}), &marks), PowerState::On, second, AGENT_BY_MEDIA);
            assert_eq!(found, expected, "{step} {second}");
        }
    }
}

#[test]
fn the_last_word_of_an_agent_that_was_interrupted_is_told() {
    let running = said("i", "running", 120).replace("inspect-100-1", "inspect-100-5");
    for (said, expected) in [(Some(&running), Some(". Its last word: wiping")), (None, None)] {
        let marks = [(ERRAND, "inspect i 100 try-5 on")];
        let said = said.map(|said| (AGENT, said.as_str()));
        let host = free(json!({"inspect": true}), &marks.into_iter().chain(said).collect::<Vec<_>>());
        let off = Seen { power: PowerState::Off, armed: None, boot: None, medium: None };
        let means = Means { patience: Duration::from_secs(600), delivery: AGENT_BY_MEDIA, inspect: false };
        let planned = plan(&host, off, at(150), means);
        let trouble = planned.refusal().unwrap();
        assert_eq!(trouble.reason, "AgentInterrupted");
        assert!(expected.is_none_or(|word| trouble.message.ends_with(word)), "{}", trouble.message);
        assert_eq!(trouble.message.contains("last word"), expected.is_some(), "{}", trouble.message);
    }
}

#[test]
fn a_released_machine_that_never_starts_the_agent_is_not_left_running() {
    use PowerState::{Off, On, PoweringOn};
    let wiping = json!({"claim": "e", "second": 690, "order": "clean-100-5", "state": "running"}).to_string();
    let another =
        json!({"claim": "e", "second": 120, "order": "clean-100-5", "state": "failed", "another": "u",
        "message": "why"})
        .to_string();
    for (said, power, second, expected) in [
        (None, On, 699, "AwaitBoot"),
        (None, On, 700, "Power(Off)"),
        (None, PoweringOn, 700, "AwaitBoot"),
        (None, Off, 700, "AgentNotHeard"),
        (None, Off, 699, "AgentInterrupted"),
        // What an agent works on is not interrupted, whatever it takes.
        (Some(&wiping), On, 700, "AwaitBoot"),
        (Some(&wiping), On, 99_999, "AgentSilent"),
        // It is another machine that has the agent.
        (Some(&another), On, 130, "Power(Off)"),
        (Some(&another), Off, 130, "CleaningFailed"),
    ] {
        let said = said.map(|said| (AGENT, said.as_str()));
        let marks = [(ERRAND, "clean-metadata e 100 try-5 on")];
        let marks: Vec<_> = marks.into_iter().chain(said).collect();
        let found = planned(&leaving(json!({}), &marks), power, second, AGENT_BY_MEDIA);
        assert_eq!(found, expected, "{said:?} {power:?} {second}");
    }
    let host = leaving(json!({}), &[(ERRAND, "clean-metadata e 100 try-5 on")]);
    let seen = Seen { power: Off, armed: None, boot: None, medium: None };
    let means = Means { patience: Duration::from_secs(600), delivery: AGENT_BY_MEDIA, inspect: false };
    let Plan::Refuse(trouble) = plan(&host, seen, at(700), means) else { panic!("it is not refused") };
    for part in ["5 times", "kept off", ERRAND, CLEANED] {
        assert!(trouble.message.contains(part), "{part}: {}", trouble.message);
    }
}

#[test]
fn disks_are_wiped_before_a_host_is_given_back_as_thoroughly_as_is_wanted() {
    use PowerState::{Off, On};
    let metadata = "clean-metadata e 100 on";
    for (spec, marks, expected) in [
        (json!({}), vec![], "Deprovision"),
        (json!({}), vec![(ERRAND, metadata)], "AwaitBoot"),
        (json!({"cleaning": "Full"}), vec![(ERRAND, metadata)], "CallAgent(Clean(Full))"),
        (json!({}), vec![(ERRAND, metadata), (CLEANING, "Full")], "CallAgent(Clean(Full))"),
        (json!({}), vec![(ERRAND, metadata), (CLEANED, "c")], "Deprovision"),
        (json!({}), vec![(ERRAND, metadata), (CLEANED, "older")], "AwaitBoot"),
        (json!({"cleaning": "None"}), vec![(ERRAND, metadata)], "Deprovision"),
        (json!({}), vec![(ERRAND, metadata), (UNUSED, "c")], "Deprovision"),
        (json!({}), vec![(ERRAND, "inspect i 100 on")], "Deprovision"),
    ] {
        assert_eq!(
            planned(&leaving(spec.clone(), &marks), On, 150, AGENT_BY_MEDIA),
            expected,
            "{spec} {marks:?}"
        );
    }
    let called = leaving(json!({}), &[(ERRAND, "clean-metadata e")]);
    assert_eq!(planned(&called, Off, 150, AGENT_BY_MEDIA), "send clean-metadata e by VirtualMedia");
    let mut deleted = leaving(json!({}), &[(ERRAND, metadata)]);
    deleted.metadata.deletion_timestamp = serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap();
    assert_eq!(planned(&deleted, On, 150, AGENT_BY_MEDIA), "Deprovision", "it is nobody's any more");
}

#[test]
fn who_waits_for_a_host_that_is_wiped_is_told_of_a_failure_only_when_there_is_one() {
    let wiped = leaving(json!({}), &[(ERRAND, "clean-full e 100 on")]);
    assert!(is_being_wiped(&wiped));
    assert!(!is_being_wiped(&leaving(json!({}), &[(ERRAND, "clean-full e")])), "it is not begun");
    assert!(!is_being_wiped(&free(json!({}), &[(ERRAND, "inspect e 100 on")])));
    let mut failed = wiped;
    let told = json!([{"type": "HostProvisioned", "status": "False", "reason": "CleaningFailed", "message": "why",
        "lastTransitionTime": "2026-01-01T00:00:00Z"}]);
    failed.status.as_mut().unwrap().conditions = serde_json::from_value(told).unwrap();
    assert!(!is_being_wiped(&failed));
}

#[test]
fn what_follows_an_emptied_machine_is_its_agent() {
    for (spec, marks, expected) in [
        (json!({}), vec![], Plan::CallAgent(Purpose::Clean(Thoroughness::Metadata))),
        (json!({"cleaning": "Full"}), vec![], Plan::CallAgent(Purpose::Clean(Thoroughness::Full))),
        (json!({}), vec![(CLEANED, "c")], Plan::Deprovision),
    ] {
        assert_eq!(clean(&leaving(spec.clone(), &marks), AGENT_BY_MEDIA), expected, "{spec} {marks:?}");
    }
}

#[test]
fn an_errand_is_of_its_host_as_long_as_nobody_holds_that() {
    let held = crate::host::samples::held();
    let mark = (ERRAND, "inspect i 100 on");
    let of = |host: &PhysicalHost| (Errand::of(host).is_some(), Errand::id_of(host).map(str::to_owned));
    let id = Some("i".to_owned());
    assert_eq!(of(&free(json!({}), &[mark])), (true, id.clone()));
    assert_eq!(of(&free(json!({}), &[mark, (PAUSED, "")])), (false, id), "it goes on, and nothing is begun");
    assert_eq!(of(&free(held, &[mark])), (false, None), "somebody took the host");
    assert_eq!(of(&leaving(json!({}), &[mark])), (false, None), "nothing was inspected of a claim's machine");
}

#[test]
fn the_agent_is_started_in_the_way_that_there_is() {
    let errand = Errand::new(Purpose::Inspect, 1);
    let method = |agent| errand.boot(agent).map(|boot| boot.method);
    assert_eq!(method(AgentBoot::VirtualMedia), Some(BootMethod::VirtualMedia));
    assert_eq!(method(AgentBoot::Network), Some(BootMethod::Ipxe));
    assert_eq!(method(AgentBoot::None), None);
}

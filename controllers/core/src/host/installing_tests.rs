//! Tables over what follows for a machine that is being installed.

use beskar7_api::annotations::{AGENT, BOOTING, HEARD, PROVISIONED};
use serde_json::{Value, json};

use super::*;
use crate::{
    delivery::{AgentBoot, Delivery},
    host::{
        plan::plan,
        samples::{at, held, host, with_annotations},
    },
};

const MEANS: Means = Means {
    inspect: false,
    patience: Duration::from_secs(600),
    delivery: Delivery::On { url_length: 80, agent: AgentBoot::VirtualMedia },
};
const BEGUN: &str = "c 100 on installed";
const WRITING: &str = r#"{"claim": "c", "second": 200, "order": "install-100-1", "state": "running", "step": "writing", "disk": "/dev/vda", "done": 41, "total": 100}"#;
const STUCK: &str = r#"{"claim": "c", "second": 1990, "order": "install-100-1", "state": "running", "step": "writing", "disk": "/dev/vda", "done": 41, "total": 100, "since": 200}"#;
const FAILED: &str = r#"{"claim": "c", "second": 200, "order": "install-100-1", "state": "failed", "step": "writing", "message": "it is full"}"#;

fn spec(more: Value) -> Value {
    let mut spec = held();
    spec["bootIsoSource"] = json!(null);
    spec["boot"] = json!({"method": "VirtualMedia", "install": {"image": "http://x/y.raw"}, "kernelArgs": ["u={{agentURL}}"]});
    crate::claim::samples::merge(&mut spec, more);
    spec
}

fn seen(power: PowerState, medium: Option<bool>) -> Seen {
    Seen { power, armed: Some(false), boot: None, medium }
}

/// What is planned in this second, in one word.
fn planned(more: Value, marks: &[(&str, &str)], seen: Seen, second: i64) -> String {
    let host = with_annotations(host(spec(more), json!(null)), marks);
    match plan(&host, seen, at(second), MEANS) {
        Plan::Refuse(trouble) => trouble.reason.to_owned(),
        Plan::Install(wanted) => format!("Install {:?}", wanted.method),
        Plan::NoteOn(booting) => format!("NoteOn {booting}"),
        other @ (Plan::Watch
        | Plan::WaitForConsumer
        | Plan::TakeOut
        | Plan::TurnOn
        | Plan::AwaitBoot
        | Plan::WriteSeen(_)
        | Plan::Power(_)
        | Plan::Restart(_)
        | Plan::NoteRestarted(_)
        | Plan::CallAgent(_)
        | Plan::SendAgent(..)
        | Plan::NoteSent(_)
        | Plan::EndErrand
        | Plan::ServeAgent(_)
        | Plan::CloseErrand
        | Plan::Deprovision
        | Plan::ClearClaim
        | Plan::HandOver
        | Plan::LetGo(_)) => format!("{other:?}"),
    }
}

#[test]
fn a_machine_that_is_off_before_it_is_installed_is_begun_anew() {
    let off = seen(PowerState::Off, None);
    for (marks, expected) in [
        (vec![], "Install VirtualMedia"),
        (vec![(BOOTING, "c 100 installed")], "Install VirtualMedia"),
        (vec![(BOOTING, BEGUN)], "Install VirtualMedia"),
        (vec![(BOOTING, BEGUN), (AGENT, WRITING)], "Install VirtualMedia"),
        (vec![(BOOTING, BEGUN), (AGENT, FAILED)], "Install VirtualMedia"),
        // Not for ever where it ran; one that never had power is tried on.
        (vec![(BOOTING, "c 100 try-5 on installed")], "InstallationInterrupted"),
        (vec![(BOOTING, "c 100 try-9 installed")], "Install VirtualMedia"),
        // What is written starts.
        (vec![(BOOTING, BEGUN), (HEARD, "c installed=300")], "TurnOn"),
        (vec![(BOOTING, BEGUN), (HEARD, "c installed=300 restarting=301")], "TurnOn"),
        (vec![(BOOTING, BEGUN), (HEARD, "old installed=300")], "Install VirtualMedia"),
        (vec![(PROVISIONED, "c")], "Watch"),
    ] {
        assert_eq!(planned(json!({}), &marks, off, 400), expected, "{marks:?}");
    }
    assert_eq!(planned(json!({"online": false}), &[(BOOTING, BEGUN)], off, 400), "WaitForConsumer");
}

#[test]
fn what_the_agent_says_decides_while_the_machine_runs() {
    let on = seen(PowerState::On, None);
    for (marks, second, expected) in [
        (vec![(BOOTING, "c 100 installed")], 150, "NoteOn c 100 on installed"),
        (vec![(BOOTING, "c 100 installed"), (AGENT, WRITING)], 210, "NoteOn c 100 on installed"),
        (vec![(BOOTING, BEGUN)], 699, "AwaitBoot"),
        (vec![(BOOTING, BEGUN)], 700, "AgentNotHeard"),
        (vec![(BOOTING, BEGUN), (AGENT, WRITING)], 499, "AwaitBoot"),
        (vec![(BOOTING, BEGUN), (AGENT, WRITING)], 500, "AgentSilent"),
        (vec![(BOOTING, BEGUN), (AGENT, FAILED)], 210, "InstallationFailed"),
        // It talks, and comes no further.
        (vec![(BOOTING, BEGUN), (AGENT, STUCK)], 1999, "AwaitBoot"),
        (vec![(BOOTING, BEGUN), (AGENT, STUCK)], 2000, "AgentStuck"),
        (vec![(BOOTING, BEGUN), (AGENT, STUCK)], 2290, "AgentSilent"),
        (vec![(BOOTING, BEGUN), (AGENT, STUCK), (HEARD, "c installed=2000")], 2000, "AwaitBoot"),
        // Of an arming before this one.
        (vec![(BOOTING, "c 150 on installed"), (AGENT, FAILED)], 210, "AwaitBoot"),
        (vec![(BOOTING, BEGUN), (AGENT, WRITING), (HEARD, "c installed=600")], 899, "AwaitBoot"),
        (vec![(BOOTING, BEGUN), (AGENT, WRITING), (HEARD, "c installed=600")], 900, "AgentSilent"),
    ] {
        assert_eq!(planned(json!({}), &marks, on, second), expected, "{marks:?} {second}");
    }
}

#[test]
fn an_installed_machine_counts_by_its_call_and_else_by_what_the_agent_said() {
    let on = seen(PowerState::On, None);
    let configured = json!({"boot": {"configVolume": "cidata"}});
    for (more, heard, second, expected) in [
        // Its agent may not have heard that it is to start anew.
        (json!({}), "c installed=300 restarting=301", 330, "AwaitBoot"),
        (json!({}), "c installed=300 restarting=301", 331, "WriteSeen(By(Installed))"),
        (configured.clone(), "c installed=300 restarting=301", 900, "AwaitBoot"),
        (configured.clone(), "c installed=300 restarting=301", 901, "WriteSeen(By(Installed))"),
        (configured.clone(), "c installed=300 restarting=301 home=302", 302, "WriteSeen(By(Home))"),
        (configured, "c installed=300 node=302", 302, "WriteSeen(By(Node))"),
    ] {
        let marks = [(BOOTING, BEGUN), (HEARD, heard)];
        assert_eq!(planned(more.clone(), &marks, on, second), expected, "{more} {heard}");
    }
}

#[test]
fn the_medium_that_the_agent_came_on_is_taken_out_once_its_work_is_done() {
    let (on, off) = (PowerState::On, PowerState::Off);
    for (heard, power, medium, second, expected) in [
        ("c installed=300", on, Some(true), 301, "TakeOut"),
        ("c installed=300 restarting=301", on, Some(true), 302, "TakeOut"),
        ("c installed=300 restarting=301", off, Some(true), 302, "TakeOut"),
        ("c installed=300 restarting=301", on, Some(false), 331, "WriteSeen(By(Installed))"),
        ("c installed=300 restarting=301", off, Some(false), 302, "TurnOn"),
        // Nobody knows.
        ("c installed=300 restarting=301", on, None, 331, "WriteSeen(By(Installed))"),
        // It has called: it did not start the agent again.
        ("c installed=300 restarting=301 home=302", on, Some(true), 302, "WriteSeen(By(Home))"),
        // Its BMC does not let it go.
        ("c installed=300 restarting=301", on, Some(true), 899, "TakeOut"),
        ("c installed=300 restarting=301", on, Some(true), 900, "WriteSeen(By(Installed))"),
        ("c installed=300 restarting=301", off, Some(true), 900, "TurnOn"),
        // It is still needed.
        ("", on, Some(true), 302, "AwaitBoot"),
    ] {
        let marks = [(BOOTING, BEGUN), (AGENT, WRITING), (HEARD, heard)];
        assert_eq!(
            planned(json!({}), &marks, seen(power, medium), second),
            expected,
            "{heard} {power:?} {medium:?} {second}"
        );
    }
}

#[test]
fn a_medium_that_was_lost_before_the_agent_spoke_is_put_back() {
    let without = seen(PowerState::On, Some(false));
    for (marks, expected) in [
        (vec![(BOOTING, BEGUN)], "Install VirtualMedia"),
        (vec![(BOOTING, "c 100 try-5 on installed")], "MediumLost"),
        (vec![(BOOTING, BEGUN), (AGENT, WRITING)], "AwaitBoot"),
    ] {
        assert_eq!(planned(json!({}), &marks, without, 210), expected, "{marks:?}");
    }
}

#[test]
fn without_an_agent_nothing_is_booted() {
    for (method, agent, expected) in [
        ("VirtualMedia", AgentBoot::None, Some("--agent-iso")),
        ("VirtualMedia", AgentBoot::Network, Some("--agent-iso")),
        ("iPXE", AgentBoot::VirtualMedia, Some("--agent-kernel")),
        ("Disk", AgentBoot::Network, Some("another method")),
        ("iPXE", AgentBoot::Network, None),
        ("VirtualMedia", AgentBoot::VirtualMedia, None),
    ] {
        let host = host(spec(json!({"boot": {"method": method, "kernelArgs": []}})), json!(null));
        let means = Means { delivery: Delivery::On { url_length: 80, agent }, ..MEANS };
        match (plan(&host, seen(PowerState::Off, None), at(0), means), expected) {
            (Plan::Install(wanted), None) => {
                assert!(wanted.starts_agent && wanted.image.is_none(), "{wanted:?}")
            }
            (Plan::Refuse(trouble), Some(told)) => {
                assert_eq!(trouble.reason, "AgentNotAvailable");
                assert!(trouble.message.contains(told), "{}", trouble.message);
            }
            (found, expected) => panic!("{method} {agent:?}: {found:?}, and not {expected:?}"),
        }
    }
}

#[test]
fn people_read_what_the_agent_said_and_what_to_do() {
    let (on, off) = (seen(PowerState::On, None), seen(PowerState::Off, None));
    let message_of = |power, marks: &[(&str, &str)], second| {
        let host = with_annotations(host(spec(json!({})), json!(null)), marks);
        plan(&host, power, at(second), MEANS).refusal().map(|trouble| trouble.message.clone()).unwrap()
    };
    let message = |marks: &[(&str, &str)], second| message_of(on, marks, second);
    let failed = message(&[(BOOTING, BEGUN), (AGENT, FAILED)], 210);
    assert!(failed.contains("writing: it is full") && failed.contains("turn the machine off"), "{failed}");
    let silent = message(&[(BOOTING, BEGUN), (AGENT, WRITING)], 500);
    assert!(silent.contains("writing /dev/vda, 41 %"), "{silent}");
    let stuck = message(&[(BOOTING, BEGUN), (AGENT, STUCK)], 2000);
    for word in ["since 1970-01-01T00:03:20Z: writing /dev/vda, 41 %", "turn the machine off", "another host"]
    {
        assert!(stuck.contains(word), "{word}: {stuck}");
    }
    let tried = "c 100 try-5 on installed";
    let writing = WRITING.replace("install-100-1", "install-100-5");
    let interrupted = message_of(off, &[(BOOTING, tried), (AGENT, &writing)], 400);
    assert!(interrupted.ends_with(". Its last word: writing /dev/vda, 41 %"), "{interrupted}");
    // What was said before the last arming is not its last word.
    let interrupted = message_of(off, &[(BOOTING, tried), (AGENT, WRITING)], 400);
    assert!(interrupted.ends_with("another host is taken"), "{interrupted}");
}

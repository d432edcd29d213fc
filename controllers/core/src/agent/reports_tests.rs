//! What follows from each thing that an agent may say.

use beskar7_api::annotations::{AGENT, BOOTING, HEARD, INSPECTED, PAUSED, PROVISIONED};
use serde_json::{Value, json};

use super::*;
use crate::host::samples::{at, held, host, with_annotations};

fn heard(marks: &[(&str, &str)], report: &Value) -> String {
    let mut spec = held();
    spec["boot"] = json!({"install": {"image": "http://x/y.qcow2"}});
    let host = with_annotations(host(spec, json!(null)), marks);
    let report: Report = serde_json::from_value(report.clone()).unwrap();
    match hear(&host, "c", &report, at(200)) {
        Heard::Goes(said) => format!("goes: {said}"),
        Heard::Installed(said) => format!("installed: {said}"),
        Heard::Failed(said) => format!("failed: {said}"),
        Heard::Inspected(inventory) => format!("inspected: {} disks", inventory.disks.len()),
        Heard::Cleaned { claim, disks } => format!("cleaned of {claim}: {} disks", disks.len()),
        other @ (Heard::GoesDown | Heard::Late | Heard::NotNow | Heard::NotWanted | Heard::Nonsense) => {
            format!("{other:?}")
        }
    }
}

#[test]
fn a_report_counts_for_the_order_that_it_is_about() {
    let word =
        |order: &str| json!({"claim": "c", "second": 1, "order": order, "state": "failed"}).to_string();
    let (now, before) = (word("install-100-1"), word("install-90-1"));
    let (has_failed, failed_before) = ((AGENT, now.as_str()), (AGENT, before.as_str()));
    let (begun, is_installed) = ((BOOTING, "c 100 on installed"), (HEARD, "c installed=150"));
    let running =
        json!({"order": "install-100-1", "state": "running", "step": "writing", "disk": "/dev/vda"});
    let failed = json!({"order": "install-100-1", "state": "failed", "step": "verifying", "message": "why"});
    let installed = json!({"order": "install-100-1", "state": "done",
        "installed": {"disk": "/dev/vda", "written": 7, "verified": true}});
    let going_down = json!({"order": "restart-100-1", "state": "done", "goingDown": null});
    let with_order = |report: &Value, order: &str| {
        let mut report = report.clone();
        report["order"] = json!(order);
        report
    };
    for (marks, report, expected) in [
        (vec![begun], &running, "goes: writing /dev/vda"),
        (vec![begun], &failed, "failed: verifying: why"),
        (vec![begun], &installed, "installed: the image is on /dev/vda"),
        (vec![begun, is_installed], &installed, "installed: the image is on /dev/vda"),
        (vec![begun, is_installed], &running, "Late"),
        (vec![begun, has_failed], &failed, "Late"),
        (vec![begun, has_failed], &running, "Late"),
        (vec![begun, failed_before], &failed, "failed: verifying: why"),
        (vec![begun, is_installed], &failed, "Late"),
        (vec![begun, is_installed], &going_down, "GoesDown"),
        // Of another arming, another claim, or what is over.
        (vec![begun], &with_order(&running, "install-99-1"), "NotWanted"),
        (vec![begun], &with_order(&running, ""), "NotWanted"),
        (vec![(BOOTING, "c 100 try-2 on installed")], &running, "NotWanted"),
        (vec![(BOOTING, "old 100 on installed")], &running, "NotWanted"),
        (vec![(PROVISIONED, "c")], &installed, "NotWanted"),
        (vec![], &running, "NotWanted"),
        // What does not answer what was asked.
        (vec![begun], &with_order(&going_down, "install-100-1"), "Nonsense"),
        (vec![begun], &with_order(&installed, "restart-100-1"), "Nonsense"),
        // A paused host is left alone: what counts is said again.
        (vec![begun, (PAUSED, "")], &running, "Late"),
        (vec![begun, (PAUSED, "")], &installed, "NotNow"),
        (vec![begun, (PAUSED, "")], &failed, "NotNow"),
        (vec![begun, (PAUSED, "")], &with_order(&running, "x"), "NotWanted"),
    ] {
        assert_eq!(heard(&marks, report), expected, "{marks:?} {report}");
    }
}

#[test]
fn a_reference_that_is_lost_for_a_moment_ends_no_installation() {
    let report = |state: Value| -> Report {
        let mut report = json!({"order": "install-100-1"});
        crate::claim::samples::merge(&mut report, state);
        serde_json::from_value(report).unwrap()
    };
    let mut spec = held();
    spec["boot"] = json!({"install": {"image": "http://x/y.qcow2"}});
    spec["consumerRef"] = json!(null);
    let host = with_annotations(host(spec, json!({"claimID": "c"})), &[(BOOTING, "c 100 on installed")]);
    let running = report(json!({"state": "running", "step": "writing"}));
    assert_eq!(hear(&host, "c", &running, at(200)), Heard::Late, "it goes on");
    let done = json!({"state": "done", "installed": {"disk": "/dev/vda", "written": 7, "verified": true}});
    assert_eq!(hear(&host, "c", &report(done), at(200)), Heard::NotNow, "it says so again");
    let next = crate::agent::next(&host, "c", None, |_| false);
    assert_eq!(next, Ok(crate::agent::Next::Nothing), "nothing new is begun");
}

/// What follows from a report on an errand. `id` is the one that the agent's URL is of.
fn on_errand(host: &PhysicalHost, id: &str, report: Value) -> String {
    match hear(host, id, &serde_json::from_value(report).unwrap(), at(200)) {
        Heard::Goes(said) => format!("goes: {said}"),
        Heard::Failed(said) => format!("failed: {said}"),
        Heard::Inspected(inventory) => format!("inspected: {} disks", inventory.disks.len()),
        Heard::Cleaned { claim, disks } => format!("cleaned of {claim}: {} disks", disks.len()),
        other @ (Heard::Installed(_)
        | Heard::GoesDown
        | Heard::Late
        | Heard::NotNow
        | Heard::NotWanted
        | Heard::Nonsense) => format!("{other:?}"),
    }
}

#[test]
fn what_an_agent_saw_counts_for_the_errand_that_it_is_on() {
    let seen = json!({"order": "inspect-100-1", "state": "done", "inspected": {"disks": [{}, {}]}});
    let running = json!({"order": "inspect-100-1", "state": "running", "step": "listening"});
    let gone = json!({"order": "power-off-100-1", "state": "done", "goingDown": null});
    let cleaned = json!({"order": "inspect-100-1", "state": "done", "cleaned": []});
    let errand = (beskar7_api::annotations::ERRAND, "inspect i 100 on");
    for (marks, id, report, expected) in [
        (vec![errand], "i", &seen, "inspected: 2 disks"),
        (vec![errand], "i", &running, "goes: listening"),
        // What stands there is not written once more, and its minute not begun anew.
        (vec![errand, (INSPECTED, "1970-01-01T00:02:00Z")], "i", &seen, "Late"),
        (vec![errand], "i", &gone, "Late"),
        (vec![errand], "i", &cleaned, "Nonsense"),
        (vec![errand], "another", &seen, "NotWanted"),
        (vec![], "i", &seen, "NotWanted"),
        (vec![(errand.0, "inspect i 110 try-2 on")], "i", &seen, "NotWanted"),
        (vec![(errand.0, "inspect i")], "i", &seen, "NotWanted"),
        (vec![errand, (PAUSED, "")], "i", &seen, "NotNow"),
        (vec![errand, (PAUSED, "")], "i", &running, "Late"),
    ] {
        let host = with_annotations(host(json!({"inspect": true}), json!(null)), &marks);
        assert_eq!(on_errand(&host, id, report.clone()), expected, "{marks:?} {id} {report}");
    }
    let taken = with_annotations(host(held(), json!(null)), &[errand]);
    assert_eq!(on_errand(&taken, "i", seen), "NotWanted", "somebody holds the host");
}

#[test]
fn disks_are_clean_of_the_claim_that_they_were_wiped_of_as_thoroughly_as_is_wanted() {
    use beskar7_api::annotations::{CLEANED, CLEANING, ERRAND, RELEASE};
    let done = json!({"order": "clean-100-1", "state": "done", "cleaned": [{"disk": "/dev/sda", "method": "metadata"}]});
    let (metadata, full) = ((ERRAND, "clean-metadata e 100 on"), (ERRAND, "clean-full e 100 on"));
    for (marks, cleaning, expected) in [
        (vec![metadata], json!(null), "cleaned of c: 1 disks"),
        (vec![metadata], json!("Full"), "NotWanted"),
        (vec![metadata, (CLEANING, "Full")], json!(null), "NotWanted"),
        (vec![full], json!(null), "cleaned of c: 1 disks"),
        (vec![metadata, (CLEANED, "c")], json!(null), "Late"),
        (vec![metadata], json!("None"), "Late"),
    ] {
        let marks: Vec<_> = marks.into_iter().chain([(RELEASE, "c")]).collect();
        let spec = json!({"claimID": "c", "cleaning": cleaning});
        let host = with_annotations(host(spec, json!({"claimID": "c", "state": "Deprovisioning"})), &marks);
        assert_eq!(on_errand(&host, "e", done.clone()), expected, "{marks:?} {cleaning}");
        assert_eq!(
            on_errand(&host, "c", done.clone()),
            "NotWanted",
            "who had the machine says nothing of it"
        );
    }
}

#[test]
fn a_machine_whose_disks_are_not_seen_is_not_clean() {
    use beskar7_api::annotations::{ERRAND, RELEASE};
    let done = json!({"order": "clean-100-1", "state": "done", "cleaned": []});
    let marks = [(ERRAND, "clean-full e 100 on"), (RELEASE, "c")];
    for (storage, expected) in [
        (json!([]), "cleaned of c: 0 disks"),
        (json!([{"name": "Disk 1"}]), "failed: wiping: no disk was found, and 1 are known"),
    ] {
        let status =
            json!({"claimID": "c", "state": "Deprovisioning", "hardwareDetails": {"storage": storage}});
        let host = with_annotations(host(json!({"claimID": "c", "cleaning": "Full"}), status), &marks);
        let heard = on_errand(&host, "e", done.clone());
        assert!(heard.starts_with(expected), "{heard}");
    }
}

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
    match hear(&host, "c", &report, Known::default(), at(200)) {
        Heard::Goes(said) => format!("goes: {said}"),
        Heard::Installed(said) => format!("installed: {said}"),
        Heard::Failed(said) => format!("failed: {said}"),
        Heard::Inspected(inventory) => format!("inspected: {} disks", inventory.disks.len()),
        Heard::Cleaned { claim, cleaned } => format!("cleaned of {claim}: {} disks", cleaned.disks.len()),
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
fn an_image_that_was_to_be_compared_and_was_not_is_not_installed() {
    let configuration = |digest: &Value| -> HostBootConfiguration {
        serde_json::from_value(json!({
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "HostBootConfiguration",
            "metadata": {"name": "h", "generation": 1}, "spec": {"hostRef": {"name": "h"}},
            "status": {"state": "Ready", "observedGeneration": 1, "artifacts": [{"name": "image", "digest": digest}]},
        }))
        .unwrap()
    };
    let of_image = configuration(&json!("sha256:00ff"));
    let without = configuration(&json!(null));
    let mut not_ready = without.clone();
    not_ready.status = None;
    for (checksum, found, verified, expected) in [
        (json!(null), Some(&of_image), true, "installed"),
        (json!(null), Some(&of_image), false, "nonsense"),
        (json!("00ff"), Some(&of_image), false, "nonsense"),
        // It is told to compare by what was found; where that is not known, by what people asked for.
        (json!("00ff"), None, false, "nonsense"),
        (json!("00ff"), None, true, "installed"),
        (json!(null), Some(&without), false, "installed"),
        // Nobody knows here what it was told: it says so again.
        (json!(null), None, false, "not now"),
        (json!(null), Some(&not_ready), false, "not now"),
        (json!(null), None, true, "installed"),
    ] {
        let mut spec = held();
        spec["boot"] = json!({"install": {"image": "http://x/y.qcow2", "checksum": checksum}});
        let host = with_annotations(host(spec, json!(null)), &[(BOOTING, "c 100 on installed")]);
        let report = json!({"order": "install-100-1", "state": "done",
            "installed": {"disk": "/dev/vda", "written": 7, "verified": verified}});
        let report: Report = serde_json::from_value(report).unwrap();
        let heard = hear(&host, "c", &report, Known { configuration: found, ..Known::default() }, at(200));
        let word = match &heard {
            Heard::Installed(_) => "installed",
            Heard::Nonsense => "nonsense",
            Heard::NotNow => "not now",
            Heard::Goes(_)
            | Heard::Inspected(_)
            | Heard::Cleaned { .. }
            | Heard::Failed(_)
            | Heard::GoesDown
            | Heard::Late
            | Heard::NotWanted => "something else",
        };
        assert_eq!(word, expected, "{checksum} {found:?} {verified}: {heard:?}");
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
    assert_eq!(hear(&host, "c", &running, Known::default(), at(200)), Heard::Late, "it goes on");
    let done = json!({"state": "done", "installed": {"disk": "/dev/vda", "written": 7, "verified": true}});
    assert_eq!(hear(&host, "c", &report(done), Known::default(), at(200)), Heard::NotNow, "it says so again");
    let next = crate::agent::next(&host, "c", None, |_| false);
    assert_eq!(next, Ok(crate::agent::Next::Nothing), "nothing new is begun");
}

/// What follows from a report on an errand. `id` is the one that the agent's URL is of.
fn on_errand(host: &PhysicalHost, id: &str, report: Value) -> String {
    of_known(host, id, report, None)
}

/// The same, where an agent saw this of the machine before.
fn of_known(host: &PhysicalHost, id: &str, report: Value, inspected: Option<&Hardware>) -> String {
    match hear(
        host,
        id,
        &serde_json::from_value(report).unwrap(),
        Known { inspected, ..Known::default() },
        at(200),
    ) {
        Heard::Goes(said) => format!("goes: {said}"),
        Heard::Failed(said) => format!("failed: {said}"),
        Heard::Inspected(inventory) => format!("inspected: {} disks", inventory.disks.len()),
        Heard::Cleaned { claim, cleaned } => format!("cleaned of {claim}: {} disks", cleaned.disks.len()),
        other @ (Heard::Installed(_)
        | Heard::GoesDown
        | Heard::Late
        | Heard::NotNow
        | Heard::NotWanted
        | Heard::Nonsense) => format!("{other:?}"),
    }
}

#[test]
fn an_agent_that_says_the_same_again_came_no_further_since_it_said_so_first() {
    use beskar7_api::annotations::AGENT;
    let since = |said: &str, done: u64| {
        let mut spec = held();
        spec["boot"] = json!({"install": {"image": "http://x/y.qcow2"}});
        let marks = [(BOOTING, "c 100 on installed"), (AGENT, said)];
        let host = with_annotations(host(spec, json!(null)), &marks);
        let report = json!({"order": "install-100-1", "state": "running", "step": "writing", "done": done});
        match hear(&host, "c", &serde_json::from_value(report).unwrap(), Known::default(), at(200)) {
            Heard::Goes(said) => {
                serde_json::from_str::<Value>(&said.to_annotation()).unwrap()["since"].clone()
            }
            other @ (Heard::Installed(_)
            | Heard::Inspected(_)
            | Heard::Cleaned { .. }
            | Heard::Failed(_)
            | Heard::GoesDown
            | Heard::Late
            | Heard::NotNow
            | Heard::NotWanted
            | Heard::Nonsense) => panic!("{other:?}"),
        }
    };
    let before = |order: &str| {
        json!({"claim": "c", "second": 170, "order": order, "state": "running", "step": "writing", "done": 7, "since": 140})
            .to_string()
    };
    assert_eq!(since(&before("install-100-1"), 7), json!(140));
    assert_eq!(since(&before("install-100-1"), 8), json!(200));
    assert_eq!(since(&before("install-90-1"), 7), json!(200), "it was begun anew");
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

const OWN: &str = "4c4c4544-0035-3410-8050-c6c04f314733";
const OTHER: &str = "38947555-7742-3448-3784-823347823834";
const THIRD: &str = "48947555-7742-3448-3784-823347823834";

/// A host that is cleaned on the errand `e`, whose BMC tells of these disks.
fn cleaned(storage: Value) -> PhysicalHost {
    use beskar7_api::annotations::{ERRAND, RELEASE};
    let marks = [(ERRAND, "clean-full e 100 on"), (RELEASE, "c")];
    let status = json!({"claimID": "c", "state": "Deprovisioning", "hardwareDetails": {"storage": storage, "uuid": OWN}});
    with_annotations(host(json!({"claimID": "c", "cleaning": "Full"}), status), &marks)
}

#[test]
fn a_controller_that_nothing_drives_keeps_a_host_back_where_somebody_demands_clean_disks() {
    use beskar7_api::annotations::{CLEANING, ERRAND, RELEASE};
    let controller = |number: usize| json!({"address": format!("0000:0{number}:00.0"), "vendor": "1000", "device": "0097", "class": "010700"});
    let (none, one) = (json!([]), json!([controller(1)]));
    let many: Value = (1..=5).map(controller).collect();
    let hidden = "failed: wiping: what is behind storage controllers";
    let (host_says, nobody) = (json!("Metadata"), json!(null));
    let (by_policy, by_none) = (Some((CLEANING, "Metadata")), None);
    for (policy, cleaning, undriven, expected) in [
        (by_none, &host_says, &none, "cleaned of c: 1 disks"),
        (by_none, &host_says, &one, hidden),
        (by_policy, &nobody, &one, hidden),
        (by_policy, &json!("None"), &one, hidden),
        (Some((CLEANING, "None")), &nobody, &one, "cleaned of c: 1 disks"),
        // What is only usual keeps no host back for a controller that may have no disks.
        (by_none, &nobody, &one, "cleaned of c: 1 disks"),
        (by_none, &host_says, &many, hidden),
    ] {
        let marks = [(ERRAND, "clean-metadata e 100 on"), (RELEASE, "c")];
        let marks: Vec<_> = marks.into_iter().chain(policy).collect();
        let spec = json!({"claimID": "c", "cleaning": cleaning});
        let host = with_annotations(host(spec, json!({"claimID": "c", "state": "Deprovisioning"})), &marks);
        // The NVMe disk is wiped, and nobody has inspected the machine.
        let disks = json!([{"disk": "/dev/nvme0n1", "method": "metadata", "serialNumber": "A"}]);
        let done = json!({"order": "clean-100-1", "state": "done",
            "cleaned": {"disks": disks, "undriven": undriven}});
        let heard = on_errand(&host, "e", done);
        assert!(heard.starts_with(expected), "{policy:?} {cleaning} {undriven}: {heard}");
        if heard.starts_with(hidden) {
            for part in ["0000:01:00.0 (1000:0097)", "modules", "/cleaned to c", "spec.cleaning None"] {
                assert!(heard.contains(part), "{part}: {heard}");
            }
            assert!(heard.len() < 1024, "it is not cut off: {heard}");
        }
        assert_eq!(heard.contains(", and 2 more"), undriven == &many, "{heard}");
    }
}

#[test]
fn a_machine_whose_disks_are_not_seen_is_not_clean() {
    let (none, one, two) = (json!([]), json!(["A"]), json!(["A", "B"]));
    let nobody_knows = "failed: wiping: no disk was found, and nobody knows";
    for (told, inspected, wiped, expected) in [
        (0, None, &none, nobody_knows),
        (0, Some((&none, OWN)), &none, "cleaned of c: 0 disks"),
        (0, Some((&none, OTHER)), &none, nobody_knows),
        (1, None, &none, "failed: wiping: no disk was found, and 1 are known"),
        (1, Some((&none, OWN)), &none, "failed: wiping: no disk was found, and 1 are known"),
        (0, Some((&two, OWN)), &none, "failed: wiping: no disk was found, and 2 are known"),
        // Behind a RAID controller the BMC tells of others than the machine sees.
        (12, None, &one, "cleaned of c: 1 disks"),
        (12, Some((&one, OWN)), &one, "cleaned of c: 1 disks"),
        (0, Some((&one, OWN)), &two, "cleaned of c: 2 disks"),
        (
            0,
            Some((&two, OWN)),
            &one,
            "failed: wiping: 1 of the 2 disks that the agent saw when it inspected the machine were not found: B.",
        ),
        (
            0,
            Some((&two, OWN)),
            &json!(["C", "D"]),
            "failed: wiping: 2 of the 2 disks that the agent saw when it inspected the machine were not found: A, B.",
        ),
        // Namespaces of one disk, and disks that have no serial number.
        (
            0,
            Some((&json!(["A", "A"]), OWN)),
            &one,
            "failed: wiping: 1 of the 2 disks that the agent saw when it inspected the machine were not found: A.",
        ),
        (0, Some((&json!([null, null]), OWN)), &json!([null, ""]), "cleaned of c: 2 disks"),
        (
            0,
            Some((&json!(["A", null]), OWN)),
            &one,
            "failed: wiping: 1 of the 2 disks that the agent saw when it inspected the machine were not found: one without",
        ),
        // What was inspected is another machine.
        (0, Some((&two, OTHER)), &one, "cleaned of c: 1 disks"),
    ] {
        let of = |serials: &Value, method: Option<&str>| -> Vec<Value> {
            let disk = |serial: &Value| json!({"disk": "/dev/sda", "method": method, "serialNumber": serial});
            serials.as_array().unwrap().iter().map(disk).collect()
        };
        let seen = inspected.map(|(serials, uuid)| -> Hardware {
            serde_json::from_value(json!({"uuid": uuid, "storage": of(serials, None)})).unwrap()
        });
        let storage = vec![json!({"name": "Disk"}); told];
        let done =
            json!({"order": "clean-100-1", "state": "done", "cleaned": of(wiped, Some("overwritten"))});
        let heard = of_known(&cleaned(json!(storage)), "e", done, seen.as_ref());
        assert!(heard.starts_with(expected), "{told} {inspected:?} {wiped}: {heard}");
        if heard.contains("were not found") {
            for part in ["annotation beskar7.infrastructure.cluster.x-k8s.io/cleaned to c", "/inspected off"]
            {
                assert!(heard.contains(part), "{part}: {heard}");
            }
        }
    }
}

#[test]
fn what_another_machine_says_counts_for_nothing_but_that_it_is_another_one() {
    use beskar7_api::annotations::MACHINE_UUID;
    let wiped = json!({"state": "done", "cleaned": [{"disk": "/dev/sda", "method": "overwritten"}]});
    let running = json!({"state": "running", "step": "wiping"});
    let failed = json!({"state": "failed", "step": "s", "message": "m"});
    let gone = json!({"state": "done", "goingDown": null});
    let swapped = "44454c4c-3500-1034-8050-c6c04f314733";
    for (machine, order, report, expected) in [
        (json!(null), "clean-100-1", &wiped, "cleaned of c: 1 disks"),
        (json!(OWN.to_uppercase()), "clean-100-1", &wiped, "cleaned of c: 1 disks"),
        (json!(swapped), "clean-100-1", &wiped, "cleaned of c: 1 disks"),
        (json!("03000200-0400-0500-0006-000700080009"), "clean-100-1", &wiped, "cleaned of c: 1 disks"),
        (json!(OTHER), "clean-100-1", &wiped, "failed: comparing UUIDs: the machine of this host"),
        (json!(OTHER), "clean-100-1", &failed, "failed: comparing UUIDs: the machine of this host"),
        (json!(OTHER), "clean-100-1", &running, "NotWanted"),
        (json!(OTHER), "power-off-100-1", &gone, "Late"),
        (json!(OTHER), "power-off-100-1", &failed, "Late"),
        (json!(OTHER), "clean-99-1", &wiped, "NotWanted"),
    ] {
        let mut report = report.clone();
        (report["order"], report["machine"]) = (json!(order), machine.clone());
        let heard = on_errand(&cleaned(json!([])), "e", report.clone());
        assert!(heard.starts_with(expected), "{machine} {order} {report}: {heard}");
        if heard.starts_with("failed") {
            for part in [OWN, OTHER, "spec.bootMACAddress", MACHINE_UUID] {
                assert!(heard.contains(part), "{part}: {heard}");
            }
        }
    }
    let mut host = cleaned(json!([]));
    let mut came = failed.clone();
    (came["order"], came["machine"]) = (json!("clean-100-1"), json!(OTHER));
    let came = serde_json::from_value(came).unwrap();
    let Heard::Failed(said) = hear(&host, "e", &came, Known::default(), at(150)) else {
        panic!("it is not written down that another one came")
    };
    host.metadata.annotations.get_or_insert_default().insert(AGENT.to_owned(), said.to_annotation());
    for (machine, report, expected) in [
        (OTHER, &failed, "Late"),
        (OTHER, &wiped, "Late"),
        (THIRD, &running, "NotWanted"),
        (THIRD, &wiped, "failed: comparing UUIDs: the machine of this host"),
        (OWN, &running, "goes: "),
        (OWN, &failed, "failed: s: m"),
        (OWN, &wiped, "cleaned of c: 1 disks"),
    ] {
        let mut report = report.clone();
        (report["order"], report["machine"]) = (json!("clean-100-1"), json!(machine));
        let heard = on_errand(&host, "e", report.clone());
        assert!(heard.starts_with(expected), "another one came before: {machine} {report}: {heard}");
    }
}

//! What follows from each thing that an agent may say.

use beskar7_api::annotations::{BOOTING, HEARD, PAUSED, PROVISIONED};
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
        other @ (Heard::GoesDown | Heard::Late | Heard::NotNow | Heard::NotWanted | Heard::Nonsense) => {
            format!("{other:?}")
        }
    }
}

#[test]
fn a_report_counts_for_the_order_that_it_is_about() {
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

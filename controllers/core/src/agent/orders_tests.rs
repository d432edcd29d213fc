//! What the agent is told, by what stands on its host.

use beskar7_api::annotations::{AGENT, BOOTING, HEARD, PAUSED, PROVISIONED};
use serde_json::{Value, json};

use super::*;
use crate::host::samples::{held, host, with_annotations};

const BEGUN: (&str, &str) = (BOOTING, "c 100 on installed");

fn to_install(boot: Value, hints: Value) -> Value {
    let mut spec = held();
    spec["boot"] = json!({"install": {"image": "http://x/y.qcow2", "format": "qcow2"}});
    crate::claim::samples::merge(&mut spec["boot"], boot);
    spec["rootDeviceHints"] = hints;
    spec
}

fn configuration(state: &str, artifacts: Value) -> HostBootConfiguration {
    serde_json::from_value(json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "HostBootConfiguration",
        "metadata": {"name": "h", "generation": 1}, "spec": {"hostRef": {"name": "h"}},
        "status": {"state": state, "observedGeneration": 1, "artifacts": artifacts},
    }))
    .unwrap()
}

fn ready(digest: Value) -> HostBootConfiguration {
    configuration("Ready", json!([{"name": "kernel"}, {"name": "image", "pin": "p", "digest": digest}]))
}

fn told(
    spec: Value,
    marks: &[(&str, &str)],
    found: Option<&HostBootConfiguration>,
) -> Result<Value, NotReady> {
    let host = with_annotations(host(spec, json!(null)), marks);
    Ok(match next(&host, "c", found, |_| false)? {
        Next::Nothing => Value::Null,
        Next::Work(order) | Next::Restart(order) | Next::PowerOff(order) => {
            serde_json::to_value(order).unwrap()
        }
    })
}

#[test]
fn it_installs_what_its_host_was_made_ready_for() {
    let found = ready(json!("sha256:00ff"));
    let spec = to_install(json!({"configVolume": "config-2"}), json!(null));
    assert_eq!(
        told(spec, &[(BOOTING, "c 100 try-3 on installed")], Some(&found)).unwrap(),
        json!({
            "id": "install-100-3", "task": "install", "disk": {},
            "image": {"path": "image", "format": "qcow2", "checksum": {"algorithm": "sha256", "digest": "00ff"}},
            "configuration": {"path": "volume/config-2.iso", "label": "config-2"},
        })
    );
    let plain = told(
        to_install(json!({"install": {"format": null}}), json!(null)),
        &[BEGUN],
        Some(&ready(json!(null))),
    );
    assert_eq!(plain.unwrap()["image"], json!({"path": "image", "format": "auto"}));
}

#[test]
fn an_order_names_the_machine_that_it_is_for_where_that_can_be_told() {
    use beskar7_api::annotations::{ERRAND, INSPECTED, MACHINE_UUID};
    let (real, other) = ("4C4C4544-0035-3410-8050-C6C04F314733", "38947555-7742-3448-3784-823347823834");
    let small = real.to_lowercase();
    for (told, by_people, expected) in [
        (json!(null), None, None),
        (json!(real), None, Some(small.as_str())),
        (json!("03000200-0400-0500-0006-000700080009"), None, None),
        (json!("moonlight"), None, None),
        // The BMC tells another one than the firmware.
        (json!(other), Some(real), Some(small.as_str())),
        (json!(real), Some("none"), None),
        (json!(real), Some(" None "), None),
        // What is no UUID turns nothing off.
        (json!(real), Some("38947555-7742"), Some(small.as_str())),
        (json!(real), Some("03000200-0400-0500-0006-000700080009"), Some(small.as_str())),
        (json!(real), Some(""), Some(small.as_str())),
        (json!(null), Some("moonlight"), None),
    ] {
        for inspected in [None, Some((INSPECTED, "5"))] {
            let marks = [(ERRAND, "inspect e 100 on")].into_iter().chain(inspected);
            let marks: Vec<_> = marks.chain(by_people.map(|uuid| (MACHINE_UUID, uuid))).collect();
            let status = json!({"hardwareDetails": {"uuid": told}});
            let host = with_annotations(host(json!({}), status), &marks);
            let (Next::Work(order) | Next::PowerOff(order)) = next(&host, "e", None, |_| false).unwrap()
            else {
                panic!("nothing is told")
            };
            assert_eq!(order.machine.as_deref(), expected, "{told} {by_people:?}");
        }
    }
}

#[test]
fn the_hosts_hints_hold_where_the_consumer_is_silent() {
    let mine = json!({"install": {"rootDeviceHints": {"minSizeGigabytes": 100, "model": "mine"}}});
    let theirs = json!({"deviceName": "/dev/sdb", "model": "theirs", "rotational": false});
    let found = told(to_install(mine, theirs), &[BEGUN], Some(&ready(json!(null)))).unwrap();
    assert_eq!(
        found["disk"],
        json!({"deviceName": "/dev/sdb", "model": "mine", "minSizeGigabytes": 100, "rotational": false})
    );
}

#[test]
fn what_it_is_told_follows_from_what_stands_on_its_host() {
    let failed =
        r#"{"claim": "c", "second": 1, "order": "install-100-1", "state": "failed", "message": "why"}"#;
    let of_another = failed.replace("\"why\"", "\"why\", \"another\": \"u\"");
    let of_before = failed.replace("install-100-1", "install-90-1");
    let restart = json!({"id": "restart-100-1", "task": "reboot"});
    let found = ready(json!(null));
    for (marks, expected) in [
        (vec![], Some(Value::Null)),
        (vec![BEGUN], None),
        (vec![BEGUN, (AGENT, &of_before)], None),
        (vec![BEGUN, (AGENT, failed)], Some(Value::Null)),
        (vec![BEGUN, (AGENT, &of_another)], None),
        (vec![BEGUN, (HEARD, "c installed=101")], Some(restart.clone())),
        (vec![BEGUN, (HEARD, "c installed=101 restarting=102")], Some(restart)),
        (vec![BEGUN, (HEARD, "old installed=101")], None),
        (vec![BEGUN, (PAUSED, "")], Some(Value::Null)),
        (vec![(PROVISIONED, "c")], Some(Value::Null)),
    ] {
        let told = told(to_install(json!({}), json!(null)), &marks, Some(&found)).unwrap();
        match expected {
            Some(expected) => assert_eq!(told, expected, "{marks:?}"),
            None => assert_eq!(told["id"], "install-100-1", "{marks:?}"),
        }
    }
    let host = with_annotations(host(to_install(json!({}), json!(null)), json!(null)), &[BEGUN]);
    let here = next(&host, "c", Some(&found), |word| word == Word::Installed);
    assert!(matches!(here, Ok(Next::Restart(_))), "{here:?}");
    assert_eq!(next(&host, "another", Some(&found), |_| false), Ok(Next::Nothing));
    assert_eq!(told(held(), &[BEGUN], Some(&found)), Ok(Value::Null), "a host that boots something else");
}

#[test]
fn nothing_is_installed_that_was_not_looked_at() {
    for found in [
        None,
        Some(configuration("Pending", json!([{"name": "image"}]))),
        Some(configuration("Error", json!([]))),
        Some(configuration("Ready", json!([{"name": "kernel"}]))),
    ] {
        assert_eq!(told(to_install(json!({}), json!(null)), &[BEGUN], found.as_ref()), Err(NotReady));
    }
}

#[test]
fn on_an_errand_it_is_told_what_it_was_started_for_and_then_to_turn_the_machine_off() {
    use beskar7_api::annotations::{CLEANED, ERRAND, INSPECTED, RELEASE};
    let inspects = |marks: &[(&str, &str)]| with_annotations(host(json!({}), json!(null)), marks);
    let leaves = |cleaning: Value, marks: &[(&str, &str)]| {
        let marks: Vec<_> = marks.iter().copied().chain([(RELEASE, "c")]).collect();
        let spec = json!({"claimID": "c", "cleaning": cleaning});
        with_annotations(host(spec, json!({"claimID": "c", "state": "Deprovisioning"})), &marks)
    };
    let failed =
        r#"{"claim": "e", "second": 1, "order": "inspect-100-1", "state": "failed", "message": "why"}"#;
    let (inspect, metadata, full) =
        ((ERRAND, "inspect e 100 on"), (ERRAND, "clean-metadata e 100 on"), (ERRAND, "clean-full e 100 on"));
    let off = json!({"id": "power-off-100-1", "task": "powerOff"});
    for (host, expected) in [
        (inspects(&[inspect]), json!({"id": "inspect-100-1", "task": "inspect"})),
        (inspects(&[(ERRAND, "inspect e")]), json!(null)),
        (inspects(&[inspect, (INSPECTED, "5")]), off.clone()),
        (inspects(&[inspect, (AGENT, failed)]), json!(null)),
        (inspects(&[inspect, (PAUSED, "")]), json!(null)),
        (leaves(json!(null), &[metadata]), json!({"id": "clean-100-1", "task": "clean", "how": "metadata"})),
        (leaves(json!("Full"), &[full]), json!({"id": "clean-100-1", "task": "clean", "how": "full"})),
        (leaves(json!("Full"), &[metadata]), json!(null)),
        (leaves(json!(null), &[metadata, (CLEANED, "c")]), off),
    ] {
        let told = match next(&host, "e", None, |_| false).unwrap() {
            Next::Nothing => Value::Null,
            Next::Work(order) | Next::Restart(order) | Next::PowerOff(order) => {
                serde_json::to_value(order).unwrap()
            }
        };
        assert_eq!(told, expected, "{:?}", host.metadata.annotations);
        assert_eq!(
            next(&host, "c", None, |_| false),
            Ok(Next::Nothing),
            "the claim's own URL is good for nothing"
        );
    }
}

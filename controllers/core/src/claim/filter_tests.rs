//! Tables over the filter.

use beskar7_api::{
    boot::BootParameterMechanism::{self, ISOOverlay, UefiTarget},
    physical_host::Reservation,
    selector::{HardwareRequirements, LabelSelector},
};
use serde_json::json;

use super::{
    super::samples::{host, wish},
    *,
};

const ID: &str = "0123456789abcdef0123456789abcdef";

fn verdict(wish: &Wish<'_>, patch: serde_json::Value) -> Verdict {
    judge(wish, &Candidate::new(&host("h", patch)))
}

#[test]
fn a_host_is_free_and_usable_or_not_for_one_reason() {
    use Rejection::*;
    let state = |state: &str| json!({"status": {"state": state}});
    let annotation = |name: &str| json!({"metadata": {"annotations": {name: ""}}});
    for (patch, expected) in [
        (json!({}), None),
        (state("Deprovisioning"), Some(Deprovisioning)),
        (state("Claimed"), Some(Claimed)),
        (state("Provisioning"), Some(Claimed)),
        (state("Provisioned"), Some(Claimed)),
        (state("Enrolling"), Some(Enrolling)),
        (state("Inspecting"), Some(Enrolling)),
        (state("Error"), Some(InError)),
        (state("Unknown"), Some(StateUnknown)),
        (json!({"status": null}), Some(StateUnknown)),
        (json!({"spec": {"claimID": ID}}), Some(Claimed)),
        (json!({"spec": {"consumerRef": {"kind": "HostClaim", "name": "c"}}}), Some(Claimed)),
        (json!({"status": {"claimID": ID}}), Some(Claimed)),
        (
            json!({
                "metadata": {"annotations": {"beskar7.infrastructure.cluster.x-k8s.io/release": ID}},
                "spec": {"claimID": ID},
            }),
            Some(Deprovisioning),
        ),
        (json!({"metadata": {"annotations": {"beskar7.infrastructure.cluster.x-k8s.io/release": ID}}}), None),
        (json!({"spec": {"externallyProvisioned": true}}), Some(ExternallyProvisioned)),
        (json!({"status": {"hardwareDetails": {"status": {"health": "Critical"}}}}), Some(Unhealthy)),
        (json!({"status": {"hardwareDetails": {"status": {"healthRollup": "Critical"}}}}), Some(Unhealthy)),
        (
            json!({"status": {"conditions": [{
                "type": "RedfishConnectionReady", "status": "False", "reason": "RedfishConnectionFailed",
                "message": "", "lastTransitionTime": "2026-11-16T00:00:00Z",
            }]}}),
            Some(Unhealthy),
        ),
        (json!({"spec": {"cordoned": "new fans"}}), Some(Cordoned)),
        (annotation("cluster.x-k8s.io/paused"), Some(OnHold)),
        (annotation("clusterctl.cluster.x-k8s.io/delete-for-move"), Some(OnHold)),
        (json!({"metadata": {"deletionTimestamp": "2026-11-16T00:00:00Z"}}), Some(Deleting)),
        (
            json!({"spec": {"reservedFor": {"kind": "Beskar7Cluster", "namespace": "t", "name": "c"}}}),
            Some(Reserved),
        ),
        // Several at once: the first in the order.
        (json!({"spec": {"cordoned": "x"}, "status": {"state": "Provisioned"}}), Some(Claimed)),
        (
            json!({"metadata": {"deletionTimestamp": "2026-11-16T00:00:00Z"}, "spec": {"cordoned": "x"}}),
            Some(Cordoned),
        ),
    ] {
        let expected = expected.map_or(Verdict::Fits, Verdict::Rejected);
        assert_eq!(verdict(&wish(), patch.clone()), expected, "{patch}");
    }
}

#[test]
fn a_host_fits_the_wish_or_not_for_one_reason() {
    use Rejection::*;
    let requirements: HardwareRequirements = serde_json::from_value(
        json!({"minCPUCores": 16, "minMemoryGB": 64, "minDiskGB": 480, "architecture": "amd64"}),
    )
    .unwrap();
    let selector: LabelSelector = serde_json::from_value(json!({"matchLabels": {"rack": "r1"}})).unwrap();
    let wish =
        Wish { requirements: Some(&requirements), selector: Some(&selector), zone: Some("a"), ..wish() };
    let hardware = |patch: serde_json::Value| json!({"status": {"hardwareDetails": patch}});
    for (patch, expected) in [
        (json!({}), None),
        (json!({"metadata": {"labels": {"rack": "r2"}}}), Some(Labels)),
        (json!({"metadata": {"labels": {"topology.kubernetes.io/zone": "b"}}}), Some(Zone)),
        (json!({"metadata": {"labels": {"topology.kubernetes.io/zone": null}}}), Some(Zone)),
        (json!({"metadata": {"labels": null}}), Some(Labels)),
        (hardware(json!({"cpu": {"cores": 15}})), Some(Cores)),
        (hardware(json!({"cpu": null})), Some(CoresUnknown)),
        (hardware(json!({"memory": {"totalMiB": 65535}})), Some(Memory)),
        (hardware(json!({"memory": null})), Some(MemoryUnknown)),
        (hardware(json!({"storage": [{"sizeBytes": 479_999_999_999_u64}]})), Some(Disk)),
        (hardware(json!({"storage": []})), Some(DiskUnknown)),
        (hardware(json!({"storage": [{}]})), Some(DiskUnknown)),
        (hardware(json!({"cpu": {"architecture": "arm64"}})), Some(Architecture)),
        (hardware(json!({"cpu": {"architecture": null}})), Some(ArchitectureUnknown)),
        (
            json!({"spec": {"architecture": "amd64"}, "status": {"hardwareDetails": {"cpu": {"architecture": null}}}}),
            None,
        ),
        (json!({"status": {"hardwareDetails": null}}), Some(CoresUnknown)),
    ] {
        let expected = expected.map_or(Verdict::Fits, Verdict::Rejected);
        assert_eq!(verdict(&wish, patch.clone()), expected, "{patch}");
    }
}

#[test]
fn kernel_parameters_must_reach_the_kernel_where_there_are_any() {
    let by = |way: BootParameterMechanism| json!({"spec": {"bootParameterMechanism": way.name()}});
    let unsaid = json!({});
    let ways: [Option<&[BootParameterMechanism]>; 4] =
        [None, Some(&[UefiTarget]), Some(&[ISOOverlay, UefiTarget]), Some(&[])];
    for (patch, fits) in [
        (unsaid, [true, false, true, false]),
        (by(ISOOverlay), [true, false, true, false]),
        (by(UefiTarget), [true, true, true, false]),
    ] {
        for (parameters_by, fits) in ways.into_iter().zip(fits) {
            let expected = if fits { Verdict::Fits } else { Verdict::Rejected(Rejection::BootParameters) };
            let wish = Wish { parameters_by, ..wish() };
            assert_eq!(verdict(&wish, patch.clone()), expected, "{patch} for {parameters_by:?}");
        }
    }
    // After the zone, before the size.
    let requirements: HardwareRequirements = serde_json::from_value(json!({"minCPUCores": 99})).unwrap();
    let picky = Wish { parameters_by: Some(&[UefiTarget]), requirements: Some(&requirements), ..wish() };
    assert_eq!(verdict(&picky, json!({})), Verdict::Rejected(Rejection::BootParameters));
    let zoned = Wish { zone: Some("b"), ..picky };
    assert_eq!(verdict(&zoned, json!({})), Verdict::Rejected(Rejection::Zone));
}

#[test]
fn a_reserved_host_is_for_one_only_and_that_one_gets_no_other() {
    let reservation =
        |name: &str| Reservation { kind: "Beskar7Cluster".into(), namespace: "t".into(), name: name.into() };
    let (mine, other) = (reservation("mine"), reservation("other"));
    let kept = |name: &str| json!({"spec": {"reservedFor": {"kind": "Beskar7Cluster", "namespace": "t", "name": name}}});
    let only = |reservation| Wish { reservation: ReservationRule::Only(reservation), ..wish() };
    for (wish, patch, expected) in [
        (wish(), json!({}), Verdict::Fits),
        (wish(), kept("mine"), Verdict::Rejected(Rejection::Reserved)),
        (only(&mine), kept("mine"), Verdict::Fits),
        (only(&mine), json!({}), Verdict::Rejected(Rejection::NotTheReserved)),
        (only(&other), kept("mine"), Verdict::Rejected(Rejection::Reserved)),
    ] {
        assert_eq!(verdict(&wish, patch.clone()), expected, "{patch}");
    }
}

#[test]
fn what_a_wish_may_not_know_of_is_out_of_sight() {
    let pool: LabelSelector = serde_json::from_value(json!({"matchLabels": {"pool": "gpu"}})).unwrap();
    let pooled = Wish { pool: Some(&pool), ..wish() };
    let named = |name| Wish { host: Some(name), ..wish() };
    let elsewhere = json!({"metadata": {"namespace": "secret"}});
    for (wish, patch, expected) in [
        (wish(), elsewhere.clone(), Verdict::OutOfSight),
        (named("h"), elsewhere, Verdict::OutOfSight),
        (named("h"), json!({}), Verdict::Fits),
        (named("g"), json!({}), Verdict::OutOfSight),
        (pooled, json!({}), Verdict::OutOfSight),
        (pooled, json!({"metadata": {"labels": {"pool": "gpu"}}}), Verdict::Fits),
        // Not even that it is claimed.
        (pooled, json!({"spec": {"claimID": ID}}), Verdict::OutOfSight),
    ] {
        assert_eq!(verdict(&wish, patch.clone()), expected, "{patch}");
    }
}

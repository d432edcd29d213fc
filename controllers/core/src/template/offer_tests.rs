use serde_json::{Value, json};

use super::*;
use crate::claim::samples::{host, merge};

fn template(patch: Value) -> Beskar7MachineTemplate {
    let mut template = json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1",
        "kind": "Beskar7MachineTemplate",
        "metadata": {"name": "t", "namespace": "metal"},
        "spec": {"template": {"spec": {"provisioningMode": "PreBakedISO", "imageURL": "http://i/node.iso"}}},
    });
    merge(&mut template, patch);
    serde_json::from_value(template).unwrap()
}

fn wants(spec: Value) -> Offering {
    Offering::new(
        &template(json!({"spec": {"template": {"spec": spec}}})),
        None,
        Delivery::Off,
        &BTreeSet::new(),
    )
}

fn cluster(pool: Value) -> Beskar7Cluster {
    serde_json::from_value(json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "Beskar7Cluster",
        "metadata": {"name": "c", "namespace": "metal"}, "spec": {"hostPool": pool},
    }))
    .unwrap()
}

/// 8 cores with 12 threads and 32 GiB, on another rack.
fn small() -> PhysicalHost {
    host(
        "small",
        json!({
            "metadata": {"labels": {"rack": "r2"}},
            "status": {"hardwareDetails": {"cpu": {"cores": 8, "threads": 12}, "memory": {"totalMiB": 32768}}},
        }),
    )
}

/// More processors and less memory than others, and of another architecture.
fn odd() -> PhysicalHost {
    let cpu = json!({"cores": 64, "architecture": "arm64"});
    host("odd", json!({"status": {"hardwareDetails": {"cpu": cpu, "memory": {"totalMiB": 16384}}}}))
}

/// As one text: `<cpu> <memory> <architecture>`.
fn told(status: &Beskar7MachineTemplateStatus) -> String {
    let Some(info) = &status.node_info else {
        assert!(status.capacity.is_empty());
        return "nothing".to_owned();
    };
    assert_eq!(info.operating_system.as_deref(), Some("linux"));
    format!("{} {} {:?}", status.capacity["cpu"].0, status.capacity["memory"].0, info.architecture)
}

#[test]
fn a_template_offers_the_least_of_the_hosts_that_it_could_get() {
    let hosts = [host("big", json!({})), small(), odd()];
    let known = |numbers: &[usize]| -> Vec<PhysicalHost> {
        numbers.iter().map(|number| hosts[*number].clone()).collect()
    };
    for (wanted, of, expected) in [
        (json!({}), known(&[]), "nothing"),
        (json!({}), known(&[0]), "16 65536Mi Some(Amd64)"),
        (json!({}), known(&[0, 1]), "12 32768Mi Some(Amd64)"),
        (json!({}), known(&[1, 0]), "12 32768Mi Some(Amd64)"),
        (json!({}), known(&[0, 2]), "16 16384Mi None"),
        (json!({}), known(&[2, 0, 1]), "12 16384Mi None"),
        (
            json!({"hostSelector": {"matchLabels": {"rack": "r2"}}}),
            known(&[0, 1, 2]),
            "12 32768Mi Some(Amd64)",
        ),
        (json!({"hostSelector": {"matchLabels": {"rack": "r3"}}}), known(&[0, 1, 2]), "nothing"),
        (json!({"hardwareRequirements": {"minMemoryGB": 64}}), known(&[0, 1, 2]), "16 65536Mi Some(Amd64)"),
        (json!({"hardwareRequirements": {"minCPUCores": 16}}), known(&[0, 1, 2]), "16 16384Mi None"),
        (
            json!({"hardwareRequirements": {"architecture": "arm64"}}),
            known(&[0, 1, 2]),
            "64 16384Mi Some(Arm64)",
        ),
        (json!({"hostSelector": {"inNamespace": "elsewhere"}}), known(&[0, 1, 2]), "nothing"),
    ] {
        assert_eq!(told(&offer(&wants(wanted.clone()), &of)), expected, "{wanted}");
    }
}

#[test]
fn a_host_counts_by_what_it_is_and_not_by_how_it_is_today() {
    let unknown = json!({"status": {"hardwareDetails": {"cpu": null}}});
    let half_known = json!({"status": {"hardwareDetails": {"memory": {"totalMiB": null}}}});
    for (patch, counts) in [
        (json!({}), true),
        (
            json!({"spec": {"consumerRef": {"name": "m"}, "claimID": "c1"}, "status": {"state": "Provisioned"}}),
            true,
        ),
        (json!({"spec": {"cordoned": "a fan"}}), true),
        (json!({"status": {"hardwareDetails": {"status": {"health": "Critical"}}}}), true),
        (json!({"status": {"state": "Deprovisioning"}}), true),
        (
            json!({"spec": {"reservedFor": {"kind": "Beskar7Cluster", "namespace": "metal", "name": "c"}}}),
            true,
        ),
        (json!({"spec": {"externallyProvisioned": true}}), false),
        (json!({"metadata": {"namespace": "elsewhere"}}), false),
        (json!({"status": null}), false),
        (unknown, false),
        (half_known, false),
    ] {
        let found = told(&offer(&wants(json!({})), [&host("h", patch.clone())]));
        assert_eq!(found != "nothing", counts, "{patch}");
    }
}

#[test]
fn an_architecture_that_one_host_does_not_tell_is_not_promised() {
    let silent = host("h", json!({"status": {"hardwareDetails": {"cpu": {"architecture": null}}}}));
    assert_eq!(told(&offer(&wants(json!({})), [&host("a", json!({})), &silent])), "16 65536Mi None");
    let declared = host(
        "h",
        json!({"spec": {"architecture": "amd64"}, "status": {"hardwareDetails": {"cpu": {"architecture": null}}}}),
    );
    assert_eq!(told(&offer(&wants(json!({})), [&declared])), "16 65536Mi Some(Amd64)");
}

#[test]
fn a_template_of_a_cluster_knows_the_hosts_of_its_pool_only() {
    let hosts = [host("big", json!({})), small()];
    for (pool, expected) in [
        (json!({}), "12 32768Mi Some(Amd64)"),
        (json!({"selector": {"matchLabels": {"rack": "r1"}}}), "16 65536Mi Some(Amd64)"),
        (json!({"namespace": "metal"}), "12 32768Mi Some(Amd64)"),
        // Of another namespace only what a policy allows: none is read yet.
        (json!({"namespace": "elsewhere"}), "nothing"),
    ] {
        let offering = Offering::new(
            &template(json!({})),
            Some(&cluster(pool.clone())),
            Delivery::Off,
            &BTreeSet::new(),
        );
        assert_eq!(told(&offer(&offering, &hosts)), expected, "{pool}");
    }
}

#[test]
fn a_template_is_looked_at_again_for_hardware_and_labels_only() {
    let offering = wants(json!({"hostSelector": {"matchLabels": {"rack": "r1"}}}));
    let plain = host("h", json!({}));
    let claimed = host("h", json!({"spec": {"claimID": "c1"}, "status": {"state": "Claimed"}}));
    let elsewhere = host("h", json!({"metadata": {"labels": {"rack": "r9"}}}));
    let larger = host("h", json!({"status": {"hardwareDetails": {"memory": {"totalMiB": 99999}}}}));
    let unread = host("h", json!({"status": null}));
    for (before, after, expected) in [
        (None, Some(&plain), true),
        (Some(&plain), None, true),
        (Some(&plain), Some(&claimed), false),
        (Some(&plain), Some(&elsewhere), true),
        (Some(&elsewhere), Some(&plain), true),
        (Some(&plain), Some(&larger), true),
        (None, Some(&elsewhere), false),
        (None, Some(&unread), false),
        (Some(&unread), Some(&plain), true),
    ] {
        assert_eq!(concerned_by_host(&offering, before, after), expected, "{before:?} {after:?}");
    }
}

#[test]
fn the_cluster_of_a_template_is_its_owner_or_its_label() {
    let owner = |kind: &str, name: &str| json!([{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": kind, "name": name, "uid": "u"}]);
    for (metadata, expected) in [
        (json!({}), None),
        (json!({"ownerReferences": owner("Cluster", "c")}), Some("c")),
        (json!({"ownerReferences": owner("ClusterClass", "c")}), None),
        (json!({"labels": {"cluster.x-k8s.io/cluster-name": "l"}}), Some("l")),
        (
            json!({"ownerReferences": owner("Cluster", "c"), "labels": {"cluster.x-k8s.io/cluster-name": "l"}}),
            Some("c"),
        ),
    ] {
        let template = template(json!({"metadata": metadata.clone()}));
        assert_eq!(cluster_name(&template), expected, "{metadata}");
    }
}

#[test]
fn what_is_paused_moved_or_deleted_is_left_alone() {
    let paused: cluster_api::Cluster = serde_json::from_value(
        json!({"metadata": {"name": "c"}, "spec": {"paused": true}, "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster"}),
    )
    .unwrap();
    assert!(left_alone(&template(json!({})), Some(&paused)));
    assert!(!left_alone(&template(json!({})), None));
    for metadata in [
        json!({"annotations": {"clusterctl.cluster.x-k8s.io/delete-for-move": ""}}),
        json!({"annotations": {"cluster.x-k8s.io/paused": ""}}),
        json!({"deletionTimestamp": "2026-01-01T00:00:00Z"}),
    ] {
        assert!(left_alone(&template(json!({"metadata": metadata.clone()})), None), "{metadata}");
    }
}

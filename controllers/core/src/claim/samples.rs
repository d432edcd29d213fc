//! Hosts, wishes and consumers to write tests with.

use std::{collections::BTreeSet, sync::LazyLock};

use beskar7_api::PhysicalHost;
use serde_json::{Value, json};

use super::{
    consumer::{Consumer, Identity},
    wish::{ReservationRule, Wish},
};

pub(super) const ME: Identity<'static> = Identity {
    api_version: "infrastructure.cluster.x-k8s.io/v1beta1",
    kind: "Beskar7Machine",
    namespace: "tenant",
    name: "m",
    uid: "u-1",
};

/// A free host with 64 GiB, 16 cores and a disk of 480 GB in zone a, changed by a merge patch.
pub(crate) fn host(name: &str, patch: Value) -> PhysicalHost {
    let mut host = json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1",
        "kind": "PhysicalHost",
        "metadata": {
            "name": name,
            "namespace": "metal",
            "resourceVersion": "7",
            "labels": {"topology.kubernetes.io/zone": "a", "rack": "r1"},
        },
        "spec": {"redfishConnection": {"address": "https://10.0.0.1", "credentialsSecretRef": "bmc"}},
        "status": {
            "state": "Available",
            "hardwareDetails": {
                "cpu": {"cores": 16, "architecture": "amd64"},
                "memory": {"totalMiB": 65536},
                "storage": [{"sizeBytes": 240_000_000_000_u64}, {"sizeBytes": 480_000_000_000_u64}],
                "status": {"health": "OK", "healthRollup": "Warning"},
            },
        },
    });
    merge(&mut host, patch);
    serde_json::from_value(host).unwrap()
}

/// As a JSON merge patch does.
pub(crate) fn merge(into: &mut Value, patch: Value) {
    let Value::Object(patch) = patch else {
        *into = patch;
        return;
    };
    if !into.is_object() {
        *into = json!({});
    }
    let object = into.as_object_mut().unwrap();
    for (key, value) in patch {
        if value.is_null() {
            object.remove(&key);
        } else {
            merge(object.entry(key).or_insert(Value::Null), value);
        }
    }
}

static METAL: LazyLock<BTreeSet<String>> = LazyLock::new(|| BTreeSet::from(["metal".to_owned()]));

/// Any host of namespace metal.
pub(super) fn wish() -> Wish<'static> {
    Wish {
        consumer: "Beskar7Machine/tenant/m",
        owner: None,
        namespaces: &METAL,
        pool: None,
        host: None,
        selector: None,
        requirements: None,
        zone: None,
        parameters_by: None,
        from_network: false,
        reservation: ReservationRule::Unreserved,
    }
}

/// A consumer with this intent, alive and well.
pub(super) fn consumer(intent: Option<&str>) -> Consumer<'_> {
    Consumer {
        identity: ME,
        intent,
        finalizer: intent.is_some(),
        deleting: false,
        on_hold: false,
        settled: false,
        forced: false,
    }
}

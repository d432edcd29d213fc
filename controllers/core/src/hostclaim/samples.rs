//! Claims and hosts to write tests with.

use beskar7_api::{HostClaim, PhysicalHost};
use serde_json::{Value, json};

use crate::claim::samples::merge;

/// A claim of tenant a, changed by a merge patch.
pub(super) fn claim(patch: Value) -> HostClaim {
    let mut object = json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "HostClaim",
        "metadata": {"name": "c", "namespace": "a", "generation": 2}, "spec": {},
    });
    merge(&mut object, patch);
    serde_json::from_value(object).unwrap()
}

/// A host that is held under the claim `id`, changed by a merge patch.
pub(super) fn host(patch: Value) -> PhysicalHost {
    let mut object = json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "PhysicalHost",
        "metadata": {"name": "h", "namespace": "metal", "uid": "u-h"},
        "spec": {
            "redfishConnection": {"address": "https://bmc.example", "credentialsSecretRef": "bmc-secret"},
            "claimID": "id", "consumerRef": {"kind": "HostClaim", "namespace": "a", "name": "c"},
        },
        "status": {"state": "Claimed", "claimID": "id", "observedPowerState": "Off",
            "hardwareDetails": {"manufacturer": "m", "serialNumber": "s"}},
    });
    merge(&mut object, patch);
    serde_json::from_value(object).unwrap()
}

//! The objects of a node as kubelet, kubeadm and the node lifecycle controller would write them. Pure.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::{Node, NodeSpec, Pod, Taint};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};

use super::management::Claimant;

/// The label and the taint by which kubeadm marks nodes of the control plane.
const CONTROL_PLANE: &str = "node-role.kubernetes.io/control-plane";
/// The taints by which a node that is not ready keeps pods off.
const NOT_READY: &str = "node.kubernetes.io/not-ready";
const UNREACHABLE: &str = "node.kubernetes.io/unreachable";

/// What kubeadm runs on a node of the control plane, but for etcd, which is external.
pub(super) const COMPONENTS: [&str; 3] = ["kube-apiserver", "kube-controller-manager", "kube-scheduler"];

/// Whether a kubelet posts the status of its node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kubelet {
    Posts,
    Silent,
}

/// The machine under a node.
#[derive(Debug, Clone)]
pub(super) struct Hardware {
    pub(super) address: Ipv4Addr,
    pub(super) uuid: String,
}

/// A node as its kubelet registers it.
pub(super) fn node(claimant: &Claimant) -> Node {
    let name = claimant.machine.as_str();
    let mut labels: BTreeMap<String, String> =
        [("kubernetes.io/hostname", name), ("kubernetes.io/os", "linux"), ("kubernetes.io/arch", "amd64")]
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into();
    let mut taints = Vec::new();
    if claimant.control_plane {
        labels.insert(CONTROL_PLANE.to_owned(), String::new());
        taints.push(taint(CONTROL_PLANE, "NoSchedule"));
    }
    Node {
        metadata: ObjectMeta { name: Some(name.to_owned()), labels: Some(labels), ..ObjectMeta::default() },
        spec: Some(NodeSpec {
            provider_id: claimant.provider_id.clone(),
            taints: Some(taints),
            ..NodeSpec::default()
        }),
        status: None,
    }
}

/// A node's status when its kubelet has just started.
pub(super) fn status(claimant: &Claimant, hardware: &Hardware) -> Value {
    let unknown = "unknown";
    json!({"status": {
        "conditions": conditions(Kubelet::Posts),
        "addresses": [
            {"type": "Hostname", "address": claimant.machine},
            {"type": "InternalIP", "address": hardware.address.to_string()},
        ],
        "capacity": {"cpu": "8", "memory": "32Gi", "pods": "110"},
        "allocatable": {"cpu": "8", "memory": "32Gi", "pods": "110"},
        "nodeInfo": {
            "systemUUID": hardware.uuid.to_lowercase(),
            "machineID": hardware.uuid.to_lowercase().replace('-', ""),
            "bootID": claimant.claim,
            "kubeletVersion": claimant.version,
            "kubeProxyVersion": claimant.version,
            "operatingSystem": "linux",
            "architecture": "amd64",
            "osImage": "simulated",
            "kernelVersion": unknown,
            "containerRuntimeVersion": unknown,
        },
    }})
}

/// The status of a node whose kubelet has fallen silent, as the node lifecycle controller writes it.
pub(super) fn lost() -> Value {
    json!({"status": {"conditions": conditions(Kubelet::Silent)}})
}

fn conditions(kubelet: Kubelet) -> Value {
    let now = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let healthy = [
        ("MemoryPressure", "False", "KubeletHasSufficientMemory"),
        ("DiskPressure", "False", "KubeletHasNoDiskPressure"),
        ("PIDPressure", "False", "KubeletHasSufficientPID"),
        ("Ready", "True", "KubeletReady"),
    ];
    let all = healthy.into_iter().map(|(kind, status, reason)| {
        let (status, reason, message) = match kubelet {
            Kubelet::Posts => (status, reason, "simulated"),
            Kubelet::Silent => ("Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status."),
        };
        json!({
            "type": kind, "status": status, "reason": reason, "message": message,
            "lastHeartbeatTime": now, "lastTransitionTime": now,
        })
    });
    all.collect()
}

/// A node's taints: those that others gave it, and those that say whether its kubelet is there.
pub(super) fn taints(others: Vec<Taint>, kubelet: Kubelet) -> Vec<Taint> {
    let mut taints = others;
    taints.retain(|taint| taint.key != NOT_READY && taint.key != UNREACHABLE);
    match kubelet {
        Kubelet::Posts => {}
        Kubelet::Silent => {
            taints.extend(["NoSchedule", "NoExecute"].map(|effect| taint(UNREACHABLE, effect)));
        }
    }
    taints
}

fn taint(key: &str, effect: &str) -> Taint {
    Taint { key: key.to_owned(), effect: effect.to_owned(), ..Taint::default() }
}

/// The name of a static pod's mirror.
pub(super) fn pod_name(component: &str, node: &str) -> String {
    format!("{component}-{node}")
}

/// The mirror of a static pod, as kubelet shows it to the API server.
pub(super) fn static_pod(component: &str, claimant: &Claimant) -> Result<Pod> {
    let pod = json!({
        "metadata": {
            "name": pod_name(component, &claimant.machine),
            "labels": {"component": component, "tier": "control-plane"},
            // By this drains know that there is nothing to evict.
            "annotations": {"kubernetes.io/config.mirror": claimant.claim},
        },
        "spec": {
            "nodeName": claimant.machine,
            "hostNetwork": true,
            "containers": [{"name": component, "image": format!("{component}:{}", claimant.version)}],
        },
    });
    serde_json::from_value(pod).context("a static pod")
}

/// The status of a pod that runs.
pub(super) fn pod_status() -> Value {
    let conditions: Vec<Value> = ["PodScheduled", "Initialized", "ContainersReady", "Ready"]
        .map(|kind| json!({"type": kind, "status": "True"}))
        .into();
    json!({"status": {"phase": "Running", "conditions": conditions}})
}

#[cfg(test)]
mod tests {
    use super::super::management::ClusterName;
    use super::*;

    fn claimant(control_plane: bool) -> Claimant {
        Claimant {
            cluster: ClusterName { namespace: "default".to_owned(), name: "edge".to_owned() },
            machine: "edge-1".to_owned(),
            control_plane,
            version: "v1.36.3".to_owned(),
            provider_id: Some("b7://metal/host-1".to_owned()),
            claim: "c".to_owned(),
        }
    }

    #[test]
    fn a_node_of_the_control_plane_is_marked() {
        let (worker, control_plane) = (node(&claimant(false)), node(&claimant(true)));
        assert!(!worker.metadata.labels.unwrap().contains_key(CONTROL_PLANE));
        assert!(control_plane.metadata.labels.unwrap().contains_key(CONTROL_PLANE));
        let spec = control_plane.spec.unwrap();
        assert_eq!(spec.provider_id.as_deref(), Some("b7://metal/host-1"));
        assert_eq!(spec.taints.unwrap()[0].key, CONTROL_PLANE);
    }

    #[test]
    fn a_kubelet_that_comes_and_goes_leaves_the_taints_of_others() {
        let others = vec![taint(CONTROL_PLANE, "NoSchedule"), taint(NOT_READY, "NoSchedule")];
        let silent = taints(others, Kubelet::Silent);
        assert_eq!(silent.len(), 3, "{silent:?}");
        assert_eq!(taints(silent, Kubelet::Posts), vec![taint(CONTROL_PLANE, "NoSchedule")]);
    }

    #[test]
    fn a_silent_kubelet_leaves_nothing_known() {
        let status = lost();
        let conditions = status["status"]["conditions"].as_array().unwrap();
        assert!(conditions.iter().all(|condition| condition["status"] == "Unknown"), "{conditions:?}");
    }
}

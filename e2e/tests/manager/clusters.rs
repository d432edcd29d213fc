//! Beskar7Clusters: where their control plane is reached, which host is kept for that, and their failure domains.

use std::net::Ipv4Addr;

use anyhow::{Context, Result, ensure};
use beskar7_api::{Beskar7Cluster, Beskar7MachineTemplate, PhysicalHost, cluster_api};
use beskar7_e2e::control_plane::ControlPlane;
use beskar7_e2e::installation::apply;
use beskar7_e2e::manager::Manager;
use beskar7_e2e::wait::{self, Seen};
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use super::cluster_objects::*;
use super::setup::*;
use super::shared::Shared;

#[tokio::test(flavor = "multi_thread")]
async fn is_owned_by_its_cluster_and_waits_for_it() -> Result<()> {
    let shared = Shared::join("owned").await?;
    let cluster = json!({"metadata": {"name": NAME}, "spec": given("10.0.0.100")["spec"]});
    shared.make::<Beskar7Cluster>(&cluster).await?;
    let found = shared.until("False", "WaitingForOwnerCluster").await?;
    ensure!(!provisioned(&found) && found.metadata.finalizers.is_none(), "{found:?}");
    let owner = shared.make_owner(&json!({})).await?;
    shared.patch::<Beskar7Cluster>(NAME, &json!({"metadata": {"ownerReferences": [owner]}})).await?;
    let found = shared.until("True", "EndpointGiven").await?;
    ensure!(
        found.metadata.finalizers == Some(vec!["beskar7cluster.infrastructure.cluster.x-k8s.io".to_owned()])
    );

    // Where the Cluster goes first, that holds nothing up.
    Api::<cluster_api::Cluster>::namespaced(shared.client.clone(), shared.namespace)
        .delete(OWNER, &DeleteParams::default())
        .await?;
    // The collector may have come first.
    shared.clusters().delete(NAME, &DeleteParams::default()).await.ok();
    until_gone(&shared).await?;
    shared.leave().await
}

#[tokio::test(flavor = "multi_thread")]
async fn derives_the_control_plane_endpoint_from_an_infrastructure_ready_control_plane_machine_preferring_internal_ip()
-> Result<()> {
    let shared = Shared::join("derived").await?;
    let addresses = json!([
        {"type": "Hostname", "address": "cp-1"},
        {"type": "ExternalIP", "address": "192.0.2.7"},
        {"type": "InternalIP", "address": "10.0.0.7"},
    ]);
    let others = json!([{"type": "InternalIP", "address": "10.9.9.9"}]);
    // A worker, and a machine of another cluster, are there before.
    let mut worker = running(&others);
    merge(&mut worker, &json!({"metadata": {"labels": null}}));
    shared.make_machine("worker", &worker).await?;
    let mut stranger = running(&others);
    merge(&mut stranger, &json!({"spec": {"clusterName": NAME}}));
    shared.make_machine("stranger", &stranger).await?;
    shared.make_machine("cp-1", &json!({"status": {"addresses": addresses}})).await?;
    shared.make_cluster(&json!({}), &json!({})).await?;
    let waiting = shared.until("False", "ControlPlaneEndpointNotSet").await?;
    ensure!(provisioned(&waiting), "without that, nobody makes machines");
    ensure!(endpoints(&waiting) == ["", ""], "{:?}", endpoints(&waiting));

    shared.patch::<cluster_api::Machine>("cp-1", &running(&addresses)).await?;
    let found = shared.until("True", "EndpointDiscovered").await?;
    ensure!(endpoints(&found) == ["10.0.0.7:6443", "10.0.0.7:6443"], "{:?}", endpoints(&found));

    // Once written it stays, whatever becomes of the machine.
    shared.patch::<cluster_api::Machine>("cp-1", &running(&others)).await?;
    Api::<cluster_api::Machine>::namespaced(shared.client.clone(), shared.namespace)
        .delete("cp-1", &DeleteParams::default())
        .await?;
    shared.make_machine("cp-2", &running(&others)).await?;
    shared.patch::<Beskar7Cluster>(NAME, &json!({"spec": {"controlPlaneEndpoint": null}})).await?;
    wait::until_true("the endpoint to be written again", LIMIT, || async {
        let found = endpoints(&shared.clusters().get(NAME).await?);
        Ok(if found == ["10.0.0.7:6443", "10.0.0.7:6443"] { Ok(()) } else { Err(format!("{found:?}")) })
    })
    .await?;
    shared.leave().await
}

#[tokio::test(flavor = "multi_thread")]
async fn sets_control_plane_endpoint_ready_by_whether_an_endpoint_could_be_derived() -> Result<()> {
    let shared = Shared::join("endpoint-ready").await?;
    shared.make_cluster(&json!({}), &json!({})).await?;
    shared.until("False", "ControlPlaneEndpointNotSet").await?;
    shared.make_machine("cp", &running(&json!([]))).await?;
    let told = wait::until_true("the machine without an address to be named", LIMIT, || async {
        let (_, _, message) = said(&shared.clusters().get(NAME).await?, ENDPOINT);
        Ok(if message.contains("Machine cp runs, but tells no address") { Ok(()) } else { Err(message) })
    });
    told.await?;
    let address = json!([{"type": "ExternalIP", "address": "192.0.2.7"}]);
    shared.patch::<cluster_api::Machine>("cp", &running(&address)).await?;
    let found = shared.until("True", "EndpointDiscovered").await?;
    let (_, _, message) = said(&found, ENDPOINT);
    ensure!(message.contains("192.0.2.7:6443"), "{message}");
    shared.leave().await
}

#[tokio::test(flavor = "multi_thread")]
async fn sets_the_overall_ready_field() -> Result<()> {
    let shared = Shared::join("overall-ready").await?;
    shared.make_cluster(&json!({}), &given("https://10.0.0.100")).await?;
    let found = shared.until("False", "InvalidEndpoint").await?;
    ensure!(!is_ready(&found) && !provisioned(&found) && said(&found, "Ready").0 == "False");
    let (_, _, message) = said(&found, ENDPOINT);
    ensure!(message.contains("without scheme, port or brackets"), "{message}");
    shared.patch::<Beskar7Cluster>(NAME, &given("10.0.0.100")).await?;
    let found = shared.until("True", "EndpointGiven").await?;
    ensure!(is_ready(&found) && provisioned(&found) && said(&found, "Ready").0 == "True");
    ensure!(endpoints(&found) == ["10.0.0.100:6443", "10.0.0.100:6443"], "{:?}", endpoints(&found));
    let status = found.status.context("just seen")?;
    ensure!(status.observed_generation == found.metadata.generation, "{:?}", status.observed_generation);
    shared.leave().await
}

#[tokio::test(flavor = "multi_thread")]
async fn discovers_failure_domains_from_the_zone_labels_of_hosts() -> Result<()> {
    let shared = Shared::join("zones").await?;
    let zone = |zone: &str| json!({"metadata": {"labels": {"topology.kubernetes.io/zone": zone}}});
    for (name, more) in
        [("h-1", zone("b")), ("h-2", zone("a")), ("h-3", zone("b")), ("h-4", json!({})), ("h-5", zone(""))]
    {
        make_host(&shared.client, shared.namespace, name, &more).await?;
    }
    let pool = json!({"hostPool": {"selector": {"matchExpressions": [
        {"key": "rack", "operator": "NotIn", "values": ["spare"]},
    ]}}});
    let mut more = given("10.0.0.100");
    merge(&mut more, &json!({"spec": pool}));
    shared.make_cluster(&json!({}), &more).await?;
    let until_zones = async |expected: &[&str]| -> Result<()> {
        let found = wait::until_true(format!("the failure domains {expected:?}"), LIMIT, || async {
            let status = shared.clusters().get(NAME).await?.status.unwrap_or_default();
            let domains = status.failure_domains;
            let right = domains.iter().map(|domain| domain.name.as_str()).eq(expected.iter().copied())
                && domains.iter().all(|domain| domain.control_plane == Some(true));
            Ok(if right { Ok(()) } else { Err(format!("{domains:?}")) })
        });
        Ok(found.await?)
    };
    until_zones(&["a", "b"]).await?;
    // A host that comes, changes its zone, leaves the pool or goes is seen.
    make_host(&shared.client, shared.namespace, "h-6", &zone("c")).await?;
    until_zones(&["a", "b", "c"]).await?;
    shared.patch::<PhysicalHost>("h-2", &zone("d")).await?;
    until_zones(&["b", "c", "d"]).await?;
    let spare = json!({"metadata": {"labels": {"rack": "spare"}}});
    shared.patch::<PhysicalHost>("h-6", &spare).await?;
    until_zones(&["b", "d"]).await?;
    hosts(&shared.client, shared.namespace).delete("h-2", &DeleteParams::default()).await?;
    until_zones(&["b"]).await?;
    shared.leave().await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_that_the_cluster_gives_is_taken_over() -> Result<()> {
    let shared = Shared::join("given").await?;
    let mut owner = kubeadm_reference();
    merge(&mut owner, &json!({"controlPlaneEndpoint": {"host": "api.example.org", "port": 443}}));
    // As Go programs write it where there is none.
    let empty = json!({"spec": {"controlPlaneEndpoint": {"host": "", "port": 0}}});
    shared.make_cluster(&owner, &empty).await?;
    let found = shared.until("True", "EndpointGiven").await?;
    ensure!(endpoints(&found) == ["api.example.org:443", "api.example.org:443"], "{:?}", endpoints(&found));
    ensure!(provisioned(&found));
    shared.leave().await
}

#[tokio::test(flavor = "multi_thread")]
async fn keeps_a_host_for_the_one_machine_of_a_control_plane_until_it_is_deleted() -> Result<()> {
    let shared = Shared::join("reserved").await?;
    let in_rack = |rack: &str, zone: &str, address: &str| {
        let mut host = declared(address);
        let labels = json!({"rack": rack, "topology.kubernetes.io/zone": zone});
        merge(&mut host, &json!({"metadata": {"labels": labels}}));
        host
    };
    let hosts_ = [("other", in_rack("r1", "a", "10.1.0.1")), ("silent", json!({}))];
    let fleet = shared.free_hosts(Ipv4Addr::new(127, 44, 0, 1), &hosts_).await?;
    // The control plane comes after the cluster, its template after that, and the host last.
    shared.make_cluster(&kubeadm_reference(), &json!({})).await?;
    let found = shared.until("False", "WaitingForControlPlane").await?;
    ensure!(!provisioned(&found));
    let template =
        json!({"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "Beskar7MachineTemplate", "name": "t"});
    let named = json!({"spec": {"machineTemplate": {"spec": {"infrastructureRef": template}}}});
    shared.make_control_plane(1, &named).await?;
    let machine = json!({
        "imageURL": "http://images.example.org/node.iso", "osFamily": "kairos",
        "hostSelector": {"matchLabels": {"rack": "r2"}},
    });
    shared
        .make::<Beskar7MachineTemplate>(
            &json!({"metadata": {"name": "t"}, "spec": {"template": {"spec": machine}}}),
        )
        .await?;
    let found = shared.until("False", "WaitingForPhysicalHost").await?;
    let (_, _, message) = said(&found, ENDPOINT);
    ensure!(
        message.contains("0 of 1 host matches: 1 without the wanted labels; 1 more declare no address"),
        "{message}"
    );
    ensure!(!provisioned(&found));

    shared.patch::<PhysicalHost>("silent", &in_rack("r2", "b", "10.1.0.2")).await?;
    let found = shared.until("True", "HostReserved").await?;
    ensure!(endpoints(&found) == ["10.1.0.2:6443", "10.1.0.2:6443"], "{:?}", endpoints(&found));
    ensure!(provisioned(&found) && is_ready(&found));
    ensure!(shared.reserved("silent").await?.as_deref() == Some("Beskar7Cluster reserved/infra"));
    ensure!(shared.reserved("other").await?.is_none());
    let (_, _, message) = said(&found, ENDPOINT);
    ensure!(message.contains("Any rollout of the control plane replaces this host"), "{message}");
    // The first machine must land on it, so Cluster API may ask for no other zone.
    let domains = found.status.context("just seen")?.failure_domains;
    let control_plane: Vec<_> =
        domains.iter().map(|domain| (domain.name.as_str(), domain.control_plane)).collect();
    ensure!(control_plane == [("a", Some(false)), ("b", Some(true))], "{control_plane:?}");

    // The mark comes back where somebody takes it off, and goes with the cluster.
    shared.patch::<PhysicalHost>("silent", &json!({"spec": {"reservedFor": null}})).await?;
    wait::until_true("the host to be kept again", LIMIT, || async {
        let kept = shared.reserved("silent").await?;
        Ok(if kept.is_some() { Ok(()) } else { Err("it is not".to_owned()) })
    })
    .await?;
    shared.clusters().delete(NAME, &DeleteParams::default()).await?;
    until_gone(&shared).await?;
    ensure!(shared.reserved("silent").await?.is_none(), "it is kept for a cluster that is gone");
    drop(fleet);
    shared.leave().await
}

#[tokio::test(flavor = "multi_thread")]
async fn several_control_plane_machines_wait_for_a_virtual_ip() -> Result<()> {
    let shared = Shared::join("several").await?;
    shared.make_control_plane(3, &json!({})).await?;
    shared.make_cluster(&kubeadm_reference(), &json!({})).await?;
    let found = shared.until("False", "EndpointNeeded").await?;
    let (_, _, message) = said(&found, ENDPOINT);
    ensure!(message.contains("wants 3 machines") && message.contains("kube-vip"), "{message}");
    ensure!(!provisioned(&found) && !is_ready(&found));
    // One is enough after all, and is seen without a change of ours; but there is no host.
    shared
        .kubeadm()
        .patch("kcp", &PatchParams::default(), &Patch::Merge(&json!({"spec": {"replicas": 1}})))
        .await?;
    shared.until("False", "WaitingForPhysicalHost").await?;
    shared.patch::<Beskar7Cluster>(NAME, &given("10.0.0.100")).await?;
    shared.until("True", "EndpointGiven").await?;
    shared.leave().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_control_plane_that_may_not_be_read_is_named() -> Result<()> {
    let shared = Shared::join("forbidden").await?;
    let schema = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "othercontrolplanes.controlplane.example.org"},
        "spec": {
            "group": "controlplane.example.org", "scope": "Namespaced",
            "names": {
                "kind": "OtherControlPlane", "listKind": "OtherControlPlaneList",
                "plural": "othercontrolplanes", "singular": "othercontrolplane",
            },
            "versions": [{"name": "v1alpha7", "served": true, "storage": true, "schema": schema}],
        },
    });
    apply(shared.plane(), &crd.to_string()).await?;
    let wait = ["wait", "crd", "othercontrolplanes.controlplane.example.org", "--for=condition=Established"];
    shared.plane().kubectl(&wait).await?.success()?;
    let named = json!({"apiGroup": "controlplane.example.org", "kind": "OtherControlPlane", "name": "o"});
    shared.make_cluster(&json!({"controlPlaneRef": named}), &json!({})).await?;
    let found = shared.until("False", "WaitingForControlPlane").await?;
    let (_, _, message) = said(&found, ENDPOINT);
    ensure!(message.contains("not allowed to read OtherControlPlane o"), "{message}");
    shared.leave().await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_paused_or_managed_by_others_is_left_alone() -> Result<()> {
    let shared = Shared::join("left-alone").await?;
    let owner = shared.make_owner(&json!({"paused": true})).await?;
    let managed = json!({"cluster.x-k8s.io/managed-by": ""});
    for (name, annotations) in [("managed", managed), (NAME, json!({}))] {
        let metadata = json!({"name": name, "annotations": annotations, "ownerReferences": [owner]});
        let cluster = json!({"metadata": metadata, "spec": given("10.0.0.100")["spec"]});
        shared.make::<Beskar7Cluster>(&cluster).await?;
    }
    let until_paused = async |status: &str| -> Result<Beskar7Cluster> {
        let found = wait::until(format!("Paused={status}"), LIMIT, || async {
            let cluster = shared.clusters().get(NAME).await?;
            let found = said(&cluster, "Paused");
            Ok(if found.0 == status { Seen::Done(cluster) } else { Seen::NotYet(format!("{found:?}")) })
        });
        Ok(found.await?)
    };
    let found = until_paused("True").await?;
    ensure!(said(&found, "Paused").2 == "Cluster spec.paused is set to true", "{found:?}");
    ensure!(!provisioned(&found) && said(&found, ENDPOINT).0.is_empty(), "{found:?}");
    // A pause holds a deletion too; when it ends, the deletion goes on.
    shared.clusters().delete(NAME, &DeleteParams::default()).await?;
    let annotate = json!({"metadata": {"annotations": {"cluster.x-k8s.io/paused": ""}}});
    shared.patch::<Beskar7Cluster>(NAME, &annotate).await?;
    wait::until_true("the annotation to be told", LIMIT, || async {
        let (_, _, message) = said(&shared.clusters().get(NAME).await?, "Paused");
        Ok(if message.contains("Beskar7Cluster has the") { Ok(()) } else { Err(message) })
    })
    .await?;
    let lifted = json!({"metadata": {"annotations": {"cluster.x-k8s.io/paused": null}}});
    shared.patch::<Beskar7Cluster>(NAME, &lifted).await?;
    shared.patch::<cluster_api::Cluster>(OWNER, &json!({"spec": {"paused": false}})).await?;
    until_gone(&shared).await?;
    // All of this was seen after the one that somebody else manages.
    let managed = shared.clusters().get("managed").await?;
    ensure!(managed.status.is_none() && managed.metadata.finalizers.is_none(), "{managed:?}");
    shared.leave().await
}

/// The Go Beskar7 stored failure domains as a map, under its own CRD.
#[tokio::test(flavor = "multi_thread")]
async fn a_status_that_the_go_beskar7_left_is_taken_over_with_failure_domains_as_a_list() -> Result<()> {
    const CRD: &str = "beskar7clusters.infrastructure.cluster.x-k8s.io";
    let plane = installed().await?;
    let client = plane.client().await?;
    let crd = plane.kubectl(&["get", "crd", CRD, "-o", "json"]).await?.success()?;
    let mut crd: Value = serde_json::from_str(&crd)?;
    let domains = "/spec/versions/0/schema/openAPIV3Schema/properties/status/properties/failureDomains";
    let map = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let ours = std::mem::replace(crd.pointer_mut(domains).context("no failureDomains")?, map);
    plane.kubectl_with_input(&["replace", "-f", "-"], &crd.to_string()).await?.success()?;
    let owner: cluster_api::Cluster =
        serde_json::from_value(json!({"metadata": {"name": OWNER}, "spec": {}}))?;
    let owner = Api::namespaced(client.clone(), HOSTS).create(&PostParams::default(), &owner).await?;
    store_as_the_go_beskar7_did(&plane, &owner_reference(&owner)).await?;
    *crd.pointer_mut(domains).context("no failureDomains")? = ours;
    crd["metadata"] = json!({"name": CRD, "labels": crd["metadata"]["labels"]});
    plane.kubectl_with_input(&["replace", "-f", "-"], &crd.to_string()).await?.success()?;

    let manager = Manager::start(&plane, &alone("manager", &[])).await?;
    let clusters: Api<Beskar7Cluster> = Api::namespaced(client.clone(), HOSTS);
    let found = until(&clusters, "True", "EndpointGiven").await?;
    // The endpoint was in the status only, where Cluster API does not look.
    ensure!(endpoints(&found) == ["10.0.0.7:6443", "10.0.0.7:6443"], "{:?}", endpoints(&found));
    let stored = async || -> Result<Value> {
        let raw = plane.kubectl(&["-n", HOSTS, "get", "b7c", NAME, "-o", "json"]).await?.success()?;
        Ok(serde_json::from_str::<Value>(&raw)?["status"]["failureDomains"].take())
    };
    // Read as a type, an empty map and no list are the same: both must be gone, or Cluster API fails.
    ensure!(stored().await?.is_null(), "{}", stored().await?);
    let zone = json!({"metadata": {"labels": {"topology.kubernetes.io/zone": "zone-a"}}});
    make_host(&client, HOSTS, "h", &zone).await?;
    wait::until_true("the zone to be listed", LIMIT, || async {
        let stored = stored().await?;
        let right = stored == json!([{"name": "zone-a", "controlPlane": true}]);
        Ok(if right { Ok(()) } else { Err(stored.to_string()) })
    })
    .await?;
    manager.stop().await?;
    plane.stop().await
}

/// The API server takes a moment to put a new schema into force; until then it drops what the old one does not know.
async fn store_as_the_go_beskar7_did(plane: &ControlPlane, owner: &Value) -> Result<()> {
    let cluster = json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "Beskar7Cluster",
        "metadata": {"name": NAME, "namespace": HOSTS, "ownerReferences": [owner]},
        "spec": {"controlPlaneEndpoint": {"host": "", "port": 0}},
    });
    apply(plane, &cluster.to_string()).await?;
    let time = "2025-06-01T00:00:00Z";
    let condition =
        json!({"type": ENDPOINT, "status": "True", "reason": "", "message": "", "lastTransitionTime": time});
    let status = json!({"status": {
        "ready": true,
        "controlPlaneEndpoint": {"host": "10.0.0.7", "port": 6443},
        "failureDomains": {"zone-a": {"controlPlane": true}},
        "conditions": [condition],
    }});
    let status = status.to_string();
    let stored = wait::until_true("the map to be stored", LIMIT, || async {
        let mut patch = vec!["-n", HOSTS, "patch", "b7c", NAME, "--subresource=status", "--type=merge"];
        patch.extend(["-o", "json", "-p", &status]);
        let stored: Value = serde_json::from_str(&plane.kubectl(&patch).await?.success()?)?;
        let right = stored["status"]["failureDomains"]["zone-a"]["controlPlane"] == true;
        Ok(if right { Ok(()) } else { Err(stored.to_string()) })
    });
    Ok(stored.await?)
}

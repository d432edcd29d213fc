//! The workload clusters by themselves: Cluster API takes simulated nodes for real ones. Who claims hosts here is a
//! stand-in for the controllers of Beskar7Cluster and Beskar7Machine.
//!
//! Needs what `make release` writes.
#![allow(clippy::indexing_slicing, reason = "JSON is read as it is written")]

#[path = "peers/images.rs"]
mod images;
#[path = "cluster_api/stack.rs"]
mod stack;

use std::net::Ipv4Addr;
use std::time::Duration;

use anyhow::{Result, ensure};
use beskar7_api::{Beskar7Cluster, Beskar7Machine, HostState, PhysicalHost};
use beskar7_e2e::wait;
use beskar7_redfish_sim::machine::power::ResetType;
use k8s_openapi::api::core::v1::Node;
use kube::api::{ListParams, Patch, PatchParams};
use kube::{Api, Client, ResourceExt};
use serde_json::json;

use stack::{LIMIT, NAMESPACE, Stack};

async fn ready_nodes(client: &Client) -> Result<usize> {
    let nodes = Api::<Node>::all(client.clone()).list(&ListParams::default()).await?;
    let ready = |node: &&Node| {
        let conditions =
            node.status.as_ref().and_then(|status| status.conditions.clone()).unwrap_or_default();
        conditions.iter().any(|condition| condition.type_ == "Ready" && condition.status == "True")
    };
    Ok(nodes.iter().filter(ready).count())
}

async fn until_ready(client: &Client, count: usize) -> Result<()> {
    let met = wait::until_true(format!("{count} nodes to be ready"), LIMIT, || async {
        let ready = ready_nodes(client).await?;
        Ok(if ready == count { Ok(()) } else { Err(format!("{ready} are")) })
    });
    Ok(met.await?)
}

async fn until_not_ready(client: &Client, node: &str) -> Result<()> {
    let nodes = &Api::<Node>::all(client.clone());
    let met = wait::until_true(format!("{node} not to be ready"), LIMIT, || async move {
        let found = nodes.get(node).await?;
        let ready = found.status.and_then(|status| status.conditions).unwrap_or_default();
        let ready = ready.iter().find(|condition| condition.type_ == "Ready").map(|one| one.status.clone());
        let tainted = found.spec.and_then(|spec| spec.taints).unwrap_or_default();
        let tainted = tainted.iter().any(|taint| taint.key == "node.kubernetes.io/unreachable");
        Ok(match ready.as_deref() {
            Some("Unknown") if tainted => Ok(()),
            other => Err(format!("Ready is {other:?}")),
        })
    });
    Ok(met.await?)
}

async fn until_gone(client: &Client, node: &str) -> Result<()> {
    let nodes = &Api::<Node>::all(client.clone());
    let met = wait::until_true(format!("the node {node} to be gone"), LIMIT, || async move {
        Ok(nodes.get_opt(node).await?.map_or(Ok(()), |_| Err("it is there".to_owned())))
    });
    Ok(met.await?)
}

#[tokio::test(flavor = "multi_thread")]
async fn cluster_api_takes_simulated_nodes_for_real_ones() -> Result<()> {
    let stack = Stack::start(5, Ipv4Addr::new(127, 50, 0, 1)).await?;
    let stand_in = tokio::spawn(stand_in(stack.client.clone()));
    stack.apply_cluster("sample", 3, 2).await?;
    stack.until_condition("kubeadmcontrolplane", "sample-control-plane", "Initialized").await?;
    stack.until_condition("machinedeployment", "sample-md-0", "Available").await?;
    let workload = stack.workload.client(NAMESPACE, "sample").await?;
    until_ready(&workload, 5).await?;
    stack.until_condition("kubeadmcontrolplane", "sample-control-plane", "Available").await?;
    stack.until_condition("cluster", "sample", "Available").await?;
    ensure!(stack.workload.count().await == 1);

    // Power that goes takes a node down, and brings it back under the same claim.
    let workers = stack.machines("sample-md-0").await?;
    let (first, second) = (workers[0].as_str(), workers[1].as_str());
    let bmc = stack.racks.bmc(&stack.host_of(first).await?)?;
    bmc.with(|bmc, now| bmc.machine.reset(now, "test", ResetType::ForceOff));
    until_not_ready(&workload, first).await?;
    bmc.with(|bmc, now| bmc.machine.reset(now, "test", ResetType::On));
    until_ready(&workload, 5).await?;

    // A kubelet can die under a machine that runs on.
    stack.workload.fail_node(NAMESPACE, second).await?;
    until_not_ready(&workload, second).await?;
    let bmc = stack.racks.bmc(&stack.host_of(second).await?)?;
    ensure!(bmc.with(|bmc, _| bmc.machine.running().is_some()), "the machine of {second} does not run");

    let all = ["-n", NAMESPACE, "delete", "machine", first, second, "--wait=false"];
    stack.plane.kubectl(&all).await?.success()?;
    until_gone(&workload, first).await?;
    until_gone(&workload, second).await?;
    stack
        .plane
        .kubectl(&["-n", NAMESPACE, "delete", "cluster", "sample", "--wait=false"])
        .await?
        .success()?;
    wait::until_true("the API server to end with its Cluster", LIMIT, || async {
        let count = stack.workload.count().await;
        Ok(if count == 0 { Ok(()) } else { Err(format!("{count} run")) })
    })
    .await?;

    stand_in.abort();
    stack.stop().await
}

/// Does for ever what the controllers would do, as far as Cluster API waits for it.
async fn stand_in(client: Client) {
    loop {
        // Whatever went wrong is tried again.
        clusters(&client).await.ok();
        machines(&client).await.ok();
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

async fn clusters(client: &Client) -> Result<()> {
    let clusters = Api::<Beskar7Cluster>::namespaced(client.clone(), NAMESPACE);
    for cluster in clusters.list(&ListParams::default()).await? {
        let provisioned = json!({"status": {"ready": true, "initialization": {"provisioned": true}}});
        clusters
            .patch_status(&cluster.name_any(), &PatchParams::default(), &Patch::Merge(provisioned))
            .await?;
    }
    Ok(())
}

async fn machines(client: &Client) -> Result<()> {
    let machines = Api::<Beskar7Machine>::namespaced(client.clone(), NAMESPACE);
    let hosts = Api::<PhysicalHost>::namespaced(client.clone(), NAMESPACE);
    let by = PatchParams::default();
    for machine in machines.list(&ListParams::default()).await? {
        let name = machine.name_any();
        if machine.owner_references().is_empty() || machine.spec.provider_id.is_some() {
            continue;
        }
        let all = hosts.list(&ListParams::default()).await?;
        let state = |host: &PhysicalHost| host.status.as_ref().and_then(|status| status.state);
        let consumer =
            |host: &PhysicalHost| host.spec.consumer_ref.as_ref().and_then(|held| held.name.clone());
        match all.iter().find(|host| consumer(host).as_deref() == Some(name.as_str())) {
            None => {
                let free = all
                    .iter()
                    .find(|host| consumer(host).is_none() && state(host) == Some(HostState::Available));
                let Some(free) = free else { continue };
                let consumer = json!({"kind": "Beskar7Machine", "namespace": NAMESPACE, "name": name});
                let claim = format!("{:032x}", free.name_any().bytes().map(u128::from).sum::<u128>());
                let spec = json!({"consumerRef": consumer, "claimID": claim, "bootIsoSource": machine.spec.image_url});
                hosts.patch(&free.name_any(), &by, &Patch::Merge(json!({"spec": spec}))).await?;
            }
            Some(held) if state(held) == Some(HostState::Provisioned) => {
                let id = format!("b7://{NAMESPACE}/{}", held.name_any());
                let status = json!({"status": {"ready": true, "initialization": {"provisioned": true}}});
                machines.patch(&name, &by, &Patch::Merge(json!({"spec": {"providerID": id}}))).await?;
                machines.patch_status(&name, &by, &Patch::Merge(status)).await?;
            }
            Some(_) => {}
        }
    }
    Ok(())
}

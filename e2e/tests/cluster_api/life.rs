//! One cluster from its template to its end. The steps share a stack, because each takes less than bringing it up.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use anyhow::{Context, Result, ensure};
use beskar7_api::labels;
use beskar7_e2e::wait;
use beskar7_redfish_sim::machine::power::{Outcome, ResetType};
use k8s_openapi::api::core::v1::Secret;
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt};
use serde_json::json;

use super::hosts::{held, until_held};
use super::nodes::{until_lost, until_ready};
use super::stack::{LIMIT, NAMESPACE, Stack};

const CLUSTER: &str = "sample";
const CONTROL_PLANE: &str = "sample-control-plane";
const WORKERS: &str = "sample-md-0";

/// Three for the control plane, ten for the workers at most, one to spare.
const HOSTS: usize = 14;

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_grows_shrinks_changes_heals_and_goes() -> Result<()> {
    let stack = Stack::start(HOSTS, Ipv4Addr::new(127, 50, 0, 1)).await?;
    let workload = comes_up(&stack).await.context("coming up")?;
    survives_a_power_cut(&stack, &workload).await.context("a power cut")?;
    takes_a_new_template(&stack, &workload).await.context("a new template")?;
    replaces_a_dead_node(&stack, &workload).await.context("a dead node")?;
    grows_and_shrinks(&stack, &workload).await.context("growing and shrinking")?;
    goes_without_a_trace(&stack, CLUSTER).await.context("going")?;
    let strays = stack.workload.strays();
    ensure!(strays.is_empty(), "{strays:?}");
    stack.stop().await
}

/// Three control-plane machines and three workers, as the template makes them.
async fn comes_up(stack: &Stack) -> Result<Client> {
    stack.apply_cluster(CLUSTER, 3, 3).await?;
    stack.until_condition("machinedeployment", WORKERS, "Available").await?;
    stack.until_condition("kubeadmcontrolplane", CONTROL_PLANE, "Available").await?;
    stack.until_condition("cluster", CLUSTER, "Available").await?;
    let workload = stack.workload.client(NAMESPACE, CLUSTER).await?;
    settled(stack, &workload, 3).await?;
    has_its_infrastructure(stack).await?;
    is_spread(stack).await?;
    Ok(workload)
}

/// The Cluster and each Machine own an object of ours that is ready, and was made for them.
async fn has_its_infrastructure(stack: &Stack) -> Result<()> {
    let machines = stack.machines(CLUSTER).await?;
    let pairs = machines.iter().map(|name| ("machine", "beskar7machine", name.as_str()));
    for (theirs, ours, name) in pairs.chain([("cluster", "beskar7cluster", CLUSTER)]) {
        let owner = stack.get(theirs, name).await?;
        let infrastructure =
            owner["spec"]["infrastructureRef"]["name"].as_str().context("no infrastructure")?;
        let found = stack.get(ours, infrastructure).await?;
        let owners = found["metadata"]["ownerReferences"].as_array().cloned().unwrap_or_default();
        let owned = owners.iter().any(|one| one["uid"] == owner["metadata"]["uid"]);
        ensure!(owned && found["status"]["ready"] == true, "{ours} {infrastructure}: {found:#}");
    }
    Ok(())
}

/// The control plane is spread over the racks that the hosts are in, and each of its machines is in the one that
/// Cluster API chose for it.
async fn is_spread(stack: &Stack) -> Result<()> {
    let mut racks = BTreeSet::new();
    for name in stack.machines(CLUSTER).await?.difference(&stack.machines_of(WORKERS).await?) {
        let host = stack.get("physicalhost", &stack.host_of(name).await?).await?;
        let rack = host["metadata"]["labels"][labels::ZONE].as_str().context("a host in no rack")?.to_owned();
        let machine = stack.get("machine", name).await?;
        ensure!(machine["spec"]["failureDomain"] == rack.as_str(), "{name} is in {rack}: {machine:#}");
        racks.insert(rack);
    }
    ensure!(racks.len() == 2, "three machines in {racks:?}");
    Ok(())
}

/// A worker whose machine loses power is lost, and back when power is back. Nobody replaces it meanwhile.
async fn survives_a_power_cut(stack: &Stack, workload: &Client) -> Result<()> {
    let before = stack.machines(CLUSTER).await?;
    let worker = stack.machines_of(WORKERS).await?.pop_first().context("no worker")?;
    let bmc = stack.racks.bmc(&stack.host_of(&worker).await?)?;
    bmc.with(|bmc, now| bmc.machine.reset(now, "test", ResetType::ForceOff));
    until_lost(workload, &worker).await?;
    // What goes down can't be turned on before it is off.
    wait::until_true("power to come back", LIMIT, || async {
        let outcome = bmc.with(|bmc, now| bmc.machine.reset(now, "test", ResetType::On));
        Ok(if outcome == Outcome::Started { Ok(()) } else { Err(format!("{outcome:?}")) })
    })
    .await?;
    settled(stack, workload, 3).await?;
    ensure!(stack.machines(CLUSTER).await? == before, "a Machine was replaced");
    Ok(())
}

/// A MachineDeployment that is given another template replaces its machines, one after the other.
async fn takes_a_new_template(stack: &Stack, workload: &Client) -> Result<()> {
    let before = stack.machines_of(WORKERS).await?;
    let image = stack.image("next.iso");
    let mut template = stack.get("beskar7machinetemplate", WORKERS).await?;
    template["metadata"] = json!({"name": "next", "namespace": NAMESPACE});
    template["spec"]["template"]["spec"]["imageURL"] = json!(image);
    stack.apply(&template).await?;
    let to = json!({"spec": {"template": {"spec": {"infrastructureRef": {"name": "next"}}}}});
    stack.merge("machinedeployment", WORKERS, &to).await?;
    wait::until_true("every worker to be replaced", LIMIT, || async {
        let now = stack.machines_of(WORKERS).await?;
        Ok(if now.is_disjoint(&before) { Ok(()) } else { Err(format!("{now:?}")) })
    })
    .await?;
    settled(stack, workload, 3).await?;
    for worker in stack.machines_of(WORKERS).await? {
        let host = stack.get("physicalhost", &stack.host_of(&worker).await?).await?;
        ensure!(host["spec"]["bootIsoSource"] == image.as_str(), "{worker}: {host:#}");
    }
    Ok(())
}

/// A MachineHealthCheck replaces a machine whose kubelet is dead.
async fn replaces_a_dead_node(stack: &Stack, workload: &Client) -> Result<()> {
    let before = stack.machines_of(WORKERS).await?;
    let victim = before.first().context("no worker")?;
    stack.workload.fail_node(NAMESPACE, victim).await?;
    wait::until_true(format!("{victim} to be replaced"), LIMIT, || async {
        let now = stack.machines_of(WORKERS).await?;
        Ok(if now.contains(victim) { Err(format!("{now:?}")) } else { Ok(()) })
    })
    .await?;
    settled(stack, workload, 3).await?;
    let kept = stack.machines_of(WORKERS).await?;
    ensure!(kept.intersection(&before).count() == 2, "{before:?} became {kept:?}");
    Ok(())
}

/// Hosts come and go with the replicas of a MachineDeployment.
async fn grows_and_shrinks(stack: &Stack, workload: &Client) -> Result<()> {
    stack.merge("machinedeployment", WORKERS, &json!({"spec": {"replicas": 10}})).await?;
    settled(stack, workload, 10).await?;
    stack.merge("machinedeployment", WORKERS, &json!({"spec": {"replicas": 1}})).await?;
    settled(stack, workload, 1).await
}

/// Three control-plane machines and so many workers are nodes and Available, on a host each, and every other host is
/// free.
async fn settled(stack: &Stack, workload: &Client, workers: usize) -> Result<()> {
    stack.until_replicas("kubeadmcontrolplane", CONTROL_PLANE, 3).await?;
    stack.until_replicas("machinedeployment", WORKERS, workers).await?;
    until_held(stack, workers + 3).await?;
    let machines = stack.machines(CLUSTER).await?;
    ensure!(machines.len() == workers + 3, "{machines:?}");
    until_ready(workload, &machines).await?;
    let mut hosts = BTreeSet::new();
    for machine in &machines {
        hosts.insert(stack.host_of(machine).await?);
    }
    ensure!(hosts == held(stack).await?, "{hosts:?} are the Machines', others are held");
    Ok(())
}

/// A deleted Cluster leaves its hosts to the next one, and nothing else.
pub async fn goes_without_a_trace(stack: &Stack, cluster: &str) -> Result<()> {
    let delete = ["-n", NAMESPACE, "delete", "cluster", cluster, "--timeout=180s"];
    stack.plane.kubectl(&delete).await?.success()?;
    until_held(stack, 0).await?;
    let kinds =
        "beskar7machines,beskar7clusters,machines,machinesets,machinedeployments,kubeadmcontrolplanes";
    wait::until_true("everything of the cluster to be gone", LIMIT, || async {
        let left = stack.plane.kubectl(&["-n", NAMESPACE, "get", kinds, "-o", "name"]).await?.success()?;
        Ok(if left.is_empty() { Ok(()) } else { Err(left) })
    })
    .await?;
    let secrets = Api::<Secret>::namespaced(stack.client.clone(), NAMESPACE);
    let copies = secrets.list(&ListParams::default().labels(labels::CLAIM_ID)).await?;
    let copies: Vec<String> = copies.iter().map(ResourceExt::name_any).collect();
    ensure!(copies.is_empty(), "{copies:?}");
    wait::until_true("the workload cluster to end", LIMIT, || async {
        let count = stack.workload.count().await;
        Ok(if count == 0 { Ok(()) } else { Err(format!("{count} run")) })
    })
    .await?;
    Ok(())
}

//! A cluster of the ClusterClass, from the flavour `topology` to its end: what is changed in the one object becomes of
//! all others.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use anyhow::{Context, Result, ensure};
use beskar7_api::labels;
use beskar7_e2e::wait;
use kube::Client;
use serde_json::json;

use super::describe::{a_healthy_cluster_reads_well, a_waiting_cluster_says_why};
use super::hosts::until_held;
use super::life::goes_without_a_trace;
use super::nodes::until_ready;
use super::stack::{LIMIT, NAMESPACE, Stack};

const CLUSTER: &str = "classy";
const CONTROL_PLANE: &str = "classy-control-plane";
const WORKERS: &str = "classy-md-0";
const IN_A_ZONE: &str = "classy-rack-2";

/// One for the control plane and one that it takes for a rollout, three for the workers and three, one in a zone.
const HOSTS: usize = 9;

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_of_the_class_comes_up_changes_scales_and_goes() -> Result<()> {
    let stack = Stack::start(HOSTS, Ipv4Addr::new(127, 70, 0, 1)).await?;
    let workload = comes_up(&stack).await.context("coming up")?;
    a_healthy_cluster_reads_well(&stack, CLUSTER).await.context("describing it")?;
    rolls_for_a_variable(&stack, &workload).await.context("another image")?;
    scales_into_a_zone(&stack, &workload).await.context("scaling")?;
    waits_for_hosts(&stack, &workload).await.context("too many workers")?;
    goes_without_a_trace(&stack, CLUSTER).await.context("going")?;
    let left = stack.plane.kubectl(&["-n", NAMESPACE, "get", "b7mt", "-o", "name"]).await?.success()?;
    ensure!(left.lines().count() == 2, "the class has two templates, and there are\n{left}");
    let strays = stack.workload.strays();
    ensure!(strays.is_empty(), "{strays:?}");
    stack.stop().await
}

async fn comes_up(stack: &Stack) -> Result<Client> {
    stack.apply_topology(CLUSTER, 1, 2).await?;
    stack.until_condition("cluster", CLUSTER, "TopologyReconciled").await?;
    settled(stack, 2).await?;
    stack.until_condition("cluster", CLUSTER, "Available").await?;
    let workload = stack.workload.client(NAMESPACE, CLUSTER).await?;
    until_ready(&workload, &stack.machines(CLUSTER).await?).await?;
    let health = stack.get("machinehealthcheck", WORKERS).await?;
    ensure!(health["spec"]["checks"]["nodeStartupTimeoutSeconds"] == 3600, "{:#}", health["spec"]);
    Ok(workload)
}

/// The control plane and the workers have as many machines as they should, each as it should be.
async fn settled(stack: &Stack, workers: usize) -> Result<()> {
    let there = |kind: &'static str, name: &'static str| async move {
        wait::until_true(format!("{kind} {name} to be made"), LIMIT, || async {
            stack.check().await?;
            let found = stack.get(kind, name).await;
            let told = stack.get("cluster", CLUSTER).await?;
            Ok(found.map(drop).map_err(|_| format!("{:#}", told["status"]["conditions"])))
        })
        .await
    };
    there("kubeadmcontrolplane", CONTROL_PLANE).await?;
    there("machinedeployment", WORKERS).await?;
    stack.until_replicas("kubeadmcontrolplane", CONTROL_PLANE, 1).await?;
    stack.until_replicas("machinedeployment", WORKERS, workers).await
}

/// A variable that goes into the templates of machines replaces them all: the topology controller tries the new template
/// with a dry run, which a template that can't change has to allow.
async fn rolls_for_a_variable(stack: &Stack, workload: &Client) -> Result<()> {
    let before = stack.machines(CLUSTER).await?;
    let image = stack.image("next.iso");
    stack
        .edit(CLUSTER, |topology| {
            let all = topology["variables"].as_array_mut().into_iter().flatten();
            all.filter(|one| one["name"] == "imageURL").for_each(|one| one["value"] = json!(image));
        })
        .await?;
    wait::until_true("every machine to be replaced", LIMIT, || async {
        stack.check().await?;
        let now = stack.machines(CLUSTER).await?;
        Ok(if now.is_disjoint(&before) { Ok(()) } else { Err(format!("{now:?}")) })
    })
    .await?;
    settled(stack, 2).await?;
    let machines = stack.machines(CLUSTER).await?;
    until_ready(workload, &machines).await?;
    for machine in machines {
        let host = stack.get("physicalhost", &stack.host_of(&machine).await?).await?;
        ensure!(host["spec"]["bootIsoSource"] == image.as_str(), "{machine}: {host:#}");
    }
    until_held(stack, 3).await?;
    let audit = stack.plane.audit()?;
    let tried = audit.iter().filter(|event| {
        event.object_ref.resource == "beskar7machinetemplates" && event.request_uri.contains("dryRun=All")
    });
    let answers: BTreeSet<u16> = tried.map(|event| event.response_status.code).collect();
    ensure!(answers == BTreeSet::from([200]), "dry runs of templates were answered {answers:?}");
    Ok(())
}

/// Another set of workers, in one zone; nothing is replaced for it.
async fn scales_into_a_zone(stack: &Stack, workload: &Client) -> Result<()> {
    let before = stack.machines(CLUSTER).await?;
    stack
        .edit(CLUSTER, |topology| {
            if let Some(sets) = topology["workers"]["machineDeployments"].as_array_mut() {
                sets[0]["replicas"] = json!(3);
                sets.push(
                    json!({"class": "worker", "name": "rack-2", "failureDomain": "rack-2", "replicas": 1}),
                );
            }
        })
        .await?;
    settled(stack, 3).await?;
    wait::until_true("the workers of a zone", LIMIT, || async {
        let found = stack.machines_of(IN_A_ZONE).await?;
        Ok(if found.len() == 1 { Ok(()) } else { Err(format!("{found:?}")) })
    })
    .await?;
    stack.until_replicas("machinedeployment", IN_A_ZONE, 1).await?;
    let machines = stack.machines(CLUSTER).await?;
    until_ready(workload, &machines).await?;
    ensure!(machines.is_superset(&before), "{before:?} became {machines:?}");
    for machine in stack.machines_of(IN_A_ZONE).await? {
        let host = stack.get("physicalhost", &stack.host_of(&machine).await?).await?;
        ensure!(host["metadata"]["labels"][labels::ZONE] == "rack-2", "{host:#}");
    }
    Ok(())
}

/// More workers than hosts: those that have none say why, and go again.
async fn waits_for_hosts(stack: &Stack, workload: &Client) -> Result<()> {
    let scale = async |replicas: usize| {
        stack
            .edit(CLUSTER, |topology| {
                topology["workers"]["machineDeployments"][0]["replicas"] = json!(replicas)
            })
            .await
    };
    scale(HOSTS).await?;
    a_waiting_cluster_says_why(stack, CLUSTER, HOSTS).await?;
    scale(1).await?;
    settled(stack, 1).await?;
    until_held(stack, 3).await?;
    until_ready(workload, &stack.machines(CLUSTER).await?).await
}

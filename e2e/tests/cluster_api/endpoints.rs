//! Clusters that nobody gave an endpoint: the address of a reserved host, of a machine that came up by itself, or a word
//! about what is missing.

use std::net::Ipv4Addr;

use anyhow::{Context, Result, ensure};
use beskar7_e2e::wait;
use serde_json::{Value, json};

use super::hosts::until_held;
use super::stack::{LIMIT, NAMESPACE, Stack};

const HOSTS: usize = 3;
/// Where what runs on the machines is reached: on this machine, as everything.
const MACHINES: Ipv4Addr = Ipv4Addr::new(127, 52, 0, 1);

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_without_an_endpoint_finds_one_or_says_what_it_needs() -> Result<()> {
    let stack = Stack::start(HOSTS, Ipv4Addr::new(127, 51, 0, 1)).await?;
    let names: Vec<String> = stack.racks.names().map(str::to_owned).collect();
    for (number, host) in names.iter().enumerate() {
        let address = Ipv4Addr::from(u32::from(MACHINES) + u32::try_from(number)?).to_string();
        let declared = json!({"spec": {"addresses": [{"type": "InternalIP", "address": address}]}});
        stack.merge("physicalhost", host, &declared).await?;
    }
    one_replica_comes_up_on_a_reserved_host(&stack).await.context("one replica")?;
    three_replicas_wait_and_ask_for_an_address(&stack).await.context("three replicas")?;
    machines_by_themselves_are_discovered(&stack).await.context("machines by themselves")?;
    stack.stop().await
}

/// The condition ControlPlaneEndpointReady: its status, reason and message.
async fn endpoint_ready(stack: &Stack, cluster: &str) -> Result<[String; 3]> {
    let found = stack.get("beskar7cluster", cluster).await?;
    let all = found.pointer("/status/conditions").and_then(Value::as_array).cloned().unwrap_or_default();
    let one = all.into_iter().find(|one| one["type"] == "ControlPlaneEndpointReady").unwrap_or_default();
    Ok(["status", "reason", "message"].map(|field| one[field].as_str().unwrap_or_default().to_owned()))
}

async fn until_reason(stack: &Stack, cluster: &str, reason: &str) -> Result<String> {
    wait::until_true(format!("{cluster} to say {reason}"), LIMIT, || async {
        stack.check().await?;
        let found = endpoint_ready(stack, cluster).await?;
        Ok(if found[1] == reason { Ok(()) } else { Err(format!("{found:?}")) })
    })
    .await?;
    Ok(endpoint_ready(stack, cluster).await?[2].clone())
}

/// The endpoint that Cluster API took up.
async fn endpoint(stack: &Stack, cluster: &str) -> Result<String> {
    let found = stack.get("cluster", cluster).await?;
    let endpoint = &found["spec"]["controlPlaneEndpoint"];
    Ok(format!("{}:{}", endpoint["host"].as_str().unwrap_or_default(), endpoint["port"]))
}

async fn delete(stack: &Stack, cluster: &str) -> Result<()> {
    stack
        .plane
        .kubectl(&["-n", NAMESPACE, "delete", "cluster", cluster, "--timeout=180s"])
        .await?
        .success()?;
    until_held(stack, 0).await?;
    let hosts =
        stack.plane.kubectl(&["-n", NAMESPACE, "get", "physicalhosts", "-o", "json"]).await?.success()?;
    ensure!(!hosts.contains("reservedFor"), "a host is still kept: {hosts}");
    Ok(())
}

async fn one_replica_comes_up_on_a_reserved_host(stack: &Stack) -> Result<()> {
    stack.apply_cluster_without_endpoint("solo", 1).await?;
    let told = until_reason(stack, "solo", "HostReserved").await?;
    ensure!(told.contains("rollout"), "{told}");
    stack.until_condition("kubeadmcontrolplane", "solo-control-plane", "Available").await?;
    let machine = stack.machines("solo").await?.pop_first().context("no Machine")?;
    let host = stack.get("physicalhost", &stack.host_of(&machine).await?).await?;
    let address = host["spec"]["addresses"][0]["address"].as_str().context("no address")?;
    ensure!(
        endpoint(stack, "solo").await? == format!("{address}:6443"),
        "{:?}",
        endpoint(stack, "solo").await?
    );
    delete(stack, "solo").await
}

async fn three_replicas_wait_and_ask_for_an_address(stack: &Stack) -> Result<()> {
    stack.apply_cluster_without_endpoint("trio", 3).await?;
    let told = until_reason(stack, "trio", "EndpointNeeded").await?;
    ensure!(told.contains("kube-vip"), "{told}");
    ensure!(stack.machines("trio").await?.is_empty(), "Machines without an endpoint");
    delete(stack, "trio").await
}

async fn machines_by_themselves_are_discovered(stack: &Stack) -> Result<()> {
    let image = stack.image("node.iso");
    let infrastructure =
        |kind: &str| json!({"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": kind, "name": "lone"});
    let metadata = json!({"name": "lone", "namespace": NAMESPACE});
    let ours = |kind: &str, spec: Value| json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": kind, "metadata": metadata, "spec": spec});
    let theirs = |kind: &str, spec: Value| json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": kind, "metadata": metadata, "spec": spec});
    let mut machine = theirs(
        "Machine",
        json!({"clusterName": "lone", "bootstrap": {"dataSecretName": "lone-data"},
            "infrastructureRef": infrastructure("Beskar7Machine")}),
    );
    machine["metadata"]["labels"] =
        json!({"cluster.x-k8s.io/control-plane": "", "cluster.x-k8s.io/cluster-name": "lone"});
    let secret = json!({"apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": "lone-data", "namespace": NAMESPACE}, "stringData": {"value": "#cloud-config"}});
    let items = [
        theirs("Cluster", json!({"infrastructureRef": infrastructure("Beskar7Cluster")})),
        ours("Beskar7Cluster", json!({})),
        secret,
        ours("Beskar7Machine", json!({"provisioningMode": "PreBakedISO", "imageURL": image})),
        machine,
    ];
    stack.apply(&json!({"apiVersion": "v1", "kind": "List", "items": items})).await?;
    until_reason(stack, "lone", "EndpointDiscovered").await?;
    let host = stack.get("physicalhost", &stack.host_of("lone").await?).await?;
    let address = host["spec"]["addresses"][0]["address"].as_str().context("no address")?;
    wait::until_true("Cluster API to take up the endpoint", LIMIT, || async {
        let found = endpoint(stack, "lone").await?;
        Ok(if found == format!("{address}:6443") { Ok(()) } else { Err(found) })
    })
    .await?;
    delete(stack, "lone").await
}

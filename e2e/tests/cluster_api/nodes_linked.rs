//! Nodes whose kubelets were told no providerID: found by the UUID of their boards, given the labels of their hosts, or
//! refused with words.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use anyhow::{Context, Result, ensure};
use beskar7_api::labels;
use beskar7_e2e::wait::{self, Seen};
use beskar7_e2e::workload::Kubelets;
use k8s_openapi::api::core::v1::Node;
use k8s_openapi::jiff::Timestamp;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt as _};
use serde_json::{Value, json};

use super::hosts::held;
use super::nodes::until_ready;
use super::stack::{LIMIT, NAMESPACE, Stack};

const CLUSTER: &str = "untold";
const CONTROL_PLANE: &str = "untold-control-plane";
const WORKERS: &str = "untold-md-0";
const ROW: &str = "node.beskar7.io/row";

/// One for the control plane, two for workers, and one that nobody holds at first.
const HOSTS: usize = 4;

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_was_told_nothing_is_found_by_its_board_and_labelled_like_its_host() -> Result<()> {
    let stack = Stack::start_with(HOSTS, Ipv4Addr::new(127, 53, 0, 1), Kubelets::Untold).await?;
    let workload = comes_up(&stack).await.context("coming up")?;
    is_linked_in_both_byte_orders(&stack, &workload).await.context("being linked")?;
    has_its_hosts_labels(&stack, &workload).await.context("labels")?;
    refuses_two_nodes_of_one_board(&stack, &workload).await.context("two Nodes of one board")?;
    stack.stop().await
}

async fn comes_up(stack: &Stack) -> Result<Client> {
    stack.apply_cluster(CLUSTER, 1, 2).await?;
    stack.until_condition("machinedeployment", WORKERS, "Available").await?;
    stack.until_condition("kubeadmcontrolplane", CONTROL_PLANE, "Available").await?;
    stack.workload.client(NAMESPACE, CLUSTER).await
}

/// Cluster API knows the Node of each Machine, which only the providerID tells it.
async fn is_linked_in_both_byte_orders(stack: &Stack, workload: &Client) -> Result<()> {
    let machines = stack.machines(CLUSTER).await?;
    until_ready(workload, &machines).await?;
    let mut orders = BTreeSet::new();
    for name in &machines {
        stack.until_condition("beskar7machine", name, "NodeLinked").await?;
        let node = Api::<Node>::all(workload.clone()).get(name).await?;
        let host = stack.host_of(name).await?;
        let id = node.spec.and_then(|spec| spec.provider_id);
        ensure!(id.as_deref() == Some(&format!("b7://{NAMESPACE}/{host}")), "{name} is {id:?}");
        let machine = stack.get("machine", name).await?;
        ensure!(machine["status"]["nodeRef"]["name"] == name.as_str(), "{machine:#}");
        let told = stack.get("physicalhost", &host).await?;
        let told = told["status"]["hardwareDetails"]["uuid"].as_str().unwrap_or_default().to_lowercase();
        let info = node.status.and_then(|status| status.node_info).context("no nodeInfo")?;
        orders.insert(info.system_uuid.to_lowercase() == told);
    }
    ensure!(orders.len() == 2, "all boards tell their UUIDs in the same order as their BMCs: {orders:?}");
    Ok(())
}

async fn label(stack: &Stack, host: &str, value: Option<&str>) -> Result<()> {
    stack.merge("physicalhost", host, &json!({"metadata": {"labels": {ROW: value}}})).await
}

async fn until_label(nodes: &Api<Node>, node: &str, label: &str, value: Option<&str>) -> Result<()> {
    wait::until_true(format!("the node {node} to have {label}={value:?}"), LIMIT, || async move {
        let found = nodes.get(node).await?.metadata.labels.unwrap_or_default().get(label).cloned();
        Ok(if found.as_deref() == value { Ok(()) } else { Err(format!("{found:?}")) })
    })
    .await?;
    Ok(())
}

/// What the condition NodeLinked says: its status, reason and message.
async fn until_told(stack: &Stack, machine: &str, reason: &str, word: &str) -> Result<Value> {
    let found = wait::until(format!("{machine} to say {reason} with {word}"), LIMIT, || async {
        stack.check().await?;
        let found = stack.get("beskar7machine", machine).await?;
        let all = found["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let told = all.iter().find(|one| one["type"] == "NodeLinked").cloned().unwrap_or_default();
        let says =
            told["reason"] == reason && told["message"].as_str().is_some_and(|said| said.contains(word));
        Ok(if says { Seen::Done(found) } else { Seen::NotYet(format!("{:#}", Value::from(all))) })
    });
    Ok(found.await?)
}

/// They come, change and go with those of the host, and what others set stays theirs.
async fn has_its_hosts_labels(stack: &Stack, workload: &Client) -> Result<()> {
    let nodes = Api::<Node>::all(workload.clone());
    let node = stack.machines_of(WORKERS).await?.pop_first().context("no worker")?;
    let host = stack.host_of(&node).await?;
    let rack = stack.get("physicalhost", &host).await?;
    let rack = rack["metadata"]["labels"][labels::ZONE].as_str().context("a host in no rack")?.to_owned();
    until_label(&nodes, &node, labels::ZONE, Some(&rack)).await?;

    label(stack, &host, Some("7")).await?;
    until_label(&nodes, &node, ROW, Some("7")).await?;
    label(stack, &host, Some("8")).await?;
    until_label(&nodes, &node, ROW, Some("8")).await?;
    label(stack, &host, None).await?;
    until_label(&nodes, &node, ROW, None).await?;
    until_label(&nodes, &node, labels::ZONE, Some(&rack)).await?;

    let theirs = json!({"metadata": {"labels": {ROW: "theirs"}}});
    nodes.patch(&node, &PatchParams::default(), &Patch::Merge(&theirs)).await?;
    label(stack, &host, Some("9")).await?;
    until_told(stack, &node, "Linked", ROW).await?;
    until_label(&nodes, &node, ROW, Some("theirs")).await?;
    label(stack, &host, None).await?;
    Ok(())
}

/// Nothing is written while two Nodes could be it; the word for it says what to do, and is gone with the second Node.
async fn refuses_two_nodes_of_one_board(stack: &Stack, workload: &Client) -> Result<()> {
    let nodes = Api::<Node>::all(workload.clone());
    let held = held(stack).await?;
    let free = stack.racks.names().find(|host| !held.contains(*host)).context("no free host")?.to_owned();
    let uuid = stack.get("physicalhost", &free).await?["status"]["hardwareDetails"]["uuid"].clone();
    let twin: Node = serde_json::from_value(json!({"metadata": {"name": "twin"}}))?;
    let made = nodes.create(&PostParams::default(), &twin).await?.creation_timestamp().context("no time")?.0;
    let info = json!({"status": {"nodeInfo": {
        "systemUUID": uuid, "machineID": "", "bootID": "", "kernelVersion": "", "osImage": "",
        "containerRuntimeVersion": "", "kubeletVersion": "", "kubeProxyVersion": "",
        "operatingSystem": "", "architecture": "",
    }}});
    nodes.patch_status("twin", &PatchParams::default(), &Patch::Merge(&info)).await?;

    // Times are told in seconds: a machine of the same one would not be younger.
    wait::until_true("the twin's second to be over", LIMIT, || async {
        let now = Timestamp::now();
        Ok(if now.as_second() > made.as_second() { Ok(()) } else { Err(now.to_string()) })
    })
    .await?;
    let before = stack.machines_of(WORKERS).await?;
    stack.merge("machinedeployment", WORKERS, &json!({"spec": {"replicas": 3}})).await?;
    let new = wait::until("a third worker", LIMIT, || async {
        let now = stack.machines_of(WORKERS).await?;
        Ok(now.difference(&before).next().cloned().map_or(Seen::NotYet(format!("{now:?}")), Seen::Done))
    })
    .await?;
    let flag = format!("--provider-id=b7://{NAMESPACE}/{free}");
    until_told(stack, &new, "SeveralNodesMatch", &flag).await?;
    // Its infrastructure is there, and it is not Ready: who looks at one condition sees what to do.
    let machine = wait::until("the machine to be provisioned and not Ready", LIMIT, || async {
        let found = stack.get("beskar7machine", &new).await?;
        let all = found["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let status = |type_: &str| {
            all.iter().find(|one| one["type"] == type_).map(|one| one["status"].clone()).unwrap_or_default()
        };
        let so = status("InfrastructureReady") == "True" && status("Ready") == "False";
        Ok(if so { Seen::Done(found) } else { Seen::NotYet(format!("{:#}", Value::from(all))) })
    })
    .await?;
    ensure!(machine["spec"]["providerID"] == format!("b7://{NAMESPACE}/{free}"), "{machine:#}");
    for name in [new.as_str(), "twin"] {
        let id = nodes.get(name).await?.spec.and_then(|spec| spec.provider_id);
        ensure!(id.is_none(), "{name} was given {id:?}");
    }

    nodes.delete("twin", &DeleteParams::default()).await?;
    stack.until_condition("beskar7machine", &new, "NodeLinked").await?;
    stack.until_condition("beskar7machine", &new, "Ready").await?;
    stack.until_condition("machinedeployment", WORKERS, "Available").await
}

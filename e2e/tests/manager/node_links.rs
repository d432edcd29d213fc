//! Nodes in workload clusters, where each cluster is this control plane itself, a server that never answers, or none.

use std::net::Ipv4Addr;

use anyhow::{Context, Result, ensure};
use beskar7_api::{Beskar7Machine, cluster_api};
use beskar7_e2e::wait;
use beskar7_redfish_sim::profiles;
use k8s_openapi::api::core::v1::Node;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::bmcs::Bmcs;
use super::owners::*;
use super::setup::*;
use super::site::{FLAGS, Site, name};

const LINKED: &str = "NodeLinked";

/// A Cluster whose infrastructure is ready.
async fn make_another_cluster(client: &Client, name: &str) -> Result<()> {
    let cluster: cluster_api::Cluster = serde_json::from_value(json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": {"name": name},
        "spec": {}, "status": {"initialization": {"infrastructureProvisioned": true}},
    }))?;
    owner_clusters(client).create(&PostParams::default(), &cluster).await?;
    Ok(())
}

/// Where Cluster API puts a kubeconfig.
async fn give_kubeconfig(client: &Client, cluster: &str, kubeconfig: &str) -> Result<()> {
    make_secret(client, &format!("{cluster}-kubeconfig"), &json!({ "value": kubeconfig })).await
}

/// A kubeconfig for a server, with this user.
fn kubeconfig(server: &str, user: &Value) -> String {
    json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "w", "user": "u"}}],
        "clusters": [{"name": "w", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": user}],
    })
    .to_string()
}

fn nodes(client: &Client) -> Api<Node> {
    Api::all(client.clone())
}

/// A Node on the board of a host.
async fn join(site: &Site, node: &str, host: &str) -> Result<()> {
    let found = hosts(&site.client, HOSTS).get(host).await?;
    let details = found.status.and_then(|status| status.hardware_details).context("not inspected")?;
    let uuid = details.hardware.uuid.context("no UUID")?.to_uppercase();
    let made = serde_json::from_value(json!({"metadata": {"name": node}}))?;
    nodes(&site.client).create(&PostParams::default(), &made).await?;
    let info = json!({"status": {"nodeInfo": {
        "systemUUID": uuid, "machineID": "", "bootID": "", "kernelVersion": "", "osImage": "",
        "containerRuntimeVersion": "", "kubeletVersion": "", "kubeProxyVersion": "",
        "operatingSystem": "", "architecture": "",
    }}});
    nodes(&site.client).patch_status(node, &PatchParams::default(), &Patch::Merge(&info)).await?;
    Ok(())
}

/// Waits until a machine says this of its Node, and returns the message.
async fn until_told(client: &Client, machine: &str, reason: &str) -> Result<String> {
    let says = |machine: &Beskar7Machine| told(machine, LINKED).is_some_and(|told| told.1 == reason);
    let found = until_machine(client, machine, reason, says).await?;
    Ok(told(&found, LINKED).context("just seen")?.2)
}

async fn provider_id(client: &Client, node: &str) -> Result<Option<String>> {
    Ok(nodes(client).get(node).await?.spec.and_then(|spec| spec.provider_id))
}

async fn host_of(client: &Client, machine: &str) -> Result<String> {
    let found = until_phase(client, machine, "Provisioned").await?;
    let id = found.spec.provider_id.context("just provisioned")?;
    Ok(id.rsplit('/').next().unwrap_or_default().to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workload_cluster_that_hangs_is_gone_or_can_not_be_used_delays_no_other() -> Result<()> {
    // One machine at a time: whoever waited for a cluster would hold up all others.
    let flags = [FLAGS.as_slice(), &["--beskar7machine-concurrency=1"]].concat();
    let site = Site::open_with(&flags, Ipv4Addr::new(127, 44, 60, 1), 4, |_| json!({})).await?;
    let client = &site.client;
    // Connections are taken, by the kernel, and nothing is ever said.
    let silent = TcpListener::bind("127.0.0.1:0").await?;
    let gone = TcpListener::bind("127.0.0.1:0").await?;
    let gone_at = format!("http://{}", gone.local_addr()?);
    drop(gone);
    let proof = site.plane.directory().join("a-program-was-run");
    let program = json!({"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "touch",
        "args": [proof.to_string_lossy()], "interactiveMode": "Never"}});
    for (cluster, config) in [
        ("stuck", kubeconfig(&format!("http://{}", silent.local_addr()?), &json!({"token": PASSWORD}))),
        ("gone", kubeconfig(&gone_at, &json!({"token": PASSWORD}))),
        ("program", kubeconfig(&gone_at, &program)),
    ] {
        make_another_cluster(client, cluster).await?;
        give_kubeconfig(client, cluster, &config).await?;
        let owner = json!({"spec": {"clusterName": cluster}});
        make_machine(client, &format!("of-{cluster}"), &site.image, &owner, &json!({})).await?;
        until_phase(client, &format!("of-{cluster}"), "Provisioned").await?;
    }

    make_machine(client, "m", &site.image, &json!({}), &json!({})).await?;
    let told_first = until_told(client, "m", "KubeconfigNotFound").await?;
    ensure!(told_first.contains("metal/edge-kubeconfig"), "{told_first}");
    let admin = std::fs::read_to_string(site.plane.kubeconfig())?;
    give_kubeconfig(client, CLUSTER, &admin).await?;
    let waits = until_told(client, "m", "WaitingForNode").await?;
    let host = host_of(client, "m").await?;
    ensure!(waits.contains(&format!("b7://metal/{host}")), "{waits}");
    join(&site, "m", &host).await?;
    until_told(client, "m", "Linked").await?;
    ensure!(provider_id(client, "m").await? == Some(format!("b7://metal/{host}")));

    let hangs = until_told(client, "of-stuck", "WorkloadClusterUnreachable").await?;
    ensure!(hangs.contains("did not answer within"), "{hangs}");
    let refused = until_told(client, "of-gone", "WorkloadClusterUnreachable").await?;
    ensure!(refused.contains("refused"), "{refused}");
    let unusable = until_told(client, "of-program", "KubeconfigNotUsable").await?;
    ensure!(unusable.contains("exec"), "{unusable}");
    ensure!(!proof.exists(), "the program of a kubeconfig was run");
    // Their infrastructure is there, which is all that they owe.
    for machine in ["of-stuck", "of-gone", "of-program"] {
        let ready = told(&machines(client).get(machine).await?, "Ready").context("no Ready")?;
        ensure!(ready.0 == "True", "{machine}: {ready:?}");
    }
    site.close().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_appears_while_its_host_boots_is_proof_and_one_of_an_earlier_life_is_none() -> Result<()>
{
    // Slow enough that the Node is there before the BMC tells of the boot.
    let make = profiles::by_name("openbmc").context("no such profile")?;
    let bmcs = Bmcs::start_at(2.0, Ipv4Addr::new(127, 44, 61, 1), 1, make).await?;
    let site = Site::open_before(&["--bmc-poll-interval=1s"], bmcs, 1, |_| json!({})).await?;
    let client = &site.client;
    give_kubeconfig(client, CLUSTER, &std::fs::read_to_string(site.plane.kubeconfig())?).await?;
    join(&site, "earlier", &name(0)).await?;
    // Times are whole seconds here: the machine is to be younger than that Node.
    let earlier = nodes(client).get("earlier").await?.metadata.creation_timestamp.context("no time")?.0;
    wait::until_true("another second", LIMIT, || async {
        let now = this_second();
        Ok(if now > earlier.as_second() { Ok(()) } else { Err(format!("{now}")) })
    })
    .await?;
    make_machine(client, "m", &site.image, &json!({}), &json!({})).await?;
    let message = until_told(client, "m", "NodeOfEarlierBoot").await?;
    ensure!(message.contains("Node earlier"), "{message}");
    let host = site.host(0).await?;
    let heard = host.metadata.annotations.clone().unwrap_or_default();
    ensure!(!heard.keys().any(|key| key.ends_with("/heard")), "{heard:?}");
    ensure!(provider_id(client, "earlier").await?.is_none());

    nodes(client).delete("earlier", &DeleteParams::default()).await?;
    join(&site, "m", &name(0)).await?;
    until_condition(client, &name(0), "HostProvisioned", "True", "NodeSeen").await?;
    until_told(client, "m", "Linked").await?;
    let machine = until_phase(client, "m", "Provisioned").await?;
    ensure!(machine.spec.provider_id == provider_id(client, "m").await?, "{:?}", machine.spec);
    site.close().await
}

/// The second that it is.
fn this_second() -> i64 {
    k8s_openapi::jiff::Timestamp::now().as_second()
}

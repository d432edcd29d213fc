//! Beskar7Machines on simulated hosts, with Cluster API's side written by hand: which host they get, and how they keep it.

use std::net::Ipv4Addr;

use anyhow::{Context, Result, ensure};
use beskar7_api::HostState;
use beskar7_e2e::wait;
use beskar7_redfish_sim::machine::log::Action;
use kube::api::{Patch, PatchParams};
use serde_json::json;

use super::life::until_state;
use super::owners::*;
use super::setup::*;
use super::site::{Site, name};

#[tokio::test(flavor = "multi_thread")]
async fn acts_as_the_infrastructure_of_one_machine_until_that_is_deleted() -> Result<()> {
    let addresses = json!({"spec": {"addresses": [{"type": "InternalIP", "address": "10.9.0.1"}]},
        "metadata": {"labels": {"topology.kubernetes.io/zone": "rack-1"}}});
    let site = Site::open(Ipv4Addr::new(127, 44, 0, 1), 1, |_| addresses.clone()).await?;
    let client = &site.client;
    make_machine(client, "m", &site.image, &json!({}), &json!({})).await?;
    let machine = until_phase(client, "m", "Provisioned").await?;
    ensure!(machine.spec.provider_id.as_deref() == Some("b7://metal/h-0"), "{:?}", machine.spec);
    let status = machine.status.context("just seen")?;
    ensure!(status.ready && status.initialization.and_then(|found| found.provisioned) == Some(true));
    ensure!(status.addresses.iter().any(|found| found.address == "10.9.0.1"), "{:?}", status.addresses);
    ensure!(status.failure_domain.as_deref() == Some("rack-1"));
    let host = site.host(0).await?;
    ensure!(host.spec.boot_iso_source.as_deref() == Some(site.image.as_str()));
    ensure!(host.spec.consumer_ref.and_then(|found| found.name).as_deref() == Some("m"));

    // A second one waits, and says for what; it is served when the first one goes.
    make_machine(client, "n", &site.image, &json!({}), &json!({})).await?;
    let told = until_waiting(client, "n", "WaitingForPhysicalHost").await?;
    ensure!(told == "0 of 1 host matches: 1 claimed", "{told}");
    delete_machine(client, "m").await?;
    until_gone(client, "m").await?;
    until_phase(client, "n", "Provisioned").await?;
    delete_machine(client, "n").await?;
    until_gone(client, "n").await?;
    until_state(client, "h-0", HostState::Available).await?;
    ensure!(site.is_off_and_empty(0)?);
    let host = site.host(0).await?;
    ensure!(
        host.spec.consumer_ref.is_none()
            && host.spec.claim_id.is_none()
            && host.spec.boot_iso_source.is_none()
    );
    site.close().await
}

#[tokio::test(flavor = "multi_thread")]
async fn finds_an_available_physical_host_in_the_same_namespace() -> Result<()> {
    let site = Site::open(Ipv4Addr::new(127, 44, 1, 1), 2, |_| json!({})).await?;
    let client = &site.client;
    // One is cordoned, and a third is as good as the second, but in another namespace.
    patch_host(client, &name(0), &json!({"spec": {"cordoned": "a fan is being replaced"}})).await?;
    site.plane.kubectl(&["create", "namespace", "elsewhere"]).await?.success()?;
    make_host(client, "elsewhere", "foreign", &json!({})).await?;
    make_machine(client, "m", &site.image, &json!({}), &json!({})).await?;
    let machine = until_phase(client, "m", "Provisioned").await?;
    ensure!(machine.spec.provider_id.as_deref() == Some("b7://metal/h-1"), "{:?}", machine.spec.provider_id);
    make_machine(client, "n", &site.image, &json!({}), &json!({})).await?;
    let told = until_waiting(client, "n", "WaitingForPhysicalHost").await?;
    ensure!(told == "0 of 2 hosts match: 1 claimed, 1 cordoned", "{told}");
    // What could help it wakes it.
    patch_host(client, &name(0), &json!({"spec": {"cordoned": null}})).await?;
    until_phase(client, "n", "Provisioned").await?;
    ensure!(hosts(client, "elsewhere").get("foreign").await?.spec.consumer_ref.is_none());
    site.close().await
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_done_while_it_is_paused_not_even_a_release() -> Result<()> {
    let site = Site::open(Ipv4Addr::new(127, 44, 3, 1), 1, |_| json!({})).await?;
    let client = &site.client;
    patch_cluster(client, &json!({"spec": {"paused": true}})).await?;
    make_machine(client, "m", &site.image, &json!({}), &json!({})).await?;
    let is_paused =
        |machine: &beskar7_api::Beskar7Machine| told(machine, "Paused").is_some_and(|told| told.0 == "True");
    let machine = until_machine(client, "m", "paused", is_paused).await?;
    ensure!(machine.metadata.annotations.is_none() && machine.metadata.finalizers.is_none());
    patch_cluster(client, &json!({"spec": {"paused": false}})).await?;
    until_phase(client, "m", "Provisioned").await?;

    let pause = json!({"metadata": {"annotations": {"cluster.x-k8s.io/paused": "true"}}});
    machines(client).patch("m", &PatchParams::default(), &Patch::Merge(&pause)).await?;
    until_machine(client, "m", "paused", is_paused).await?;
    site.bmc(0, |bmc| bmc.machine.clear_log())?;
    delete_machine(client, "m").await?;
    let marked = |machine: &beskar7_api::Beskar7Machine| machine.metadata.deletion_timestamp.is_some();
    let machine = until_machine(client, "m", "marked for deletion", marked).await?;
    ensure!(machine.metadata.finalizers.is_some_and(|all| all.len() == 1));
    // A look at the host that came after the deletion shows that it is left alone.
    patch_host(client, &name(0), &json!({"metadata": {"labels": {"looked": "at"}}})).await?;
    until_condition(client, &name(0), "HostProvisioned", "True", "BootProgressSeen").await?;
    ensure!(site.host(0).await?.spec.consumer_ref.is_some());
    ensure!(site.done_to(0)?.is_empty(), "{:?}", site.done_to(0)?);

    let resume = json!({"metadata": {"annotations": {"cluster.x-k8s.io/paused": null}}});
    machines(client).patch("m", &PatchParams::default(), &Patch::Merge(&resume)).await?;
    until_gone(client, "m").await?;
    ensure!(site.is_off_and_empty(0)?);
    site.close().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_that_somebody_takes_off_is_put_back_and_the_machine_runs_on() -> Result<()> {
    let site = Site::open(Ipv4Addr::new(127, 44, 4, 1), 2, |_| json!({})).await?;
    let client = &site.client;
    make_machine(client, "m", &site.image, &json!({}), &json!({})).await?;
    until_phase(client, "m", "Provisioned").await?;
    let machine = machines(client).get("m").await?;
    let number: usize = if machine.spec.provider_id.as_deref() == Some("b7://metal/h-0") { 0 } else { 1 };
    let before = site.host(number).await?.spec;
    site.bmc(number, |bmc| bmc.machine.clear_log())?;

    // As a replace with an old manifest does it: annotations and all.
    replace_with_what_was_enrolled(client, HOSTS, &name(number)).await?;
    wait::until_true("the claim to be back", LIMIT, || async {
        let spec = site.host(number).await?.spec;
        Ok(if spec == before { Ok(()) } else { Err(format!("{spec:?}")) })
    })
    .await?;
    // The status is lost as well: nothing of it is needed.
    let wipe = [
        "-n",
        HOSTS,
        "patch",
        "ph",
        &name(number),
        "--subresource=status",
        "--type=merge",
        "-p",
        r#"{"status":null}"#,
    ];
    site.plane.kubectl(&wipe).await?.success()?;
    let wipe = [
        "-n",
        HOSTS,
        "patch",
        "b7m",
        "m",
        "--subresource=status",
        "--type=merge",
        "-p",
        r#"{"status":null}"#,
    ];
    site.plane.kubectl(&wipe).await?.success()?;
    until_state(client, &name(number), HostState::Provisioned).await?;
    until_phase(client, "m", "Provisioned").await?;
    let calm = site.done_to(number)?.iter().all(|action| matches!(action, Action::Insert { .. }));
    ensure!(calm && site.done_to(number)?.is_empty(), "{:?}", site.done_to(number)?);
    site.close().await
}

//! What a Beskar7Machine promises of its provisioning and of its end, a test for each promise; which host it finds is in
//! `machines.rs`.

use std::net::Ipv4Addr;

use anyhow::{Context, Result, ensure};
use beskar7_api::{Beskar7Machine, HostState};
use beskar7_e2e::objects;
use beskar7_redfish_sim::machine::boot::BootSource;
use serde_json::json;

use super::life::released;
use super::owners::told;
use super::place::Place;

const READY: &str = "InfrastructureReady";

const fn at(third: u8) -> Ipv4Addr {
    Ipv4Addr::new(127, 53, third, 1)
}

/// A machine that says this reason for not being ready.
fn says(reason: &str) -> impl Fn(&Beskar7Machine) -> bool {
    move |machine| told(machine, READY).is_some_and(|(_, found, _)| found == reason)
}

fn is_ready(machine: &Beskar7Machine) -> bool {
    let status = machine.status.as_ref();
    status.is_some_and(|status| status.ready || status.initialization.is_some())
        || told(machine, READY).is_some_and(|(status, ..)| status == "True")
}

#[tokio::test(flavor = "multi_thread")]
async fn is_owned_by_its_machine_and_waits_for_it() -> Result<()> {
    let place = Place::take("owned-machine", at(0), 1, |_| json!({})).await?;
    place.until_state(0, HostState::Available).await?;
    let (client, namespace) = (place.client(), place.namespace());
    let owner = objects::make_owner_machine(client, namespace, "m", &json!({})).await?;
    let nobody = json!({"metadata": {"ownerReferences": []}});
    objects::make_machine(client, namespace, &owner, &place.image, &nobody).await?;
    let machine = place.until_machine("m", "waiting for its owner", says("WaitingForOwnerMachine")).await?;
    ensure!(machine.metadata.finalizers.is_none(), "{:?}", machine.metadata.finalizers);
    ensure!(place.host(0).await?.spec.consumer_ref.is_none(), "a machine without an owner took the host");

    let reference = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "name": "m", "uid": owner.metadata.uid,
        "controller": true,
    });
    place.patch_machine("m", &json!({"metadata": {"ownerReferences": [reference]}})).await?;
    place.until_phase("m", "Provisioned").await?;
    place.leave().await
}

#[tokio::test(flavor = "multi_thread")]
async fn claims_the_host_by_consumer_ref_and_boot_iso_source() -> Result<()> {
    // Its owner keeps it off: what is seen is the claim, and not what comes of it.
    let place = Place::take("claims", at(1), 1, |_| json!({"spec": {"online": false}})).await?;
    place.make_machine("m", &json!({})).await?;
    let machine = place.until_phase("m", "Provisioning").await?;
    let host = place.until_state(0, HostState::Claimed).await?;
    let consumer = host.spec.consumer_ref.context("no consumerRef")?;
    ensure!(consumer.kind.as_deref() == Some("Beskar7Machine"), "{consumer:?}");
    ensure!(consumer.name.as_deref() == Some("m") && consumer.uid == machine.metadata.uid, "{consumer:?}");
    ensure!(host.spec.boot_iso_source.as_deref() == Some(place.image.as_str()));
    let (status, _, message) = told(&machine, "PhysicalHostAssociated").context("no condition")?;
    ensure!(status == "True" && message == "PhysicalHost claims/h-0", "{status} {message}");
    place.leave().await
}

#[tokio::test(flavor = "multi_thread")]
async fn in_pre_baked_iso_mode_its_host_boots_that_iso() -> Result<()> {
    let place = Place::take("pre-baked", at(2), 1, |_| json!({})).await?;
    place.make_machine("m", &json!({"spec": {"provisioningMode": "PreBakedISO"}})).await?;
    place.until_phase("m", "Provisioned").await?;
    let running = place.bmcs.with(0, |bmc| bmc.machine.running().cloned())?;
    ensure!(
        matches!(&running, Some(BootSource::Media { image, .. }) if *image == place.image),
        "{running:?}"
    );
    let boot = place.host(0).await?.spec.boot.context("no boot")?;
    ensure!(boot.kernel_args.is_empty(), "{boot:?}");
    place.leave().await
}

#[tokio::test(flavor = "multi_thread")]
async fn in_remote_config_mode_its_host_boots_the_iso_with_parameters_that_name_its_configuration()
-> Result<()> {
    // Only the second one passes parameters on; the first is as good otherwise.
    let which = |number| {
        if number == 1 { json!({"spec": {"bootParameterMechanism": "UefiTarget"}}) } else { json!({}) }
    };
    let place = Place::take("remote-config", at(3), 2, which).await?;
    let url = "http://configurations.example.org/node.yaml";
    let remote = json!({"provisioningMode": "RemoteConfig", "osFamily": "kairos", "configURL": url});
    place.make_machine("m", &json!({ "spec": remote })).await?;
    let machine = place.until_phase("m", "Provisioned").await?;
    ensure!(machine.spec.provider_id.as_deref() == Some("b7://remote-config/h-1"), "{:?}", machine.spec);
    let running = place.bmcs.with(1, |bmc| bmc.machine.running().cloned())?;
    let Some(BootSource::MediaFile { image, path, .. }) = running else { anyhow::bail!("{running:?}") };
    ensure!(image == place.image && path.ends_with(&format!(" config_url={url}")), "{image}: {path}");
    ensure!(place.bmcs.done_to(0)?.is_empty(), "{:?}", place.bmcs.done_to(0)?);
    place.leave().await
}

#[tokio::test(flavor = "multi_thread")]
async fn monitors_the_state_of_its_host() -> Result<()> {
    let place = Place::take("monitors", at(4), 1, |_| json!({})).await?;
    place.until_state(0, HostState::Available).await?;
    place.cannot_be_turned_on(0)?;
    place.make_machine("m", &json!({})).await?;
    let machine = place.until_machine("m", "told of its host's trouble", says("PhysicalHostError")).await?;
    let (_, _, message) = told(&machine, READY).context("just seen")?;
    ensure!(message.contains("monitors/h-0 says PowerOnFailed"), "{message}");
    place.bmcs.fleet.clear_faults();
    place.until_phase("m", "Provisioned").await?;
    // Somebody takes its host away: it gets no other, and says so.
    let claim = place.host(0).await?.spec.claim_id.context("no claim")?;
    place.patch_host(0, &released(&claim)).await?;
    let machine = place.until_phase("m", "Failed").await?;
    ensure!(says("PhysicalHostLost")(&machine), "{:?}", machine.status);
    place.leave().await
}

#[tokio::test(flavor = "multi_thread")]
async fn sets_provider_id_and_infrastructure_ready_once_its_host_is_provisioned() -> Result<()> {
    let place = Place::take("ready", at(5), 1, |_| json!({})).await?;
    place.until_state(0, HostState::Available).await?;
    place.cannot_be_turned_on(0)?;
    place.make_machine("m", &json!({})).await?;
    place.until_state(0, HostState::Provisioning).await?;
    let machine = place.until_machine("m", "told of its host's trouble", says("PhysicalHostError")).await?;
    ensure!(machine.spec.provider_id.is_none() && !is_ready(&machine), "{machine:?}");
    place.bmcs.fleet.clear_faults();
    place.until_state(0, HostState::Provisioned).await?;
    let machine = place.until_machine("m", "ready", says("Provisioned")).await?;
    ensure!(machine.spec.provider_id.as_deref() == Some("b7://ready/h-0"), "{:?}", machine.spec);
    ensure!(told(&machine, READY).context("just seen")?.0 == "True");
    let status = machine.status.context("just seen")?;
    ensure!(status.ready && status.initialization.and_then(|found| found.provisioned) == Some(true));
    place.leave().await
}

#[tokio::test(flavor = "multi_thread")]
async fn releases_its_host_by_clearing_consumer_ref_and_boot_iso_source_when_it_is_deleted() -> Result<()> {
    let place = Place::take("releases", at(6), 1, |_| json!({})).await?;
    place.make_machine("m", &json!({})).await?;
    place.until_phase("m", "Provisioned").await?;
    place.bmcs.with(0, |bmc| bmc.machine.clear_log())?;
    place.delete_machine("m").await?;
    let spec = place.host(0).await?.spec;
    ensure!(spec.consumer_ref.is_none() && spec.boot_iso_source.is_none(), "{spec:?}");
    ensure!(spec.claim_id.is_none() && spec.boot.is_none(), "{spec:?}");
    // It is gone only when its machine is off and empty, so the next one gets a clean host.
    ensure!(place.bmcs.is_off_and_empty(0)?, "{:?}", place.bmcs.done_to(0)?);
    place.until_state(0, HostState::Available).await?;
    place.leave().await
}

//! A consumer changes its mind: it takes a new claim on the host that it holds, with another image or none.

use std::net::Ipv4Addr;

use anyhow::{Context, Result, ensure};
use beskar7_api::HostState;
use beskar7_redfish_sim::machine::boot::BootSource;
use beskar7_redfish_sim::machine::log::Action;
use serde_json::{Value, json};

use super::life::{released, until_state};
use super::setup::*;
use super::site::{Site, name};

/// What somebody who claims hosts by hand writes, in one patch.
fn claim(id: &str, image: Option<&str>) -> Value {
    let consumer = json!({"kind": "ByHand", "namespace": HOSTS, "name": "somebody"});
    json!({"spec": {"consumerRef": consumer, "claimID": id, "bootIsoSource": image}})
}

/// What a machine runs from.
fn image_of(source: Option<BootSource>) -> Option<String> {
    source.and_then(|source| source.url().map(str::to_owned))
}

#[tokio::test(flavor = "multi_thread")]
async fn another_image_is_booted_after_the_machine_was_cleaned_and_without_one_it_stays_claimed() -> Result<()>
{
    let site = Site::open(Ipv4Addr::new(127, 48, 0, 1), 1, |_| json!({})).await?;
    let client = &site.client;
    patch_host(client, &name(0), &claim("first", Some(&site.image))).await?;
    until_state(client, &name(0), HostState::Provisioned).await?;

    // The image alone is not enough: what runs is not touched for an edit that nobody claims.
    site.bmc(0, |bmc| bmc.machine.clear_log())?;
    let other = site.image.replace("node.iso", "other.iso");
    patch_host(client, &name(0), &json!({"spec": {"bootIsoSource": other}})).await?;
    let observed = site.host(0).await?.metadata.generation;
    wait_for_generation(&site, observed).await?;
    ensure!(site.done_to(0)?.is_empty(), "{:?}", site.done_to(0)?);

    patch_host(client, &name(0), &claim("second", Some(&other))).await?;
    until_provisioned_as(&site, "second").await?;
    let running = image_of(site.bmc(0, |bmc| bmc.machine.running().cloned())?);
    ensure!(running.as_ref() == Some(&other), "{running:?}");
    let done = site.done_to(0)?;
    let place = |wanted: fn(&Action) -> bool| done.iter().position(wanted);
    let off = place(|action| matches!(action, Action::PoweredOff)).context("never off")?;
    let ejected = place(|action| matches!(action, Action::Eject { .. })).context("never ejected")?;
    let inserted = place(|action| matches!(action, Action::Insert { .. })).context("never inserted")?;
    ensure!(off < ejected && ejected < inserted, "{done:?}");

    // No image: the machine is cleaned, and still its consumer's.
    patch_host(client, &name(0), &claim("third", None)).await?;
    let host = until_state(client, &name(0), HostState::Claimed).await?;
    ensure!(host.spec.consumer_ref.is_some() && host.spec.claim_id.as_deref() == Some("third"));
    ensure!(site.is_off_and_empty(0)?);
    patch_host(client, &name(0), &released("third")).await?;
    until_state(client, &name(0), HostState::Available).await?;
    site.close().await
}

/// Waits until the controller has seen this version of the host.
async fn wait_for_generation(site: &Site, generation: Option<i64>) -> Result<()> {
    beskar7_e2e::wait::until_true("the edit to be seen", LIMIT, || async {
        let seen = site.host(0).await?.status.and_then(|status| status.observed_generation);
        Ok(if seen >= generation { Ok(()) } else { Err(format!("{seen:?}")) })
    })
    .await?;
    Ok(())
}

/// Waits until the host runs for this claim.
async fn until_provisioned_as(site: &Site, claim: &str) -> Result<()> {
    beskar7_e2e::wait::until_true(format!("it to run for {claim}"), LIMIT, || async {
        let status = site.host(0).await?.status.unwrap_or_default();
        let runs = status.state == Some(HostState::Provisioned) && status.claim_id.as_deref() == Some(claim);
        Ok(if runs { Ok(()) } else { Err(format!("{:?} {:?}", status.state, status.claim_id)) })
    })
    .await?;
    Ok(())
}

//! What the two older documents promise of claims, sentence by sentence: the reservation of a host by a claim that names it,
//! and the claiming of a server. What they promise of boot configurations comes with network boot.

use std::net::Ipv4Addr;

use anyhow::{Context, Result, ensure};
use beskar7_api::{HostState, PhysicalHost, host_claim::ClaimPhase, physical_host::PowerState};
use beskar7_e2e::probe;
use beskar7_e2e::workload::Installer;
use serde_json::json;

use super::place::Place;
use super::setup::*;
use super::site::{FLAGS, Site, name};
use super::tenant::{Tenant, bind_pool_role, open_to, powered};

fn holder(host: &PhysicalHost) -> Option<(String, String, String)> {
    let holder = host.spec.consumer_ref.clone()?;
    Some((holder.kind?, holder.namespace?, holder.name?))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_initiates_the_reservation_of_the_host_that_it_names() -> Result<()> {
    let place = Place::take("documents-reserved", Ipv4Addr::new(127, 79, 0, 1), 2, |_| json!({})).await?;
    let tenant = Tenant::make(place.client(), "documents-a").await?;
    place.until_state(1, HostState::Available).await?;
    open_to(place.client(), place.namespace(), &json!({"hostclaimNamespaces": {}})).await?;
    let named = json!({"hostRef": {"name": name(1), "namespace": place.namespace()}});

    // Claim creation: it specifies the desired host.
    tenant.claim("mine", &named).await?;
    // Host reservation: the reference in the host's spec is set to the initiating claim.
    let reserved = place.until_host(1, "reserved", |host| host.spec.consumer_ref.is_some()).await?;
    let expected = ("HostClaim".to_owned(), "documents-a".to_owned(), "mine".to_owned());
    ensure!(holder(&reserved) == Some(expected.clone()), "{:?}", reserved.spec.consumer_ref);
    // The claim is Bound, and the host goes from Available to Claimed.
    tenant.until_told("mine", "Association", "True", "HostAssociated").await?;
    let status = tenant.claims().get("mine").await?.status.unwrap_or_default();
    ensure!(status.phase == Some(ClaimPhase::Bound), "{status:?}");
    place.until_state(1, HostState::Claimed).await?;
    // Reservation confirmation: other claims are prevented from reserving the same host, though another is free.
    tenant.claim("second", &named).await?;
    let why = tenant.until_told("second", "Association", "False", "NoMatchingHost").await?;
    ensure!(why == "0 of 1 host matches: 1 claimed", "{why}");
    let status = tenant.claims().get("second").await?.status.unwrap_or_default();
    ensure!(status.phase == Some(ClaimPhase::Unbound), "{status:?}");
    ensure!(holder(&place.host(1).await?) == Some(expected), "each host can only be claimed by one");
    ensure!(place.host(0).await?.spec.consumer_ref.is_none(), "and nobody asked for this one");
    tenant.delete("second").await?;
    tenant.delete("mine").await?;
    place.leave().await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_host_is_prepared_with_the_image_and_the_ignition_that_the_claim_specifies() -> Result<()> {
    const IGNITION: &str = "{\"ignition\": {\"version\": \"3.4.0\"}}";
    let site = Site::open_serving(&FLAGS, Ipv4Addr::new(127, 80, 0, 1), 1, |_| json!({})).await?;
    bind_pool_role(&site.plane, HOSTS).await?;
    let tenant = Tenant::make(&site.client, "documents-b").await?;
    open_to(&site.client, HOSTS, &json!({"hostclaimNamespaces": {}})).await?;
    tenant.keep("custom-ignition-config", "value", IGNITION).await?;
    let spec = json!({
        "hostRef": {"name": name(0), "namespace": HOSTS}, "online": true,
        "image": {"url": site.image}, "ignitionRef": {"name": "custom-ignition-config"},
    });
    tenant.claim("mine", &spec).await?;
    let all = hosts(&site.client, HOSTS);
    until_host(&all, &name(0), "turned on", |host| state_of(host) == Some(HostState::Provisioning)).await?;
    let image = site.bmc(0, |bmc| bmc.machine.slots().iter().find_map(|slot| slot.image.clone()))?;
    let installer = Installer::read(&image.context("no image")?).await?;
    for word in ["ignition.firstboot", "ignition.platform.id=metal"] {
        ensure!(installer.parameters.iter().any(|given| given == word), "{:?}", installer.parameters);
    }
    let url = installer.parameters.iter().find_map(|word| word.strip_prefix("ignition.config.url="));
    let url = url.with_context(|| format!("{:?}", installer.parameters))?;
    let read = probe::client(None)?.get(url).send().await?.error_for_status()?.text().await?;
    ensure!(read == IGNITION, "{read}");
    tenant.delete("mine").await?;
    site.close().await
}

#[tokio::test(flavor = "multi_thread")]
async fn only_servers_in_an_available_state_can_be_claimed_by_reference_or_by_selector() -> Result<()> {
    let unreachable = |number| match number {
        0 => {
            json!({"metadata": {"labels": {"rack": "a"}}, "spec": {"redfishConnection": {"credentialsSecretRef": "later"}}})
        }
        _ => json!({"metadata": {"labels": {"rack": "b"}}}),
    };
    let place = Place::take("documents-available", Ipv4Addr::new(127, 79, 1, 1), 2, unreachable).await?;
    let tenant = Tenant::make(place.client(), "documents-c").await?;
    place.until_state(1, HostState::Available).await?;
    open_to(place.client(), place.namespace(), &json!({"hostclaimNamespaces": {}})).await?;
    let by_reference = json!({"hostRef": {"name": name(0), "namespace": place.namespace()}, "online": true,
        "image": {"url": place.image}});
    tenant.claim("by-reference", &by_reference).await?;
    tenant.until_waiting("by-reference", "0 of 1 host matches: 1 enrolling").await?;
    let selector = json!({"matchLabels": {"rack": "b"}, "inNamespace": place.namespace()});
    tenant.claim("by-selector", &json!({"hostSelector": selector})).await?;
    tenant.until_told("by-selector", "Association", "True", "HostAssociated").await?;

    // It becomes available, and is claimed, provisioned and powered as the claim says.
    place.make_secret("later", PASSWORD).await?;
    tenant.until_told("by-reference", "Provisioned", "True", "provisioned").await?;
    place.until_host(0, "on", |host| powered(host) == Some(PowerState::On)).await?;
    tenant.patch("by-reference", &json!({"spec": {"online": false}})).await?;
    place.until_host(0, "off", |host| powered(host) == Some(PowerState::Off)).await?;
    ensure!(powered(&place.host(1).await?) == Some(PowerState::Off), "the other has no power to ensure");
    for claim in ["by-reference", "by-selector"] {
        tenant.delete(claim).await?;
    }
    place.leave().await
}

//! Tenants' claims: a machine from a pool in another namespace, by name or by label, on and off, and given back.

use std::net::Ipv4Addr;

use anyhow::{Result, ensure};
use beskar7_api::{HostClaim, HostState, PhysicalHost, physical_host::PowerState};
use serde_json::json;

use super::place::Place;
use super::setup::{merge, replace_with_what_was_enrolled};
use super::tenant::{Tenant, nothing_of_others, open_to, powered};

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_is_associated_provisioned_stopped_started_and_deleted() -> Result<()> {
    let labels = |_| json!({"metadata": {"labels": {"infra-kind": "medium"}}});
    let place = Place::take("claims-infrahost", Ipv4Addr::new(127, 74, 0, 1), 1, labels).await?;
    let tenant = Tenant::make(place.client(), "claims-cluster-ns").await?;
    place.until_state(0, HostState::Available).await?;
    let selector = json!({"matchLabels": {"infra-kind": "medium"}, "inNamespace": place.namespace()});
    let image = json!({"url": place.image});
    tenant.claim("mine", &json!({"hostSelector": selector, "image": image, "online": false})).await?;
    let why = tenant.until_told("mine", "Association", "False", "NotAuthorized").await?;
    ensure!(why.contains("lets namespace claims-cluster-ns have hosts"), "{why}");

    // The policy is what was missing.
    open_to(place.client(), place.namespace(), &json!({"hostclaimNamespaces": {}})).await?;
    tenant.until_told("mine", "Association", "True", "HostAssociated").await?;
    tenant.until_told("mine", "Synchronization", "True", "ConfigurationSynced").await?;
    tenant.until_told("mine", "Provisioned", "False", "available").await?;
    let summary = tenant.until_told("mine", "Ready", "False", "IssuesReported").await?;
    ensure!(summary == "* Provisioned: available", "{summary}");
    let status = tenant.claims().get("mine").await?.status.unwrap_or_default();
    let host = place.host(0).await?;
    let named = status.hardware_data.as_ref();
    ensure!(named.map(|named| named.name.as_str()) == host.metadata.name.as_deref(), "{named:?}");
    ensure!(named.and_then(|named| named.namespace.as_deref()) == Some(place.namespace()), "{named:?}");
    ensure!(status.host_uid == host.metadata.uid && status.hardware.is_some(), "{status:?}");
    place.until_state(0, HostState::Claimed).await?;
    ensure!(powered(&place.host(0).await?) == Some(PowerState::Off), "nothing runs before it is wanted");

    tenant.patch("mine", &json!({"spec": {"online": true}})).await?;
    tenant.until_told("mine", "Provisioned", "True", "provisioned").await?;
    let ready = tenant.until_told("mine", "Ready", "True", "InfoReported").await?;
    ensure!(ready.is_empty(), "{ready}");
    let on = |claim: &HostClaim| claim.status.as_ref().and_then(|status| status.powered_on);
    tenant.until("mine", "powered on", |claim| on(claim) == Some(true)).await?;

    // People change the host by hand: what runs is not touched.
    place.bmcs.with(0, |bmc| bmc.machine.clear_log())?;
    for edit in [json!("http://mirror.example/os.iso"), json!(""), json!(null)] {
        place.patch_host(0, &json!({"spec": {"bootIsoSource": edit}})).await?;
        let back = |host: &PhysicalHost| host.spec.boot_iso_source.as_ref() == Some(&place.image);
        place.until_host(0, "told its image again", back).await?;
    }
    replace_with_what_was_enrolled(place.client(), place.namespace(), "h-0").await?;
    let back = |host: &PhysicalHost| host.spec.consumer_ref.is_some() && host.spec.online == Some(true);
    place.until_host(0, "held again", back).await?;
    place.until_state(0, HostState::Provisioned).await?;
    tenant.until_told("mine", "Ready", "True", "InfoReported").await?;
    ensure!(place.bmcs.done_to(0)?.is_empty(), "{:?}", place.bmcs.done_to(0)?);

    // Off and on again, without another installation.
    tenant.patch("mine", &json!({"spec": {"online": false}})).await?;
    place.until_host(0, "off", |host| powered(host) == Some(PowerState::Off)).await?;
    tenant.until("mine", "powered off", |claim| on(claim) == Some(false)).await?;
    tenant.until_told("mine", "Provisioned", "True", "provisioned").await?;
    tenant.patch("mine", &json!({"spec": {"online": true}})).await?;
    place.until_host(0, "on", |host| powered(host) == Some(PowerState::On)).await?;
    place.until_state(0, HostState::Provisioned).await?;
    nothing_of_others(&tenant, &[]).await?;

    tenant.delete("mine").await?;
    let free = place.until_state(0, HostState::Available).await?;
    ensure!(free.spec.consumer_ref.is_none() && free.spec.online.is_none(), "{:?}", free.spec);
    ensure!(powered(&free) == Some(PowerState::Off));
    place.leave().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_does_not_exist_and_one_that_is_forbidden_look_alike() -> Result<()> {
    let place = Place::take("claims-forbidden", Ipv4Addr::new(127, 74, 1, 1), 1, |_| json!({})).await?;
    let (tenant, other) =
        (Tenant::make(place.client(), "claims-a").await?, Tenant::make(place.client(), "claims-b").await?);
    let host = place.until_state(0, HostState::Available).await?;
    let name = host.metadata.name.clone().unwrap_or_default();
    open_to(place.client(), place.namespace(), &json!({"hostclaimNamespaces": {"names": ["claims-b"]}}))
        .await?;
    let by_name = |name: &str| json!({"hostRef": {"name": name, "namespace": place.namespace()}});
    tenant.claim("forbidden", &by_name(&name)).await?;
    tenant.claim("absent", &by_name("no-such-host")).await?;
    let [forbidden, absent] = [
        tenant.until_told("forbidden", "Association", "False", "NoMatchingHost").await?,
        tenant.until_told("absent", "Association", "False", "NoMatchingHost").await?,
    ];
    ensure!(forbidden.replace(&name, "X") == absent.replace("no-such-host", "X"), "{forbidden} / {absent}");

    // Who may have it gets it, and what this version can't do with it is said.
    let mut spec = by_name(&name);
    merge(
        &mut spec,
        &json!({"image": {"url": "http://images.example/os.qcow2"}, "online": true,
        "userData": {"name": "my-userdata"}}),
    );
    other.claim("mine", &spec).await?;
    other.until_told("mine", "Association", "True", "HostAssociated").await?;
    other.until_told("mine", "Provisioned", "False", "ImageNotSupported").await?;
    other.until_told("mine", "Synchronization", "False", "ConfigurationNotSupported").await?;
    nothing_of_others(&other, &[]).await?;

    // Two claims, one host: the second waits, and is woken when the first lets go.
    other.claim("next", &by_name(&name)).await?;
    let waits = other.until_told("next", "Association", "False", "NoMatchingHost").await?;
    ensure!(waits.contains("1 claimed"), "{waits}");
    other.delete("mine").await?;
    other.until_told("next", "Association", "True", "HostAssociated").await?;
    other.delete("next").await?;
    place.until_state(0, HostState::Available).await?;
    place.leave().await
}

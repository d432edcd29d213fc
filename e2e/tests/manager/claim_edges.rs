//! What others get wrong with claims: each edge of the list in `docs/src/concepts/tenancy.md`.

use std::net::Ipv4Addr;

use anyhow::{Context, Result, ensure};
use beskar7_api::{HostClaim, HostClaimSpec, HostDeployPolicy, HostState, PhysicalHost, annotations};
use beskar7_e2e::wait;
use beskar7_redfish_sim::faults::{Armed, Fault};
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};

use super::place::Place;
use super::setup::*;
use super::site::name;
use super::tenant::{Tenant, open_to};

/// Hosts at these addresses in a namespace that every tenant may have, and a tenant.
async fn place(namespace: &'static str, third: u8, count: usize) -> Result<(Place, Tenant)> {
    let place = Place::take(namespace, Ipv4Addr::new(127, 78, third, 1), count, |_| json!({})).await?;
    for number in 0..count {
        place.until_state(number, HostState::Available).await?;
    }
    let tenant = Tenant::make(place.client(), &format!("{namespace}-tenant")).await?;
    Ok((place, tenant))
}

async fn open(place: &Place) -> Result<()> {
    open_to(place.client(), place.namespace(), &json!({"hostclaimNamespaces": {}})).await
}

/// A claim on hosts of this place, with more.
fn here(place: &Place, more: &Value) -> Value {
    let mut spec = json!({"hostSelector": {"inNamespace": place.namespace()}});
    merge(&mut spec, more);
    spec
}

fn host_of(claim: &HostClaim) -> Option<String> {
    claim.status.as_ref()?.hardware_data.as_ref().map(|named| named.name.clone())
}

async fn until_bound(tenant: &Tenant, claim: &str) -> Result<String> {
    tenant.until_told(claim, "Association", "True", "HostAssociated").await?;
    host_of(&tenant.claims().get(claim).await?).context("no host")
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_is_woken_by_a_host_by_a_policy_and_by_a_namespace() -> Result<()> {
    let (place, tenant) = place("edges-woken", 1, 3).await?;
    let labelled = |value: &str| json!({"hostSelector": {"matchLabels": {"edge": value}}});
    // By a policy.
    tenant.claim("by-policy", &here(&place, &json!({}))).await?;
    tenant.until_told("by-policy", "Association", "False", "NotAuthorized").await?;
    let gold = json!({"hostclaimNamespaces": {"hasLabels": [{"name": "tier", "value": "gold"}]}});
    open_to(place.client(), place.namespace(), &gold).await?;
    tenant.until_told("by-policy", "Association", "False", "NotAuthorized").await?;
    // By its namespace.
    let namespaces: Api<Namespace> = Api::all(place.client().clone());
    let tier = |tier: &str| json!({"metadata": {"labels": {"tier": tier}}});
    namespaces.patch(&tenant.namespace, &PatchParams::default(), &Patch::Merge(tier("gold"))).await?;
    let first = until_bound(&tenant, "by-policy").await?;
    // By a host, whose counts it was told.
    tenant.claim("by-host", &here(&place, &labelled("yes"))).await?;
    let why = tenant.until_told("by-host", "Association", "False", "NoMatchingHost").await?;
    ensure!(why.contains("of 3 hosts match") && why.contains("labels"), "{why}");
    let number = (0..3).find(|number| name(*number) != first).context("all are held")?;
    place.patch_host(number, &json!({"metadata": {"labels": {"edge": "yes"}}})).await?;
    ensure!(until_bound(&tenant, "by-host").await? == name(number));
    // And what is taken away holds for the next one only.
    namespaces.patch(&tenant.namespace, &PatchParams::default(), &Patch::Merge(tier("lead"))).await?;
    tenant.until_told("by-host", "Association", "True", "NotAuthorized").await?;
    tenant.claim("late", &here(&place, &json!({}))).await?;
    tenant.until_told("late", "Association", "False", "NotAuthorized").await?;
    place.leave().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_whose_host_is_gone_or_stolen_takes_another_one_unless_it_was_installed() -> Result<()> {
    let (place, tenant) = place("edges-stolen", 2, 3).await?;
    open(&place).await?;
    tenant.claim("idle", &here(&place, &json!({}))).await?;
    let first = until_bound(&tenant, "idle").await?;
    // Deleted while it is held: it waits. Torn out with its finalizers: the claim takes another one.
    place.hosts().delete(&first, &DeleteParams::default()).await?;
    let number = (0..3).find(|number| name(*number) == first).context("another host")?;
    place.until_told(number, "HostAvailable", "False", "WaitingForConsumerRelease").await?;
    let torn_out = json!({"metadata": {"finalizers": null}});
    place.hosts().patch(&first, &PatchParams::default(), &Patch::Merge(torn_out)).await?;
    let moved = |claim: &HostClaim| host_of(claim).is_some_and(|now| now != first);
    let second = host_of(&tenant.until("idle", "on another host", moved).await?).context("no host")?;

    // Somebody writes himself into a held host: who had nothing installed there takes another one.
    let steal = |whose: &str| {
        json!({"spec": {"claimID": "0123456789abcdef0123456789abcdef",
            "consumerRef": {"kind": "HostClaim", "namespace": "elsewhere", "name": whose, "uid": "1"}}})
    };
    // While no other one is open to it, it says so; the policy comes back below.
    let policies: Api<HostDeployPolicy> = Api::namespaced(place.client().clone(), place.namespace());
    policies.delete("policy", &DeleteParams::default()).await?;
    tenant.until_told("idle", "Association", "True", "NotAuthorized").await?;
    place.hosts().patch(&second, &PatchParams::default(), &Patch::Merge(steal("thief"))).await?;
    let why = tenant.until_told("idle", "Association", "False", "NotAuthorized").await?;
    ensure!(why.contains("No HostDeployPolicy in namespace edges-stolen"), "{why}");
    open(&place).await?;
    let moved = |claim: &HostClaim| host_of(claim).is_some_and(|now| now != first && now != second);
    let third = host_of(&tenant.until("idle", "on the last host", moved).await?).context("no host")?;

    // Who was installed says that it lost its machine, and gets no other.
    let runs = json!({"spec": {"image": {"url": place.image}, "online": true}});
    tenant.patch("idle", &runs).await?;
    tenant.until_told("idle", "Provisioned", "True", "provisioned").await?;
    place.hosts().patch(&third, &PatchParams::default(), &Patch::Merge(steal("thief"))).await?;
    let why = tenant.until_told("idle", "Association", "False", "HostLost").await?;
    ensure!(why.contains("write another one"), "{why}");
    tenant.delete("idle").await?;
    place.leave().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_that_is_deleted_while_it_is_provisioned_gives_back_a_clean_host_or_is_forced() -> Result<()>
{
    let (place, tenant) = place("edges-deleted", 3, 1).await?;
    open(&place).await?;
    let runs = here(&place, &json!({"image": {"url": place.image}, "online": true}));
    place.cannot_be_turned_on(0)?;
    tenant.claim("mine", &runs).await?;
    place.until_state(0, HostState::Provisioning).await?;
    place.bmcs.fleet.clear_faults();
    tenant.delete("mine").await?;
    let free = place.until_state(0, HostState::Available).await?;
    ensure!(place.bmcs.is_off_and_empty(0)? && free.spec.claim_id.is_none(), "it is freed clean: {free:?}");

    // Its BMC does not do as it is told: a person lets the claim go, and the host stays back.
    tenant.claim("stuck", &runs).await?;
    tenant.until_told("stuck", "Provisioned", "True", "provisioned").await?;
    place.bmcs.with(0, |bmc| bmc.faults.arm(Armed::always(Fault::Reset)))?;
    tenant.claims().delete("stuck", &DeleteParams::default()).await?;
    tenant.until_told("stuck", "Association", "False", "Releasing").await?;
    tenant.patch("stuck", &json!({"metadata": {"annotations": {annotations::FORCE_RELEASE: ""}}})).await?;
    let claims = &tenant.claims();
    wait::until_true("the claim to be gone", LIMIT, || async move {
        Ok(match claims.get_opt("stuck").await? {
            None => Ok(()),
            Some(claim) => Err(format!("{:?}", claim.status)),
        })
    })
    .await?;
    tenant.claim("next", &runs).await?;
    let why = tenant.until_told("next", "Association", "False", "NoMatchingHost").await?;
    ensure!(why.contains("1 being deprovisioned"), "nobody gets what may still run: {why}");
    place.bmcs.fleet.clear_faults();
    tenant.until_told("next", "Provisioned", "True", "provisioned").await?;
    tenant.delete("next").await?;
    place.leave().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_does_not_answer_or_is_kept_back_is_never_chosen_and_that_is_said() -> Result<()> {
    let (place, tenant) = place("edges-unhealthy", 4, 2).await?;
    open(&place).await?;
    place.bmcs.with(0, |bmc| bmc.faults.arm(Armed::always(Fault::Reset)))?;
    place.until_told(0, "RedfishConnectionReady", "False", "RedfishConnectionFailed").await?;
    place.patch_host(1, &json!({"spec": {"cordoned": "its fan is loud"}})).await?;
    let cordoned =
        |host: &PhysicalHost| condition(host, "HostAvailable").is_some_and(|told| told.reason == "Cordoned");
    place.until_host(1, "cordoned", cordoned).await?;
    tenant.claim("mine", &here(&place, &json!({}))).await?;
    let why = tenant.until_told("mine", "Association", "False", "NoMatchingHost").await?;
    ensure!(why.contains("1 unhealthy") && why.contains("1 cordoned"), "{why}");
    ensure!(!why.contains("fan"), "what the platform team writes is not for tenants: {why}");
    place.patch_host(1, &json!({"spec": {"cordoned": null}})).await?;
    ensure!(until_bound(&tenant, "mine").await? == name(1));
    place.bmcs.fleet.clear_faults();
    tenant.delete("mine").await?;
    place.leave().await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_tenant_writes_into_the_annotation_of_its_claim_gives_it_no_host() -> Result<()> {
    let (place, tenant) = place("edges-forged", 5, 1).await?;
    let other = Tenant::make(place.client(), "edges-forged-other").await?;
    let only = json!({"hostclaimNamespaces": {"names": [other.namespace]}});
    open_to(place.client(), place.namespace(), &only).await?;
    let forged = format!("{}/{}/0123456789abcdef0123456789abcdef", place.namespace(), name(0));
    let forge = json!({"metadata": {"annotations": {annotations::CLAIM: forged}}});
    tenant.claim("forged", &here(&place, &json!({"image": {"url": place.image}, "online": true}))).await?;
    tenant.until_told("forged", "Association", "False", "NotAuthorized").await?;
    tenant.patch("forged", &forge).await?;
    let taken_off = |claim: &HostClaim| !claim.annotations().contains_key(annotations::CLAIM);
    tenant.until("forged", "without what was forged", taken_off).await?;
    tenant.until_told("forged", "Association", "False", "NotAuthorized").await?;
    // Nor one that is held, though its claim ID is known.
    other.claim("mine", &here(&place, &json!({}))).await?;
    until_bound(&other, "mine").await?;
    let id = place.host(0).await?.spec.claim_id.context("no claim")?;
    let backwards: String = id.chars().rev().collect();
    for known in [&backwards, &id] {
        let forged = format!("{}/{}/{known}", place.namespace(), name(0));
        tenant.patch("forged", &json!({"metadata": {"annotations": {annotations::CLAIM: forged}}})).await?;
        tenant.until("forged", "without what was forged", taken_off).await?;
        let host = place.host(0).await?;
        let holder = host.spec.consumer_ref.and_then(|holder| holder.namespace);
        ensure!(holder.as_ref() == Some(&other.namespace), "{holder:?}");
        ensure!(host.spec.claim_id.as_ref() == Some(&id), "{:?}", host.spec.claim_id);
    }
    tenant.delete("forged").await?;
    other.delete("mine").await?;
    place.leave().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_of_a_claim_takes_nothing_from_the_claim_that_it_was_made_from() -> Result<()> {
    let (place, tenant) = place("edges-copied", 6, 2).await?;
    open(&place).await?;
    let runs = here(&place, &json!({"image": {"url": place.image}, "online": true}));
    tenant.claim("first", &runs).await?;
    tenant.until_told("first", "Provisioned", "True", "provisioned").await?;
    let first = until_bound(&tenant, "first").await?;
    let number = (0..2).find(|number| name(*number) == first).context("another host")?;
    let before = place.host(number).await?.spec;
    let done = place.bmcs.done_to(number)?;

    // As `kubectl get --output yaml` tells it, under another name, and off. It is believed that something is installed for
    // it, and so it takes no other host.
    let made = tenant.claims().get("first").await?;
    let mut copy = HostClaim::new("whole", HostClaimSpec { online: false, ..made.spec.clone() });
    copy.metadata.annotations = made.metadata.annotations.clone();
    copy.metadata.finalizers = made.metadata.finalizers.clone();
    ensure!(copy.annotations().contains_key(annotations::CLAIM), "{:?}", copy.metadata);
    tenant.claims().create(&PostParams::default(), &copy).await?;
    tenant.until_told("whole", "Association", "False", "HostLost").await?;
    tenant.delete("whole").await?;

    // One that nothing is installed for has a host of its own.
    copy.metadata.name = Some("second".to_owned());
    copy.annotations_mut().retain(|name, _| name == annotations::CLAIM);
    tenant.claims().create(&PostParams::default(), &copy).await?;
    let own = |claim: &HostClaim| host_of(claim).is_some_and(|host| host != first);
    tenant.until("second", "on a host of its own", own).await?;
    tenant.delete("second").await?;

    let after = place.host(number).await?;
    ensure!(after.spec == before, "{:?}", after.spec);
    ensure!(place.bmcs.done_to(number)? == done, "{:?}", place.bmcs.done_to(number)?);
    tenant.until_told("first", "Provisioned", "True", "provisioned").await?;
    tenant.delete("first").await?;
    place.leave().await
}

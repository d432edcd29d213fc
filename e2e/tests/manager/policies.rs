//! What policies say of themselves: the hosts that they open, those that are held under them, and whether they can be
//! read.

use std::net::Ipv4Addr;

use anyhow::{Result, ensure};
use beskar7_api::boot::Cleaning;
use beskar7_api::{HostClaim, HostDeployPolicy, HostState, PhysicalHost, annotations};
use beskar7_e2e::wait::{self, Seen};
use kube::api::{DeleteParams, PostParams};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use super::place::Place;
use super::setup::{LIMIT, merge, state_of};
use super::site::name;
use super::tenant::{Tenant, open_to};

fn policies(place: &Place) -> Api<HostDeployPolicy> {
    Api::namespaced(place.client().clone(), place.namespace())
}

async fn make_policy(place: &Place, name: &str, metadata: &Value, conditions: &Value) -> Result<()> {
    let mut policy = json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "HostDeployPolicy",
        "metadata": {"name": name}, "spec": {"hostclaimNamespaces": conditions},
    });
    merge(&mut policy, &json!({ "metadata": metadata }));
    policies(place).create(&PostParams::default(), &serde_json::from_value(policy)?).await?;
    Ok(())
}

/// Waits until a policy counts this many hosts, and this many that are held under it.
async fn until_counted(place: &Place, name: &str, hosts: i32, claims: i32) -> Result<HostDeployPolicy> {
    let policies = &policies(place);
    let what = format!("{name} to count {hosts} hosts and {claims} claims");
    let found = wait::until(what, LIMIT, || async move {
        let policy = policies.get(name).await?;
        let status = policy.status.clone().unwrap_or_default();
        Ok(if (status.hosts, status.claims) == (Some(hosts), Some(claims)) {
            Seen::Done(policy)
        } else {
            Seen::NotYet(format!("{status:?}"))
        })
    });
    Ok(found.await?)
}

/// Status, reason and message of the condition Ready.
fn ready(policy: &HostDeployPolicy) -> (&str, &str, &str) {
    let conditions = policy.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
    let found = conditions.iter().find(|condition| condition.type_ == "Ready");
    found.map_or(("", "", ""), |found| (&found.status, &found.reason, &found.message))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_policy_counts_its_hosts_and_those_that_are_held_under_it() -> Result<()> {
    let place = Place::take("policies", Ipv4Addr::new(127, 75, 0, 1), 2, |_| json!({})).await?;
    let tenant = Tenant::make(place.client(), "policies-tenant").await?;
    let first = place.until_state(0, HostState::Available).await?.name_any();
    place.until_state(1, HostState::Available).await?;
    let nobody = json!({"names": ["nobody"]});
    make_policy(&place, "paused", &json!({"annotations": {annotations::PAUSED: ""}}), &nobody).await?;
    make_policy(&place, "other", &json!({}), &nobody).await?;
    open_to(place.client(), place.namespace(), &json!({"hostclaimNamespaces": {}})).await?;
    let policy = until_counted(&place, "policy", 2, 0).await?;
    ensure!(ready(&policy) == ("True", "PolicyRead", ""), "{:?}", policy.status);
    ensure!(
        policy.status.as_ref().and_then(|status| status.observed_generation) == policy.metadata.generation
    );
    ensure!(policy.spec.minimum_cleaning == Cleaning::None, "{:?}", policy.spec);
    let stored = serde_json::to_value(&policy.spec)?;
    ensure!(stored["minimumCleaning"] == "None", "{stored}");
    let other = until_counted(&place, "other", 2, 0).await?;

    // Go takes this expression, and the manager does not.
    make_policy(&place, "unreadable", &json!({}), &json!({"nameMatches": r"\Qteam\E"})).await?;
    let unreadable = until_counted(&place, "unreadable", 2, 0).await?;
    let (status, reason, message) = ready(&unreadable);
    ensure!((status, reason) == ("False", "ExpressionNotUsable"), "{:?}", unreadable.status);
    ensure!(message.starts_with("It allows nobody: nameMatches can't be used: "), "{message}");

    // Whoever takes a host counts with the policy that it was taken under, and with no other.
    let spec = json!({"hostRef": {"name": first, "namespace": place.namespace()}});
    tenant.claim("mine", &spec).await?;
    tenant.until_told("mine", "Association", "True", "HostAssociated").await?;
    until_counted(&place, "policy", 2, 1).await?;
    tenant.delete("mine").await?;
    until_counted(&place, "policy", 2, 0).await?;
    let version = other.resource_version();
    ensure!(policies(&place).get("other").await?.resource_version() == version, "it was written again");

    place.hosts().delete(&name(1), &DeleteParams::default()).await?;
    until_counted(&place, "policy", 1, 0).await?;
    until_counted(&place, "other", 1, 0).await?;
    let paused = policies(&place).get("paused").await?;
    ensure!(paused.status.is_none(), "{:?}", paused.status);
    place.leave().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_policy_that_takes_back_takes_from_a_claim_that_is_paused_or_moved_too() -> Result<()> {
    const HOSTS: usize = 3;
    let place = Place::take("policies-revoke", Ipv4Addr::new(127, 75, 1, 1), HOSTS, |_| json!({})).await?;
    let tenant = Tenant::make(place.client(), "policies-revoke-tenant").await?;
    for number in 0..HOSTS {
        place.until_state(number, HostState::Available).await?;
    }
    let everybody = json!({"nameMatches": ".*"});
    let releasing = json!({"hostclaimNamespaces": everybody, "onRevoke": "Release"});
    open_to(place.client(), place.namespace(), &releasing).await?;
    let claims = ["active", "paused", "moved"];
    let is_kept_here = |claim: &HostClaim| claim.annotations().contains_key(annotations::BLOCK_MOVE);
    for claim in claims {
        tenant.claim(claim, &json!({"hostSelector": {"inNamespace": place.namespace()}})).await?;
        tenant.until_told(claim, "Association", "True", "HostAssociated").await?;
        ensure!(is_kept_here(&tenant.claims().get(claim).await?), "its host would not move along");
    }
    tenant.patch("paused", &json!({"metadata": {"annotations": {annotations::PAUSED: ""}}})).await?;
    tenant.until_told("paused", "Paused", "True", "Paused").await?;
    tenant.patch("moved", &json!({"metadata": {"annotations": {annotations::DELETE_FOR_MOVE: ""}}})).await?;

    // What is demanded behind their claims is written onto their hosts all the same.
    let demanding =
        json!({"hostclaimNamespaces": everybody, "onRevoke": "Release", "minimumCleaning": "Metadata"});
    open_to(place.client(), place.namespace(), &demanding).await?;
    for number in 0..HOSTS {
        let demanded = |host: &PhysicalHost| {
            host.annotations().get(annotations::CLEANING).is_some_and(|word| word == "Metadata")
        };
        place.until_host(number, "to be cleaned", demanded).await?;
    }

    let closed = json!({"hostclaimNamespaces": {"names": ["somebody-else"]}, "onRevoke": "Release"});
    open_to(place.client(), place.namespace(), &closed).await?;
    for number in 0..HOSTS {
        let is_free = |host: &PhysicalHost| {
            let nobodys = host.spec.consumer_ref.is_none() && host.spec.claim_id.is_none();
            nobodys && state_of(host) == Some(HostState::Available)
        };
        place.until_host(number, "given back", is_free).await?;
    }
    for claim in claims {
        tenant.until_told(claim, "Association", "False", "NotAuthorized").await?;
        let forgotten =
            |claim: &HostClaim| !claim.annotations().contains_key(annotations::CLAIM) && !is_kept_here(claim);
        tenant.until(claim, "without a host", forgotten).await?;
    }

    // Who is paused or moved takes no other one.
    tenant.until_told("paused", "Paused", "True", "Paused").await?;
    open_to(place.client(), place.namespace(), &releasing).await?;
    tenant.until_told("active", "Association", "True", "HostAssociated").await?;
    for claim in ["paused", "moved"] {
        let claim = tenant.claims().get(claim).await?;
        ensure!(!claim.annotations().contains_key(annotations::CLAIM), "{:?}", claim.metadata);
    }
    tenant.patch("paused", &json!({"metadata": {"annotations": {annotations::PAUSED: null}}})).await?;
    tenant.until_told("paused", "Association", "True", "HostAssociated").await?;
    place.leave().await
}

//! Many tenants at once, while the policies change under them.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::time::Duration;

use anyhow::{Result, ensure};
use beskar7_api::{HostClaim, HostDeployPolicy, PhysicalHost};
use beskar7_e2e::wait;
use futures::{StreamExt as _, TryStreamExt as _};
use kube::api::ListParams;
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};

use super::setup::*;
use super::site::Site;
use super::tenant::{Tenant, nothing_of_others, open_to, told};

const HOST_COUNT: usize = 600;
const TENANTS: usize = 50;
const CLAIMS: usize = 20;
/// For hundreds of claims on a busy machine.
const LONG: Duration = Duration::from_secs(300);

fn tenant_name(number: usize) -> String {
    format!("tenant-{number:02}")
}

/// A policy for the tenants of these numbers.
fn only(numbers: impl IntoIterator<Item = usize>) -> Value {
    let names: Vec<String> = numbers.into_iter().map(tenant_name).collect();
    json!({"hostclaimNamespaces": {"names": names}})
}

/// The namespace and name of the claim that each host is held by; an error when a claim holds two.
async fn bindings(hosts: &Api<PhysicalHost>) -> Result<BTreeMap<(String, String), String>> {
    let mut held = BTreeMap::new();
    for host in hosts.list(&ListParams::default()).await?.items {
        let Some(holder) = host.spec.consumer_ref.clone() else { continue };
        let claim = (holder.namespace.unwrap_or_default(), holder.name.unwrap_or_default());
        if let Some(other) = held.insert(claim.clone(), host.name_any()) {
            anyhow::bail!("{claim:?} holds {} and {other}", host.name_any());
        }
    }
    Ok(held)
}

/// Who holds hosts, by tenant, and how many.
async fn held_by(hosts: &Api<PhysicalHost>) -> Result<BTreeMap<String, usize>> {
    let mut counts = BTreeMap::new();
    for (tenant, _) in bindings(hosts).await?.into_keys() {
        *counts.entry(tenant).or_default() += 1;
    }
    Ok(counts)
}

/// Changes the policy, and waits until the manager has read it.
async fn change_policy(site: &Site, spec: &Value) -> Result<()> {
    open_to(&site.client, HOSTS, spec).await?;
    let policies: &Api<HostDeployPolicy> = &Api::namespaced(site.client.clone(), HOSTS);
    wait::until_true("the policy to be read", LIMIT, || async move {
        let policy = policies.get("policy").await?;
        let read = policy.status.as_ref().and_then(|status| status.observed_generation);
        Ok(if read == policy.metadata.generation { Ok(()) } else { Err(format!("{read:?}")) })
    })
    .await?;
    Ok(())
}

async fn until_all_have(hosts: &Api<PhysicalHost>, numbers: std::ops::Range<usize>) -> Result<()> {
    let what = format!("all claims of the tenants {numbers:?} to have a host");
    wait::until_true(what, LONG, || {
        let numbers = numbers.clone();
        async move {
            let held = held_by(hosts).await?;
            let short: Vec<_> = numbers
                .map(tenant_name)
                .filter(|name| held.get(name).is_none_or(|count| *count < CLAIMS))
                .collect();
            Ok(if short.is_empty() { Ok(()) } else { Err(format!("{short:?} wait; {held:?}")) })
        }
    })
    .await?;
    Ok(())
}

async fn all_claims(site: &Site) -> Result<Vec<HostClaim>> {
    Ok(Api::<HostClaim>::all(site.client.clone()).list(&ListParams::default()).await?.items)
}

/// Waits until every claim without a host says why, and returns how often each reason was given.
async fn until_all_say_why(site: &Site, expected: &[(&str, usize)]) -> Result<()> {
    wait::until_true(format!("every claim that waits to say why: {expected:?}"), LONG, || async {
        let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
        for claim in all_claims(site).await? {
            let (status, reason, message) = told(&claim, "Association").unwrap_or_default();
            if status != "True" {
                let says = match reason.as_str() {
                    "NoMatchingHost" => message.starts_with(&format!("0 of {HOST_COUNT} hosts match: ")),
                    "NotAuthorized" => message.contains("lets namespace"),
                    _ => false,
                };
                *reasons.entry(if says { reason } else { format!("{reason}: {message}") }).or_default() += 1;
            }
        }
        let wanted: BTreeMap<String, usize> =
            expected.iter().map(|(reason, count)| ((*reason).to_owned(), *count)).collect();
        Ok(if reasons == wanted { Ok(()) } else { Err(format!("{reasons:?}")) })
    })
    .await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_tenants_with_twenty_claims_each_for_six_hundred_hosts_while_policies_change() -> Result<()> {
    let site = Site::open(Ipv4Addr::new(127, 77, 0, 1), HOST_COUNT, |_| json!({})).await?;
    let all_hosts = hosts(&site.client, HOSTS);
    let mut tenants = Vec::new();
    for number in 0..TENANTS {
        tenants.push(Tenant::make(&site.client, &tenant_name(number)).await?);
    }
    // Tenants 0 to 9 are always allowed, 40 to 49 never, and the others now and then.
    change_policy(&site, &only(0..20)).await?;
    let made = futures::stream::iter(&tenants).flat_map(|tenant| {
        let claims = (0..CLAIMS).map(move |number| async move {
            tenant.claim(&format!("of-{}-{number}", tenant.namespace), &json!({})).await
        });
        futures::stream::iter(claims)
    });
    let making = made.buffer_unordered(32).try_collect::<Vec<()>>();
    let changing = async {
        for allowed in [only((0..10).chain(20..30)), only(0..10), only((0..10).chain(30..40))] {
            change_policy(&site, &allowed).await?;
        }
        anyhow::Ok(())
    };
    tokio::try_join!(making, changing)?;
    // A tightened policy blocks new claims at once: who has hosts keeps them, and nobody else gets any.
    change_policy(&site, &only(0..10)).await?;
    let before = held_by(&all_hosts).await?;
    until_all_have(&all_hosts, 0..10).await?;
    let after = held_by(&all_hosts).await?;
    let always: BTreeSet<String> = (0..10).map(tenant_name).collect();
    for (tenant, count) in after.iter().filter(|(tenant, _)| !always.contains(*tenant)) {
        let had = before.get(tenant).copied().unwrap_or_default();
        ensure!(*count == had, "{tenant} had {had} hosts and got {count} against the policy");
    }
    until_all_say_why(&site, &[("NotAuthorized", TENANTS * CLAIMS - after.values().sum::<usize>())]).await?;

    // All that may have hosts get them, to the last one.
    change_policy(&site, &only(0..40)).await?;
    wait::until_true("all hosts to be held", LONG, || async {
        let held = bindings(&all_hosts).await?.len();
        Ok(if held == HOST_COUNT { Ok(()) } else { Err(format!("{held}")) })
    })
    .await?;
    let never = held_by(&all_hosts).await?;
    ensure!((40..TENANTS).map(tenant_name).all(|name| !never.contains_key(&name)), "{never:?}");
    let waiting = 40 * CLAIMS - HOST_COUNT;
    until_all_say_why(&site, &[("NoMatchingHost", waiting), ("NotAuthorized", 10 * CLAIMS)]).await?;
    agree_from_both_sides(&site, &all_hosts).await?;

    for (number, tenant) in tenants.iter().enumerate() {
        let others: Vec<String> = (0..TENANTS).filter(|other| *other != number).map(tenant_name).collect();
        let others: Vec<&str> = others.iter().map(String::as_str).collect();
        nothing_of_others(tenant, &others).await?;
    }
    site.close().await
}

/// Every claim that says that it has a host is the one that the host names, and no host is held by one that does not.
async fn agree_from_both_sides(site: &Site, hosts: &Api<PhysicalHost>) -> Result<()> {
    let mut held = bindings(hosts).await?;
    for claim in all_claims(site).await? {
        let key = (claim.namespace().unwrap_or_default(), claim.name_any());
        let says = claim.status.and_then(|status| status.hardware_data).map(|named| named.name);
        ensure!(held.remove(&key) == says, "{key:?} says {says:?}");
    }
    ensure!(held.is_empty(), "{held:?} are held by nobody that there is");
    Ok(())
}

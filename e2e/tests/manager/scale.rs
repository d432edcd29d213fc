//! Many machines at once.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use beskar7_e2e::wait;
use kube::Client;
use kube::api::ListParams;
use serde_json::json;

use super::owners::*;
use super::setup::*;
use super::site::Site;

const HOST_COUNT: usize = 400;
const MACHINE_COUNT: usize = 500;
/// For hundreds of machines on a busy machine.
const LONG: Duration = Duration::from_secs(300);

/// Which machine holds which host, seen from both sides; an error when they disagree or a host is held twice.
async fn bindings(client: &Client) -> Result<BTreeMap<String, String>> {
    let mut held = BTreeMap::new();
    for host in hosts(client, HOSTS).list(&ListParams::default()).await?.items {
        let Some(machine) = host.spec.consumer_ref.and_then(|consumer| consumer.name) else { continue };
        let host = host.metadata.name.unwrap_or_default();
        if let Some(other) = held.insert(machine.clone(), host.clone()) {
            anyhow::bail!("{machine} holds {host} and {other}");
        }
    }
    Ok(held)
}

#[tokio::test(flavor = "multi_thread")]
async fn five_hundred_machines_for_four_hundred_hosts() -> Result<()> {
    // They need not boot to be held.
    let site =
        Site::open(Ipv4Addr::new(127, 45, 0, 1), HOST_COUNT, |_| json!({"spec": {"online": false}})).await?;
    let client = &site.client;
    let all = (0..MACHINE_COUNT).map(|number| {
        let (client, image) = (client.clone(), site.image.clone());
        tokio::spawn(async move {
            make_machine(&client, &format!("m-{number}"), &image, &json!({}), &json!({})).await
        })
    });
    for made in all.collect::<Vec<_>>() {
        made.await??;
    }
    wait::until_true(format!("{HOST_COUNT} of {MACHINE_COUNT} machines to have a host"), LONG, || async {
        let held = bindings(client).await?.len();
        let waiting = waiting(client).await?.len();
        let done = held == HOST_COUNT && waiting == MACHINE_COUNT - HOST_COUNT;
        Ok(if done { Ok(()) } else { Err(format!("{held} held, {waiting} waiting")) })
    })
    .await?;
    let (held, waiting_ones) = (bindings(client).await?, waiting(client).await?);
    for message in waiting_ones.values() {
        ensure!(message == &format!("0 of {HOST_COUNT} hosts match: {HOST_COUNT} claimed"), "{message}");
    }
    let both: Vec<_> = waiting_ones.keys().filter(|name| held.contains_key(*name)).collect();
    ensure!(both.is_empty(), "{both:?} wait and hold");

    // One is freed: one of those who wait gets it, and nobody else anything else.
    let (gone, freed) = held.iter().next().context("nobody holds a host")?;
    delete_machine(client, gone).await?;
    until_gone(client, gone).await?;
    wait::until_true(format!("{freed} to be taken again"), LONG, || async {
        let now = bindings(client).await?;
        Ok(if now.len() == HOST_COUNT { Ok(()) } else { Err(format!("{} held", now.len())) })
    })
    .await?;
    let now = bindings(client).await?;
    let new: BTreeSet<_> = now.iter().filter(|(machine, _)| !held.contains_key(*machine)).collect();
    ensure!(new.len() == 1 && new.iter().all(|(_, host)| *host == freed), "{new:?}");
    let moved =
        now.iter().filter(|(machine, host)| held.get(*machine).is_some_and(|before| before != *host)).count();
    ensure!(moved == 0, "{moved} machines changed their host");
    site.close().await
}

/// Who waits, and what it says.
async fn waiting(client: &Client) -> Result<BTreeMap<String, String>> {
    let all = machines(client).list(&ListParams::default()).await?.items;
    Ok(all
        .into_iter()
        .filter_map(|machine| {
            let (_, reason, message) = told(&machine, "PhysicalHostAssociated")?;
            (reason == "WaitingForPhysicalHost").then(|| (machine.metadata.name.unwrap_or_default(), message))
        })
        .collect())
}

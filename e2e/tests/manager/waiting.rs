//! Machines that wait for a host are woken by what changes. Nothing else could wake them here: no BMC is asked meanwhile,
//! and nobody looks again because of the time.

use std::net::Ipv4Addr;

use anyhow::{Result, ensure};
use beskar7_redfish_sim::profiles;
use serde_json::{Value, json};

use super::bmcs::Bmcs;
use super::owners::*;
use super::setup::*;
use super::site::{Site, name};

/// So seldom that a test is over before.
const SELDOM: [&str; 2] = ["--bmc-poll-interval=1h", "--sync-period=24h"];

fn labelled(for_whom: &str) -> Value {
    json!({"metadata": {"labels": {"for": for_whom}}})
}

/// A machine that takes only a host that is labelled for it.
async fn make_waiter(site: &Site, waiter: &str) -> Result<()> {
    let selector = json!({"spec": {"hostSelector": {"matchLabels": {"for": waiter}}}});
    make_machine(&site.client, waiter, &site.image, &json!({}), &selector).await?;
    until_waiting(&site.client, waiter, "WaitingForPhysicalHost").await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_freed_host_serves_the_one_who_waits_though_nobody_polls() -> Result<()> {
    let site = Site::open_with(&SELDOM, Ipv4Addr::new(127, 55, 0, 1), 1, |_| json!({})).await?;
    let client = &site.client;
    make_machine(client, "holder", &site.image, &json!({}), &json!({})).await?;
    until_phase(client, "holder", "Provisioned").await?;
    make_machine(client, "waiter", &site.image, &json!({}), &json!({})).await?;
    let told = until_waiting(client, "waiter", "WaitingForPhysicalHost").await?;
    ensure!(told == "0 of 1 host matches: 1 claimed", "{told}");
    delete_machine(client, "holder").await?;
    until_gone(client, "holder").await?;
    let waiter = until_phase(client, "waiter", "Provisioned").await?;
    ensure!(waiter.spec.provider_id.as_deref() == Some("b7://metal/h-0"), "{:?}", waiter.spec);
    site.close().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_is_uncordoned_relabelled_or_added_serves_the_one_who_waits_though_nobody_polls()
-> Result<()> {
    let which = |number| {
        let mut host = labelled("uncordoned");
        merge(&mut host, &json!({"spec": {"cordoned": "a fan is being replaced"}}));
        if number == 0 { host } else { labelled("nobody") }
    };
    let site = Site::open_with(&SELDOM, Ipv4Addr::new(127, 55, 1, 1), 2, which).await?;
    let client = &site.client;
    for waiter in ["uncordoned", "relabelled", "added"] {
        make_waiter(&site, waiter).await?;
    }
    patch_host(client, &name(0), &json!({"spec": {"cordoned": null}})).await?;
    patch_host(client, &name(1), &labelled("relabelled")).await?;
    let another = Bmcs::start(Ipv4Addr::new(127, 55, 2, 1), 1, profiles::plain()).await?;
    let mut host = labelled("added");
    merge(&mut host, &json!({"spec": {"redfishConnection": {"address": another.url(0)}}}));
    make_host(client, HOSTS, "h-2", &host).await?;
    for (waiter, host) in [("uncordoned", "h-0"), ("relabelled", "h-1"), ("added", "h-2")] {
        let machine = until_phase(client, waiter, "Provisioned").await?;
        let expected = format!("b7://metal/{host}");
        ensure!(machine.spec.provider_id == Some(expected), "{waiter}: {:?}", machine.spec);
    }
    site.close().await
}

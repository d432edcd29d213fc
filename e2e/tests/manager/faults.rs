//! What goes wrong while machines are provisioned and while they run: it ends right, or says why not, and no machine that
//! runs is touched for it.

use std::net::Ipv4Addr;

use anyhow::{Context, Result, ensure};
use beskar7_api::HostState;
use beskar7_e2e::wait;
use beskar7_redfish_sim::bmc::Credentials;
use beskar7_redfish_sim::faults::{Armed, Fault};
use beskar7_redfish_sim::machine::boot::BootSource;
use beskar7_redfish_sim::machine::log::Action;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use super::life::until_state;
use super::owners::*;
use super::setup::*;
use super::site::{Site, name};

/// A machine that takes the host of this number, and no other.
fn on_host(number: usize) -> Value {
    json!({"spec": {"hostSelector": {"matchLabels": {"host": name(number)}}}})
}

/// Hosts that can be told apart by a label.
fn labelled(number: usize) -> Value {
    json!({"metadata": {"labels": {"host": name(number)}}})
}

/// Waits until a host's condition has this reason. A BMC that hangs is given up after several deadlines only.
async fn until_reason(site: &Site, number: usize, type_: &str, reason: &str) -> Result<()> {
    let what = format!("{} to have {type_}=False ({reason})", name(number));
    wait::until_true(what, LIMIT * 4, || async {
        let host = site.host(number).await?;
        Ok(match condition(&host, type_) {
            Some(found) if found.status == "False" && found.reason == reason => Ok(()),
            other => Err(format!("{other:?}")),
        })
    })
    .await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_goes_wrong_while_a_machine_is_provisioned_delays_it_and_nothing_else() -> Result<()> {
    let faults: [(&str, Armed); 6] = [
        ("hung", Armed::times(Fault::Hang, 2).sparing(3)),
        ("reset", Armed::times(Fault::Reset, 6).sparing(3)),
        ("rebooted", Armed::times(Fault::LostSession, 4).sparing(2)),
        ("busy", Armed::times(Fault::Unavailable { retry_after_seconds: 1 }, 4).sparing(3)),
        ("slow", Armed::times(Fault::Slow { ms: 1500 }, 6)),
        ("stuck", Armed::times(Fault::StuckPower, 1)),
    ];
    let site = Site::open(Ipv4Addr::new(127, 47, 0, 1), faults.len(), labelled).await?;
    let client = &site.client;
    for (number, (machine, fault)) in faults.iter().enumerate() {
        site.bmc(number, |bmc| {
            bmc.machine.clear_log();
            bmc.faults.arm(fault.clone());
        })?;
        make_machine(client, machine, &site.image, &json!({}), &on_host(number)).await?;
    }
    for (number, (machine, _)) in faults.iter().enumerate() {
        until_phase(client, machine, "Provisioned").await.with_context(|| format!("the fault {machine}"))?;
        let on = site.bmcs.times_on(number)?;
        ensure!(on == 1, "{machine}: turned on {on} times: {:?}", site.done_to(number)?);
    }
    // The same on the way back.
    for (number, (machine, fault)) in faults.iter().enumerate() {
        site.bmc(number, |bmc| {
            bmc.faults.clear();
            bmc.faults.arm(fault.clone());
        })?;
        delete_machine(client, machine).await?;
    }
    for (number, (machine, _)) in faults.iter().enumerate() {
        until_gone(client, machine).await.with_context(|| format!("the fault {machine}"))?;
        ensure!(site.is_off_and_empty(number)?, "{machine}: {:?}", site.done_to(number)?);
        until_state(client, &name(number), HostState::Available).await?;
    }
    site.close().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_medium_that_is_lost_before_the_boot_is_put_back_and_no_old_disk_is_taken_for_the_machine()
-> Result<()> {
    let site = Site::open(Ipv4Addr::new(127, 47, 5, 1), 2, labelled).await?;
    let client = &site.client;
    let lost = Armed::always(Fault::LostMedia).at("ComputerSystem.Reset");
    for (number, fault) in [Armed { count: Some(1), ..lost.clone() }, lost].into_iter().enumerate() {
        site.bmc(number, |bmc| {
            bmc.machine.install(Some("of somebody else".to_owned()));
            bmc.faults.arm(fault);
        })?;
        make_machine(client, &format!("m-{number}"), &site.image, &json!({}), &on_host(number)).await?;
    }
    until_phase(client, "m-0", "Provisioned").await?;
    let running = site.bmc(0, |bmc| bmc.machine.running().cloned())?;
    ensure!(matches!(running, Some(BootSource::Media { .. })), "{running:?}");

    // One that loses it every time says so, and is not turned on and off for ever.
    until_reason(&site, 1, "HostProvisioned", "MediumLost").await?;
    ensure!(site.host(1).await?.status.and_then(|status| status.state) == Some(HostState::Provisioning));
    let told = until_waiting(client, "m-1", "PhysicalHostError").await?;
    ensure!(told.contains("MediumLost"), "{told}");
    let on = site.bmcs.times_on(1)?;
    ensure!(on == 5, "turned on {on} times");
    delete_machine(client, "m-1").await?;
    until_gone(client, "m-1").await?;
    until_state(client, &name(1), HostState::Available).await?;
    ensure!(site.is_off_and_empty(1)?);
    site.close().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_machine_is_not_touched_whatever_happens_around_it() -> Result<()> {
    let mut site = Site::open(Ipv4Addr::new(127, 47, 1, 1), 4, labelled).await?;
    let client = site.client.clone();
    for number in 0..4 {
        make_machine(&client, &format!("m-{number}"), &site.image, &json!({}), &on_host(number)).await?;
    }
    for number in 0..4 {
        until_phase(&client, &format!("m-{number}"), "Provisioned").await?;
        site.bmc(number, |bmc| bmc.machine.clear_log())?;
    }

    // One BMC hangs, one refuses everybody, one is given other credentials, one loses its media.
    site.bmc(0, |bmc| bmc.faults.arm(Armed::always(Fault::Hang)))?;
    site.bmc(1, |bmc| bmc.faults.arm(Armed::always(Fault::Unauthorized)))?;
    let rotated = Credentials { username: "root".to_owned(), password: "another-8642".to_owned() };
    site.bmc(2, |bmc| bmc.change_credentials(rotated))?;
    site.bmc(3, |bmc| bmc.faults.arm(Armed::always(Fault::LyingMedia)))?;
    for number in [0, 1, 2] {
        until_reason(&site, number, "RedfishConnectionReady", "RedfishConnectionFailed").await?;
    }
    // The API server goes and comes back.
    site.plane.stop_api_server().await?;
    site.plane.start_api_server().await?;
    for number in 0..4 {
        let host = until_state(&client, &name(number), HostState::Provisioned).await?;
        ensure!(host.spec.consumer_ref.is_some());
        let machine = machines(&client).get(&format!("m-{number}")).await?;
        ensure!(phase_of(&machine) == "Provisioned", "m-{number}: {:?}", machine.status);
    }

    // All is mended; the Secret is changed to what the rotated BMC wants, for that one host.
    site.bmcs.fleet.clear_faults();
    make_secret(&client, "rotated", &json!({"username": "root", "password": "another-8642"})).await?;
    patch_host(
        &client,
        &name(2),
        &json!({"spec": {"redfishConnection": {"credentialsSecretRef": "rotated"}}}),
    )
    .await?;
    for number in 0..4 {
        until_condition(&client, &name(number), "RedfishConnectionReady", "True", "Connected").await?;
        let done = site.done_to(number)?;
        ensure!(done.is_empty(), "{}: {done:?}", name(number));
    }
    site.close().await
}

#[tokio::test(flavor = "multi_thread")]
async fn credentials_that_change_in_their_secret_are_taken_up() -> Result<()> {
    let site = Site::open(Ipv4Addr::new(127, 47, 2, 1), 1, |_| json!({})).await?;
    let client = &site.client;
    let rotated = Credentials { username: "root".to_owned(), password: "another-8642".to_owned() };
    site.bmc(0, |bmc| bmc.change_credentials(rotated))?;
    until_reason(&site, 0, "RedfishConnectionReady", "RedfishConnectionFailed").await?;
    let secrets: Api<Secret> = Api::namespaced(client.clone(), HOSTS);
    let patch = json!({"stringData": {"password": "another-8642"}});
    secrets.patch("bmc", &PatchParams::default(), &Patch::Merge(&patch)).await?;
    until_condition(client, &name(0), "RedfishConnectionReady", "True", "Connected").await?;
    site.close().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_bmc_holds_a_release_until_a_person_says_otherwise() -> Result<()> {
    let site = Site::open(Ipv4Addr::new(127, 47, 3, 1), 1, |_| json!({})).await?;
    let client = &site.client;
    make_machine(client, "m", &site.image, &json!({}), &json!({})).await?;
    until_phase(client, "m", "Provisioned").await?;
    site.bmc(0, |bmc| bmc.faults.arm(Armed::always(Fault::Reset)))?;
    delete_machine(client, "m").await?;
    let told = until_waiting(client, "m", "ReleasingPhysicalHost").await?;
    ensure!(told.contains("metal/h-0"), "{told}");
    until_state(client, &name(0), HostState::Deprovisioning).await?;

    // The person is sure: the machine goes, the host stays back until it is clean.
    let force =
        json!({"metadata": {"annotations": {"beskar7.infrastructure.cluster.x-k8s.io/force-release": ""}}});
    machines(client).patch("m", &PatchParams::default(), &Patch::Merge(&force)).await?;
    until_gone(client, "m").await?;
    make_machine(client, "n", &site.image, &json!({}), &json!({})).await?;
    let told = until_waiting(client, "n", "WaitingForPhysicalHost").await?;
    ensure!(told == "0 of 1 host matches: 1 being deprovisioned", "{told}");
    site.bmc(0, |bmc| bmc.machine.clear_log())?;
    site.bmcs.fleet.clear_faults();
    until_phase(client, "n", "Provisioned").await?;
    let done = site.done_to(0)?;
    let off = done.iter().position(|action| matches!(action, Action::PoweredOff)).context("never off")?;
    let on = done.iter().position(|action| matches!(action, Action::PoweredOn)).context("never on")?;
    ensure!(off < on, "it was handed over before it was off: {done:?}");
    site.close().await
}

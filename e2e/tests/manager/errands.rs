//! What the agent does on machines that nobody uses, played by tests: it looks at them before they are Available, and wipes
//! their disks before others get them. With the API server and simulated BMCs.

use std::net::Ipv4Addr;

use anyhow::{Context, Result, ensure};
use beskar7_api::host_boot_configuration::BootConfigurationState;
use beskar7_api::{
    HardwareData, HostBootConfiguration, HostState, PhysicalHost, annotations, boot::AgentTask,
};
use beskar7_e2e::images;
use beskar7_e2e::wait::{self, Seen};
use beskar7_redfish_sim::machine::power::{PowerState, ResetType};
use kube::Api;
use reqwest::StatusCode;
use serde_json::{Value, json};

use super::agents::{Agent, from_drive};
use super::owners::{delete_machine, make_machine, until_gone, until_phase, until_waiting};
use super::setup::*;
use super::site::{FLAGS, Site, name};

/// A site whose hosts start the agent from virtual media.
async fn site(first: Ipv4Addr, host: &Value) -> Result<Site> {
    site_with(&[], first, host).await
}

/// The same, with a manager that is given these flags, too.
async fn site_with(more: &[&str], first: Ipv4Addr, host: &Value) -> Result<Site> {
    let iso = format!("--agent-iso={}/agent.iso", images::serve().await?);
    let flags: Vec<&str> = FLAGS.into_iter().chain([iso.as_str()]).chain(more.iter().copied()).collect();
    Site::open_serving(&flags, first, 1, |_| host.clone()).await
}

/// The agent that the machine of the site is started with next, and what it is told.
async fn next_agent(site: &Site, task: &str) -> Result<(Agent, Value)> {
    let found = wait::until(format!("an agent that is told to {task}"), LIMIT * 2, || async {
        let Ok(agent) = from_drive(site).await else { return Ok(Seen::NotYet("no agent".to_owned())) };
        Ok(match agent.order().await {
            Ok(Some(order)) if order["task"] == task => Seen::Done((agent, order)),
            other => Seen::NotYet(format!("{other:?}")),
        })
    });
    Ok(found.await?)
}

/// Waits until a condition of the host says this.
async fn until_said(site: &Site, type_: &str, reason: &str, word: &str) -> Result<PhysicalHost> {
    let says = |host: &PhysicalHost| {
        condition(host, type_).is_some_and(|found| found.reason == reason && found.message.contains(word))
    };
    until_host(&hosts(&site.client, HOSTS), &name(0), &format!("{reason}, {word}"), says).await
}

async fn until_in(site: &Site, state: HostState) -> Result<PhysicalHost> {
    let what = format!("{state:?}");
    until_host(&hosts(&site.client, HOSTS), &name(0), &what, |host| state_of(host) == Some(state)).await
}

fn marked(host: &PhysicalHost, annotation: &str) -> bool {
    host.metadata.annotations.as_ref().is_some_and(|all| all.contains_key(annotation))
}

async fn until_event(site: &Site, reason: &str, word: &str) -> Result<()> {
    wait::until_true(format!("the event {reason}"), LIMIT, || async {
        let all = site.everything().await?;
        Ok(if all.contains(reason) && all.contains(word) { Ok(()) } else { Err("not yet".to_owned()) })
    })
    .await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_is_inspected_by_the_agent_before_it_is_available() -> Result<()> {
    let site = site(Ipv4Addr::new(127, 88, 0, 1), &json!({})).await?;
    let data: Api<HardwareData> = Api::namespaced(site.client.clone(), HOSTS);
    patch_host(&site.client, &name(0), &json!({"spec": {"inspect": true}})).await?;
    let (agent, order) = next_agent(&site, "inspect").await?;
    until_in(&site, HostState::Inspecting).await?;

    // What it boots is made as for a claim, and says what it is for.
    let made: Api<HostBootConfiguration> = Api::namespaced(site.client.clone(), HOSTS);
    let made = made.get(&name(0)).await?;
    ensure!(made.spec.task == Some(AgentTask::Inspect) && made.spec.install.is_none(), "{:?}", made.spec);

    // Nobody gets it meanwhile.
    make_machine(&site.client, "one", &site.image, &json!({}), &json!({})).await?;
    until_waiting(&site.client, "one", "WaitingForPhysicalHost").await?;
    let running = json!({"state": "running", "step": "listening for switches"});
    ensure!(agent.report(&order, &running).await? == StatusCode::NO_CONTENT);
    until_said(&site, "HostAvailable", "Inspecting", "listening for switches").await?;
    ensure!(agent.order().await?.as_ref() == Some(&order), "the same again has the same name");

    // The power fails: it is started again, and what it was told before is over.
    site.bmcs.press(0, ResetType::ForceOff)?;
    let found = wait::until("another order", LIMIT * 2, || async {
        Ok(match agent.order().await {
            Ok(Some(again)) if again["id"] != order["id"] => Seen::Done(again),
            other => Seen::NotYet(format!("{other:?}")),
        })
    });
    let again = found.await?;
    ensure!(agent.report(&order, &running).await? == StatusCode::GONE);

    let seen = json!({"state": "done", "inspected": {
        "cpu": {"architecture": "x86_64", "cores": 8}, "memoryBytes": 17_179_869_184_u64, "bootMode": "uefi", "tpm": "2.0",
        "disks": [{"path": "/dev/sda", "serialNumber": "seen-by-the-agent", "sizeBytes": 1_000_000_000_000_u64, "kind": "ssd"}],
        "nics": [{"name": "eth0", "macAddress": "52:54:00:00:00:01", "linkUp": true,
                  "neighbour": {"chassis": "switch-7", "port": "12"}}],
    }});
    ensure!(agent.report(&again, &seen).await? == StatusCode::NO_CONTENT);
    ensure!(marked(&site.host(0).await?, annotations::INSPECTED), "it is written before it is answered");
    let written = data.get(&name(0)).await?.spec;
    let inspection = written.inspection.context("no inspection")?;
    ensure!(inspection.neighbours.iter().any(|end| end.chassis == "switch-7"), "{inspection:?}");
    ensure!(inspection.hardware.storage[0].serial_number.as_deref() == Some("seen-by-the-agent"));

    // Off and empty again, and whoever waits gets it.
    let told_off = agent.order().await;
    ensure!(told_off.is_err() || told_off?.is_none_or(|order| order["task"] == "powerOff"));
    let one = until_phase(&site.client, "one", "Provisioned").await?;
    ensure!(one.metadata.name.as_deref() == Some("one"));
    let host = site.host(0).await?;
    ensure!(!marked(&host, annotations::ERRAND), "{:?}", host.metadata.annotations);
    let kept = data.get(&name(0)).await?.spec;
    ensure!(kept.inspection.is_some() && kept.hardware.manufacturer.is_some(), "two write it, each its part");
    ensure!(agent.ask_for_order().await?.0 == StatusCode::NOT_FOUND, "its agent is a stranger by now");
    until_event(&site, "InspectionBegan", "looks at the machine").await?;
    ensure!(!site.everything().await?.contains(agent.secret()?), "a capability is told to everybody");
    site.close().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_boot_configuration_is_created_for_servers_in_the_initial_state_as_for_a_claim() -> Result<()> {
    let site = site(Ipv4Addr::new(127, 88, 1, 1), &json!({})).await?;
    patch_host(&site.client, &name(0), &json!({"spec": {"inspect": true}})).await?;
    let host = until_in(&site, HostState::Inspecting).await?;
    ensure!(host.spec.consumer_ref.is_none() && host.spec.claim_id.is_none(), "{:?}", host.spec);
    let made: Api<HostBootConfiguration> = Api::namespaced(site.client.clone(), HOSTS);
    let ready = wait::until("a boot configuration that is ready", LIMIT * 2, || async {
        let found = made.get_opt(&name(0)).await?;
        let state = found.as_ref().and_then(|found| found.status.as_ref()?.state);
        Ok(match found {
            Some(found) if state == Some(BootConfigurationState::Ready) => Seen::Done(found),
            other => Seen::NotYet(format!("{:?}", other.map(|other| other.status))),
        })
    });
    let ready = ready.await?;
    ensure!(ready.spec.task == Some(AgentTask::Inspect), "{:?}", ready.spec);
    ensure!(ready.spec.host_ref.name == name(0), "{:?}", ready.spec);
    let owners = ready.metadata.owner_references.unwrap_or_default();
    let is_the_hosts = owners.iter().any(|owner| Some(&owner.uid) == host.metadata.uid.as_ref());
    ensure!(owners.len() == 1 && is_the_hosts, "{owners:?}");
    site.close().await
}

#[tokio::test(flavor = "multi_thread")]
async fn with_inspect_always_a_host_that_says_nothing_of_it_is_inspected_and_one_that_refuses_is_not()
-> Result<()> {
    let refuses = json!({"spec": {"inspect": false}});
    let site = site_with(&["--inspect=always"], Ipv4Addr::new(127, 88, 2, 1), &refuses).await?;
    ensure!(!marked(&site.host(0).await?, annotations::ERRAND), "it is Available, as it refuses");
    patch_host(&site.client, &name(0), &json!({"spec": {"inspect": null}})).await?;
    let host = until_in(&site, HostState::Inspecting).await?;
    ensure!(host.spec.inspect.is_none(), "{:?}", host.spec);
    next_agent(&site, "inspect").await?;
    site.close().await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_agent_wipes_the_disks_before_a_host_is_given_back() -> Result<()> {
    let site = site(Ipv4Addr::new(127, 89, 0, 1), &json!({})).await?;
    make_machine(&site.client, "one", &site.image, &json!({}), &json!({})).await?;
    until_phase(&site.client, "one", "Provisioned").await?;
    let claim = site.host(0).await?.spec.claim_id.context("no claim")?;
    delete_machine(&site.client, "one").await?;

    // Where nobody says anything, what an operating system would find is wiped.
    let (agent, order) = next_agent(&site, "clean").await?;
    ensure!(order["how"] == "metadata", "{order}");
    let host = until_in(&site, HostState::Deprovisioning).await?;
    ensure!(host.spec.claim_id.as_deref() == Some(claim.as_str()), "it is nobody else's before it is clean");
    let wiping = json!({"state": "running", "step": "wiping", "disk": "/dev/sda", "done": 1, "total": 2});
    ensure!(agent.report(&order, &wiping).await? == StatusCode::NO_CONTENT);
    until_said(&site, "HostProvisioned", "Deprovisioning", "wiping /dev/sda, 50 %").await?;

    // More is wanted meanwhile: what was wiped does not do.
    patch_host(&site.client, &name(0), &json!({"spec": {"cleaning": "Full"}})).await?;
    let wiped = |method: &str| json!({"state": "done", "cleaned": [{"disk": "/dev/sda", "method": method}]});
    ensure!(agent.report(&order, &wiped("metadata")).await? == StatusCode::GONE);
    let (agent, order) = next_agent(&site, "clean").await?;
    ensure!(order["how"] == "full", "{order}");

    // An agent that can't: the host stays back, in the agent's own words, until somebody has put it right.
    let failed =
        json!({"state": "failed", "step": "wiping", "disk": "/dev/sda", "message": "the disk is locked"});
    ensure!(agent.report(&order, &failed).await? == StatusCode::NO_CONTENT);
    until_said(&site, "HostProvisioned", "CleaningFailed", "the disk is locked").await?;
    ensure!(agent.order().await?.is_none(), "the same would fail again");
    site.bmcs.press(0, ResetType::ForceOff)?;
    let again = agent.until_told("clean").await?;
    ensure!(again["id"] != order["id"], "{again}");

    ensure!(agent.report(&again, &wiped("overwritten")).await? == StatusCode::NO_CONTENT);
    until_gone(&site.client, "one").await?;
    let host = until_in(&site, HostState::Available).await?;
    ensure!(site.is_off_and_empty(0)?, "it is free, and its machine is not off and empty");
    for mark in [annotations::ERRAND, annotations::CLEANED, annotations::AGENT] {
        ensure!(!marked(&host, mark), "{:?}", host.metadata.annotations);
    }
    until_event(&site, "DisksWiped", "by writing over all of it").await?;
    ensure!(!site.everything().await?.contains(agent.secret()?), "a capability is told to everybody");
    ensure!(agent.ask_for_order().await?.0 == StatusCode::NOT_FOUND, "its agent is a stranger by now");
    site.close().await
}

#[tokio::test(flavor = "multi_thread")]
async fn another_machine_than_the_hosts_is_not_wiped_for_it() -> Result<()> {
    let site = site(Ipv4Addr::new(127, 99, 0, 1), &json!({})).await?;
    make_machine(&site.client, "one", &site.image, &json!({}), &json!({})).await?;
    until_phase(&site.client, "one", "Provisioned").await?;
    let claim = site.host(0).await?.spec.claim_id.context("no claim")?;
    delete_machine(&site.client, "one").await?;
    let (agent, order) = next_agent(&site, "clean").await?;
    let own = order["machine"].as_str().context("the order is for any machine")?.to_owned();
    let other = "38947555-7742-3448-3784-823347823834";

    // Whatever it says that it did, this is not the machine.
    let wiped = |machine: &str| json!({"state": "done", "machine": machine, "cleaned": [{"disk": "/dev/sda", "method": "metadata"}]});
    ensure!(agent.report(&order, &wiped(other)).await? == StatusCode::NO_CONTENT);
    let host = until_said(&site, "HostProvisioned", "CleaningFailed", "spec.bootMACAddress").await?;
    ensure!(!marked(&host, annotations::CLEANED), "{:?}", host.metadata.annotations);
    let told = condition(&host, "HostProvisioned").context("nothing is said")?;
    ensure!(told.message.contains(other) && told.message.contains(&own), "{}", told.message);
    wait::until_true("the host's own machine to be off", LIMIT, || async {
        Ok(if site.bmc(0, |bmc| bmc.machine.power())? == PowerState::Off {
            Ok(())
        } else {
            Err("it is on".to_owned())
        })
    })
    .await?;

    // It is put right, and the right one comes.
    let anew = json!({"metadata": {"annotations": {annotations::ERRAND: null}}});
    patch_host(&site.client, &name(0), &anew).await?;
    let (agent, order) = next_agent(&site, "clean").await?;
    ensure!(agent.report(&order, &wiped(&own.to_uppercase())).await? == StatusCode::NO_CONTENT);
    until_gone(&site.client, "one").await?;
    let host = until_in(&site, HostState::Available).await?;
    ensure!(host.spec.claim_id.as_deref() != Some(claim.as_str()), "it is still held");
    site.close().await
}

//! What templates say that their machines offer, for the cluster autoscaler; and that clusterctl does not move a host
//! that is worked on.

use std::net::Ipv4Addr;

use anyhow::{Result, ensure};
use beskar7_api::{Beskar7MachineTemplate, HostState, PhysicalHost, annotations};
use beskar7_e2e::wait;
use beskar7_redfish_sim::faults::{Armed, Fault};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use super::place::Place;
use super::setup::*;
use super::site::name;

fn templates(place: &Place) -> Api<Beskar7MachineTemplate> {
    Api::namespaced(place.client().clone(), place.namespace())
}

async fn make_template(place: &Place, name: &str, spec: &Value) -> Result<()> {
    let mut template = json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "Beskar7MachineTemplate",
        "metadata": {"name": name},
        "spec": {"template": {"spec": {"provisioningMode": "PreBakedISO", "imageURL": place.image}}},
    });
    merge(&mut template, &json!({"spec": {"template": {"spec": spec}}}));
    templates(place).create(&PostParams::default(), &serde_json::from_value(template)?).await?;
    Ok(())
}

/// Waits until a template's status is this.
async fn until_offered(place: &Place, name: &str, expected: &Value) -> Result<()> {
    let templates = &templates(place);
    let met = wait::until_true(format!("{name} to offer {expected}"), LIMIT, || async move {
        let found = serde_json::to_value(templates.get(name).await?.status)?;
        Ok(if found == *expected { Ok(()) } else { Err(found.to_string()) })
    });
    Ok(met.await?)
}

/// What is offered by hosts with so many threads and so much memory.
fn offered(host: &PhysicalHost) -> Value {
    let hardware = host.status.as_ref().and_then(|status| status.hardware_details.as_ref());
    let hardware = hardware.map(|details| details.hardware.clone()).unwrap_or_default();
    let cpu = hardware.cpu.unwrap_or_default();
    let memory = hardware.memory.and_then(|memory| memory.total_mib).unwrap_or_default();
    let cpus = cpu.threads.or(cpu.cores).unwrap_or_default();
    json!({
        "capacity": {"cpu": cpus.to_string(), "memory": format!("{memory}Mi")},
        "nodeInfo": {"architecture": "amd64", "operatingSystem": "linux"},
    })
}

/// Whether all that a template counts is known of a host.
fn is_read(host: &PhysicalHost) -> bool {
    let details = host.status.as_ref().and_then(|status| status.hardware_details.as_ref());
    details.is_some_and(|details| {
        let cpu = details.hardware.cpu.as_ref();
        cpu.is_some_and(|cpu| cpu.architecture.is_some() && cpu.cores.is_some())
            && details.hardware.memory.is_some()
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_template_says_what_its_machines_offer_as_hosts_come_and_go() -> Result<()> {
    let racks = |number: usize| json!({"metadata": {"labels": {"rack": format!("r{number}")}}});
    let place = Place::take("templates", Ipv4Addr::new(127, 72, 0, 1), 2, racks).await?;
    let nothing = json!({});
    make_template(&place, "any", &json!({})).await?;
    make_template(&place, "r1", &json!({"hostSelector": {"matchLabels": {"rack": "r1"}}})).await?;
    make_template(&place, "r9", &json!({"hostSelector": {"matchLabels": {"rack": "r9"}}})).await?;
    let host = place.until_host(0, "inspected", is_read).await?;
    place.until_host(1, "inspected", is_read).await?;
    let expected = offered(&host);
    until_offered(&place, "any", &expected).await?;
    until_offered(&place, "r1", &expected).await?;
    let found = serde_json::to_value(templates(&place).get("r9").await?.status)?;
    ensure!(found.is_null() || found == nothing, "{found}");

    // Whoever holds a host, it is of that kind; a template is written once for each change that it counts.
    let version = templates(&place).get("any").await?.resource_version();
    place.claim(0, "c1", &json!({"bootIsoSource": place.image})).await?;
    place.until_state(0, HostState::Provisioned).await?;
    place.patch_host(1, &json!({"spec": {"cordoned": "a fan"}})).await?;
    place.until_told(1, "HostAvailable", "False", "Cordoned").await?;
    ensure!(templates(&place).get("any").await?.resource_version() == version, "it was written again");

    // Labels decide who could be had; the last one that goes takes what was offered with it.
    place.patch_host(1, &json!({"metadata": {"labels": {"rack": "r9"}}})).await?;
    until_offered(&place, "r9", &expected).await?;
    until_offered(&place, "r1", &nothing).await?;
    place.hosts().delete(&name(1), &DeleteParams::default()).await?;
    until_offered(&place, "r9", &nothing).await?;
    until_offered(&place, "any", &expected).await?;
    place.leave().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_is_worked_on_blocks_a_move() -> Result<()> {
    let place = Place::take("blocked-moves", Ipv4Addr::new(127, 72, 1, 1), 1, |_| json!({})).await?;
    place.until_state(0, HostState::Available).await?;
    let blocks = |host: &PhysicalHost| host.annotations().contains_key(annotations::BLOCK_MOVE);
    ensure!(!blocks(&place.host(0).await?), "a free host moves");

    // With the claim, before any BMC is told anything.
    place.cannot_be_turned_on(0)?;
    place.make_machine("m", &json!({})).await?;
    let bound = place.until_host(0, "claimed", |host| host.spec.claim_id.is_some()).await?;
    ensure!(blocks(&bound), "{:?}", bound.annotations());
    place.until_state(0, HostState::Provisioning).await?;
    ensure!(blocks(&place.host(0).await?), "while it boots");
    place.bmcs.with(0, |bmc| bmc.faults.clear())?;
    place.until_phase("m", "Provisioned").await?;
    ensure!(!blocks(&place.host(0).await?), "when its boot was seen");

    // With the release, until it is clean.
    place
        .bmcs
        .with(0, |bmc| bmc.faults.arm(Armed::always(Fault::Unauthorized).at("ComputerSystem.Reset")))?;
    place.owner_machines().delete("m", &DeleteParams::default()).await?;
    place.machines().delete("m", &DeleteParams::default()).await.ok();
    let released = |host: &PhysicalHost| host.annotations().contains_key(annotations::RELEASE);
    let leaving = place.until_host(0, "released", released).await?;
    ensure!(blocks(&leaving), "{:?}", leaving.annotations());
    place.bmcs.with(0, |bmc| bmc.faults.clear())?;
    let free = place.until_state(0, HostState::Available).await?;
    ensure!(!blocks(&free), "when it is free");

    // What people wrote is theirs.
    let theirs = json!({"metadata": {"annotations": {annotations::BLOCK_MOVE: "until Monday"}}});
    place.hosts().patch(&name(0), &PatchParams::default(), &Patch::Merge(&theirs)).await?;
    place.make_machine("n", &json!({})).await?;
    place.until_phase("n", "Provisioned").await?;
    place.delete_machine("n").await?;
    let free = place.until_state(0, HostState::Available).await?;
    let left = free.annotations().get(annotations::BLOCK_MOVE).map(String::as_str);
    ensure!(left == Some("until Monday"), "{left:?}");
    place.leave().await
}

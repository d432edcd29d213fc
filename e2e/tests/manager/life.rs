//! The life of hosts whose BMCs are simulated: enrolled, booted for a consumer, released, deleted.

use std::net::Ipv4Addr;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use beskar7_api::{HardwareData, HostState, PhysicalHost};
use beskar7_e2e::manager::Manager;
use beskar7_e2e::wait::{self, Seen};
use beskar7_redfish_sim::bmc::Credentials;
use beskar7_redfish_sim::fleet::{Fleet, FleetConfig};
use beskar7_redfish_sim::machine::log::Action;
use beskar7_redfish_sim::machine::power::PowerState;
use beskar7_redfish_sim::profiles;
use kube::api::DeleteParams;
use kube::{Api, Client};
use serde_json::json;

use super::images;
use super::setup::*;

const FIRST: Ipv4Addr = Ipv4Addr::new(127, 41, 0, 1);
const CLAIM: &str = "5f0c2a1e9b7d4c3a8e6f1d2b3c4a5e6f";

/// One BMC of each make, at a twentieth of their times.
async fn fleet() -> Result<Arc<Fleet>> {
    let profiles: Vec<_> = profiles::ALL.to_vec();
    let credentials = Credentials { username: "root".to_owned(), password: PASSWORD.to_owned() };
    let config = FleetConfig {
        count: profiles.len(),
        profiles,
        first: FIRST,
        pace: 0.05,
        credentials,
        ..FleetConfig::default()
    };
    Ok(Fleet::start(config).await?)
}

fn name(profile: usize) -> String {
    profiles::ALL.get(profile).map_or_else(String::new, |profile| profile.name.to_owned())
}

fn address(number: usize) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(FIRST) + u32::try_from(number).unwrap_or_default())
}

pub async fn until_state(client: &Client, name: &str, state: HostState) -> Result<PhysicalHost> {
    until_host(&hosts(client, HOSTS), name, &format!("{state:?}"), |host| state_of(host) == Some(state)).await
}

/// What a consumer writes when it lets go of its host.
pub fn released(claim: &str) -> serde_json::Value {
    let annotations = json!({"beskar7.infrastructure.cluster.x-k8s.io/release": claim});
    json!({"metadata": {"annotations": annotations}, "spec": {"consumerRef": null, "bootIsoSource": null}})
}

/// What was done to a machine since its log was cleared.
fn done(fleet: &Fleet, number: usize) -> Result<Vec<Action>> {
    let host = fleet.host(address(number)).context("no such BMC")?;
    Ok(host.with(|bmc, _| bmc.machine.log().entries().map(|entry| entry.action.clone()).collect()))
}

fn power(fleet: &Fleet, number: usize) -> Result<PowerState> {
    Ok(fleet.host(address(number)).context("no such BMC")?.with(|bmc, _| bmc.machine.power()))
}

fn images_in(fleet: &Fleet, number: usize) -> Result<usize> {
    let host = fleet.host(address(number)).context("no such BMC")?;
    Ok(host.with(|bmc, _| bmc.machine.slots().iter().filter(|slot| slot.image.is_some()).count()))
}

#[tokio::test(flavor = "multi_thread")]
async fn hosts_of_every_make_are_enrolled_booted_released_and_deleted() -> Result<()> {
    let (plane, fleet) = (installed().await?, fleet().await?);
    let client = plane.client().await?;
    let count = profiles::ALL.len();
    make_secret(&client, "bmc", &json!({"username": "root", "password": PASSWORD})).await?;
    for number in 0..count {
        let connection = json!({"address": fleet.url(address(number))});
        make_host(&client, HOSTS, &name(number), &json!({"spec": {"redfishConnection": connection}})).await?;
    }
    let flags = ["--bmc-poll-interval=1s", "--boot-timeout=1m"];
    let manager = Manager::start(&plane, &alone("manager", &flags)).await?;
    for number in 0..count {
        let host = until_state(&client, &name(number), HostState::Available).await?;
        let status = host.status.context("just seen")?;
        let hardware = status.hardware_details.context("no hardware")?.hardware;
        ensure!(status.ready && hardware.uuid.is_some() && hardware.model.is_some(), "{hardware:?}");
        ensure!(status.observed_power_state.is_some());
    }

    // The inventory comes after that, and is written where others find it.
    for number in 0..count {
        let found = wait::until(format!("the hardware of {}", name(number)), LIMIT, || async {
            let data: Option<HardwareData> =
                Api::namespaced(client.clone(), HOSTS).get_opt(&name(number)).await?;
            Ok(match data {
                Some(data) => Seen::Done(data),
                None => Seen::NotYet("no HardwareData".to_owned()),
            })
        });
        let data = found.await?;
        let hardware = &data.spec.hardware;
        ensure!(!hardware.nics.is_empty() && hardware.uuid.is_some(), "{}: {hardware:?}", name(number));
        ensure!(data.metadata.owner_references.is_some_and(|owners| owners.len() == 1));
    }

    // A consumer claims each, as the claim engine does it: in one patch.
    let image = format!("{}/node.iso", images::serve().await?);
    for number in 0..count {
        let consumer = json!({"kind": "ByHand", "namespace": HOSTS, "name": name(number)});
        let claim = json!({"spec": {"consumerRef": consumer, "claimID": CLAIM, "bootIsoSource": image}});
        patch_host(&client, &name(number), &claim).await?;
    }
    for number in 0..count {
        let host = until_state(&client, &name(number), HostState::Provisioned).await?;
        let provisioned = condition(&host, "HostProvisioned").context("no HostProvisioned")?;
        ensure!(provisioned.status == "True" && provisioned.reason != "BootUnobservable", "{provisioned:?}");
        let done = done(&fleet, number)?;
        let booted = done.iter().filter(|action| matches!(action, Action::Booted { .. })).count();
        let on = done.iter().filter(|action| matches!(action, Action::PoweredOn)).count();
        ensure!(on == 1 && booted <= 1, "{}: {done:?}", name(number));
        ensure!(images_in(&fleet, number)? == 1, "{}: {done:?}", name(number));
    }

    // A lost status is found again, and nothing is done to a machine for it.
    let before: Vec<_> = (0..count).map(|number| done(&fleet, number)).collect::<Result<_>>()?;
    for number in 0..count {
        let name = name(number);
        let patch = r#"{"status":null}"#;
        let wipe = ["-n", HOSTS, "patch", "ph", &name, "--subresource=status", "--type=merge", "-p", patch];
        plane.kubectl(&wipe).await?.success()?;
        until_state(&client, &name, HostState::Provisioned).await?;
    }
    for (number, before) in before.iter().enumerate() {
        let calm = |action: &Action| {
            !matches!(
                action,
                Action::LoggedIn | Action::Booted { .. } | Action::Read { .. } | Action::OverrideConsumed
            )
        };
        let after = done(&fleet, number)?;
        let (before, after): (Vec<_>, Vec<_>) = (
            before.iter().filter(|action| calm(action)).collect(),
            after.iter().filter(|action| calm(action)).cloned().collect(),
        );
        ensure!(after.iter().eq(before.iter().copied()), "{}: {after:?}", name(number));
    }

    // A claim that somebody takes off is no release: nothing is done, and its consumer may put it back.
    let wiped = json!({"spec": {"consumerRef": null, "claimID": null, "bootIsoSource": null}});
    let consumer = json!({"kind": "ByHand", "namespace": HOSTS, "name": name(0)});
    patch_host(&client, &name(0), &wiped).await?;
    until_condition(&client, &name(0), "HostAvailable", "False", "ClaimLost").await?;
    let claim = json!({"spec": {"consumerRef": consumer, "claimID": CLAIM, "bootIsoSource": image}});
    patch_host(&client, &name(0), &claim).await?;
    until_condition(&client, &name(0), "HostAvailable", "False", "Claimed").await?;
    ensure!(power(&fleet, 0)? == PowerState::On, "a wiped claim cost the machine its power");

    // Released, a machine is off and empty before its host is free.
    for number in 0..count {
        patch_host(&client, &name(number), &released(CLAIM)).await?;
    }
    for number in 0..count {
        let host = until_state(&client, &name(number), HostState::Available).await?;
        ensure!(host.spec.claim_id.is_none(), "{:?}", host.spec.claim_id);
        let left = host.metadata.annotations.unwrap_or_default();
        ensure!(
            left.keys().all(|key| !key.contains("beskar7") || key.ends_with("/fence")),
            "{}: {left:?}",
            name(number)
        );
        ensure!(power(&fleet, number)? == PowerState::Off, "{}", name(number));
        ensure!(images_in(&fleet, number)? == 0, "{}", name(number));
    }

    for number in 0..count {
        hosts(&client, HOSTS).delete(&name(number), &DeleteParams::default()).await?;
    }
    wait::until_true("the hosts to be gone", LIMIT, || async {
        let left = hosts(&client, HOSTS).list(&kube::api::ListParams::default()).await?.items.len();
        Ok(if left == 0 { Ok(()) } else { Err(format!("{left} hosts")) })
    })
    .await?;
    let log = logged(&manager)?;
    ensure!(!log.contains(PASSWORD), "the password is told");
    manager.stop().await?;
    plane.stop().await
}

//! Kernel parameters of hosts whose BMCs are simulated: a machine is booted with them, or not at all.

use std::net::Ipv4Addr;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use beskar7_api::HostState;
use beskar7_e2e::manager::Manager;
use beskar7_e2e::wait;
use beskar7_redfish_sim::bmc::Credentials;
use beskar7_redfish_sim::fleet::{Fleet, FleetConfig};
use beskar7_redfish_sim::machine::boot::{BootSource, OverrideEnabled, Target};
use beskar7_redfish_sim::machine::log::Action;
use beskar7_redfish_sim::machine::power::PowerState;
use beskar7_redfish_sim::profiles::{self, Profile};
use kube::Client;
use serde_json::{Value, json};

use super::images;
use super::life::{released, until_state};
use super::setup::*;

const FIRST: Ipv4Addr = Ipv4Addr::new(127, 45, 0, 1);
const CLAIM: &str = "7c1d2e3f4a5b6c7d8e9f0a1b2c3d4e5f";
const LOADER: &str = r"\EFI\BOOT\BOOTX64.EFI";

/// One BMC of each make, then one more, at a twentieth of their times.
struct Machines {
    fleet: Arc<Fleet>,
    profiles: Vec<&'static Profile>,
}

impl Machines {
    async fn start() -> Result<Self> {
        let mut profiles: Vec<_> = profiles::ALL.to_vec();
        profiles.push(profiles::plain());
        let credentials = Credentials { username: "root".to_owned(), password: PASSWORD.to_owned() };
        let config = FleetConfig {
            count: profiles.len(),
            profiles: profiles.clone(),
            first: FIRST,
            pace: 0.05,
            credentials,
            ..FleetConfig::default()
        };
        Ok(Self { fleet: Fleet::start(config).await?, profiles })
    }

    fn address(number: usize) -> Ipv4Addr {
        Ipv4Addr::from(u32::from(FIRST) + u32::try_from(number).unwrap_or_default())
    }

    /// What was done to a machine.
    fn done(&self, number: usize) -> Result<Vec<Action>> {
        let host = self.fleet.host(Self::address(number)).context("no such BMC")?;
        Ok(host.with(|bmc, _| bmc.machine.log().entries().map(|entry| entry.action.clone()).collect()))
    }

    fn requests(&self, number: usize) -> Result<u64> {
        Ok(self.fleet.host(Self::address(number)).context("no such BMC")?.with(|bmc, _| bmc.requests()))
    }

    fn power(&self, number: usize) -> Result<PowerState> {
        let host = self.fleet.host(Self::address(number)).context("no such BMC")?;
        Ok(host.with(|bmc, _| bmc.machine.power()))
    }

    /// The machine was told once what to start, and starts it.
    async fn until_started(&self, number: usize, target: &str) -> Result<()> {
        let mut told = Vec::new();
        for action in self.done(number)? {
            if let Action::SetOverride { to } = action
                && to.enabled != OverrideEnabled::Disabled
            {
                told.push(to);
            }
        }
        let is_right = told.iter().all(|to| {
            to.enabled == OverrideEnabled::Once
                && to.target == Target::UefiTarget
                && to.uefi_target.as_deref() == Some(target)
        });
        ensure!(is_right && !told.is_empty(), "{}: {told:?}", name(number));
        wait::until_true(format!("{} to start", name(number)), LIMIT, || async {
            let host = self.fleet.host(Self::address(number)).context("no such BMC")?;
            let running = host.with(|bmc, _| bmc.machine.running().cloned());
            Ok(match &running {
                Some(BootSource::MediaFile { path, .. }) if path == target => Ok(()),
                other => Err(format!("{other:?}")),
            })
        })
        .await?;
        Ok(())
    }

    /// Nobody has turned the machine on, put something into it or told it what to boot.
    fn is_untouched(&self, number: usize) -> Result<bool> {
        Ok(self.done(number)?.iter().all(|action| matches!(action, Action::LoggedIn)))
    }
}

fn name(number: usize) -> String {
    profiles::ALL.get(number).map_or_else(|| "one-more".to_owned(), |profile| profile.name.to_owned())
}

async fn claim(client: &Client, number: usize, image: &str) -> Result<()> {
    let consumer = json!({"kind": "ByHand", "namespace": HOSTS, "name": name(number)});
    let boot = json!({"method": "VirtualMedia", "kernelArgs": arguments(number)});
    let spec = json!({"consumerRef": consumer, "claimID": CLAIM, "bootIsoSource": image, "boot": boot});
    patch_host(client, &name(number), &json!({ "spec": spec })).await
}

fn arguments(number: usize) -> Value {
    json!([format!("config_url=http://127.0.0.1/{number}"), "dyndbg=file a.c +p"])
}

fn target(number: usize) -> String {
    format!(r#"{LOADER} config_url=http://127.0.0.1/{number} dyndbg="file a.c +p""#)
}

#[tokio::test(flavor = "multi_thread")]
async fn attempts_one_time_uefi_boot_parameters_and_boots_nothing_where_they_cannot_be_set() -> Result<()> {
    let (plane, machines) = (installed().await?, Machines::start().await?);
    let client = plane.client().await?;
    let (makes, one_more) = (profiles::ALL.len(), profiles::ALL.len());
    make_secret(&client, "bmc", &json!({"username": "root", "password": PASSWORD})).await?;
    for number in 0..=one_more {
        let connection = json!({"address": machines.fleet.url(Machines::address(number))});
        let way = if number == one_more { "ISOOverlay" } else { "UefiTarget" };
        let spec = json!({"redfishConnection": connection, "bootParameterMechanism": way});
        make_host(&client, HOSTS, &name(number), &json!({ "spec": spec })).await?;
    }
    let flags = ["--bmc-poll-interval=1s", "--boot-timeout=1m"];
    let manager = Manager::start(&plane, &alone("manager", &flags)).await?;
    let image = format!("{}/node.iso", images::serve().await?);
    for number in 0..=one_more {
        until_state(&client, &name(number), HostState::Available).await?;
        claim(&client, number, &image).await?;
    }

    // By a UEFI target where the BMC takes one; where it does not, the machine stays off.
    let (can, can_not): (Vec<usize>, Vec<usize>) =
        (0..makes).partition(|number| machines.profiles[*number].boot.targets.contains(&Target::UefiTarget));
    ensure!(can.len() >= 3 && !can_not.is_empty(), "{can:?} {can_not:?}");
    for number in can.iter().copied() {
        let host = until_state(&client, &name(number), HostState::Provisioned).await?;
        let provisioned = condition(&host, "HostProvisioned").context("no HostProvisioned")?;
        ensure!(provisioned.reason != "BootUnobservable", "{provisioned:?}");
        machines.until_started(number, &target(number)).await?;
    }
    for number in can_not.iter().copied() {
        let reason = "BootParametersUnsupported";
        let host = until_condition(&client, &name(number), "HostProvisioned", "False", reason).await?;
        let told = condition(&host, "HostProvisioned").context("just seen")?;
        ensure!(told.message.contains("UefiTarget"), "{told:?}");
        ensure!(host.status.context("just seen")?.state == Some(HostState::Claimed));
        ensure!(machines.power(number)? == PowerState::Off, "{}", name(number));
        let on = machines.done(number)?.iter().any(|action| matches!(action, Action::PoweredOn));
        ensure!(!on, "{} was turned on", name(number));
    }

    // What needs the boot server is said, and left alone for as long as nothing changes.
    let reason = "BootParametersUnsupported";
    let host = until_condition(&client, &name(one_more), "HostProvisioned", "False", reason).await?;
    let told = condition(&host, "HostProvisioned").context("just seen")?;
    ensure!(told.message.contains("ISO overlay") && told.message.contains("UefiTarget"), "{told:?}");
    ensure!(condition(&host, "Ready").is_some_and(|ready| ready.reason == reason));
    let asked = machines.requests(one_more)?;
    wait::until_true("the BMC to be polled a few times more", LIMIT, || async {
        let now = machines.requests(one_more)?;
        Ok(if now >= asked + 4 { Ok(()) } else { Err(format!("{now} requests after {asked}")) })
    })
    .await?;
    ensure!(machines.is_untouched(one_more)?, "{:?}", machines.done(one_more)?);
    let host = hosts(&client, HOSTS).get(&name(one_more)).await?;
    ensure!(host.status.context("it has one")?.state == Some(HostState::Claimed));

    // Its operator says that its firmware passes parameters on.
    patch_host(&client, &name(one_more), &json!({"spec": {"bootParameterMechanism": "UefiTarget"}})).await?;
    until_state(&client, &name(one_more), HostState::Provisioned).await?;
    machines.until_started(one_more, &target(one_more)).await?;

    for number in 0..=one_more {
        let mut release = released(CLAIM);
        release["spec"]["boot"] = Value::Null;
        patch_host(&client, &name(number), &release).await?;
    }
    for number in 0..=one_more {
        until_state(&client, &name(number), HostState::Available).await?;
        ensure!(machines.power(number)? == PowerState::Off, "{}", name(number));
    }
    manager.stop().await?;
    plane.stop().await
}

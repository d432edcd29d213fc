//! The manager is killed at every write that it makes to the API server, before and after it is carried out, while a
//! machine gets its host and while it gives it back: whoever comes next ends it right. Machines boot an ISO, or from the
//! network, or have their disks wiped behind them.

use std::net::Ipv4Addr;

use anyhow::{Context, Result, ensure};
use beskar7_api::HostState;
use beskar7_e2e::manager::Manager;
use beskar7_e2e::process::Signal;
use beskar7_e2e::wait::{self, Seen};
use serde_json::{Value, json};

use super::gatekeeper::{Gatekeeper, Moment};
use super::images;
use super::life::until_state;
use super::loaders::Loaders;
use super::owners::*;
use super::setup::*;
use super::site::{FLAGS, Site, name};
use super::wipers::Wipers;

/// More than one way needs; where a way needs fewer, its loop ends.
const MOST_WRITES: u32 = 40;
/// Two hosts: who begins again must not take the other one.
const HOST_COUNT: usize = 2;

/// What machines boot from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum From {
    Iso,
    Network,
    /// An ISO; and the agent wipes what it left.
    IsoWiped,
}

struct Scene {
    site: Site,
    gate: Gatekeeper,
    /// What is merged into each Beskar7Machine.
    machine: Value,
    /// What machines do that boot from the network.
    loaders: Option<Loaders>,
    /// What agents do that wipe disks, and the flag that makes the manager start them.
    wipers: Option<(Wipers, String)>,
}

impl Scene {
    async fn set_up(first: Ipv4Addr, from: From) -> Result<Self> {
        let host = |number| match from {
            From::Iso | From::IsoWiped => json!({}),
            From::Network => json!({"spec": {"bootMACAddress": format!("52:54:00:00:00:0{number}")}}),
        };
        let site = Site::open(first, HOST_COUNT, host).await?;
        let gate = Gatekeeper::stand(&site.plane).await?;
        let (machine, loaders) = match from {
            From::Iso | From::IsoWiped => (json!({}), None),
            From::Network => {
                let loaders = Loaders::start(&site).await?;
                let spec = json!({
                    "provisioningMode": "iPXE", "imageURL": null, "kernel": loaders.kernel, "osFamily": "other",
                    "kernelArgs": ["b7.config={{configURL}}/user-data"],
                });
                (json!({ "spec": spec }), Some(loaders))
            }
        };
        let wipers = match from {
            From::IsoWiped => {
                Some((Wipers::start(&site), format!("--agent-iso={}/agent.iso", images::serve().await?)))
            }
            From::Iso | From::Network => None,
        };
        Ok(Self { site, gate, machine, loaders, wipers })
    }

    async fn manager(&self) -> Result<Manager> {
        let gate = self.gate.flag();
        let agent = self.wipers.as_ref().map(|(_, flag)| flag.as_str());
        let flags: Vec<&str> = FLAGS.iter().copied().chain([gate.as_str()]).chain(agent).collect();
        let mut options = alone("manager", &flags);
        options.boot_server = self.loaders.is_some() || agent.is_some();
        let manager = Manager::start(&self.site.plane, &options).await?;
        if let (Some(loaders), Some(url)) = (&self.loaders, manager.boot_url()) {
            loaders.ask_at(&url);
        }
        if let (Some((wipers, _)), Some(url)) = (&self.wipers, manager.boot_url()) {
            wipers.ask_at(&url);
        }
        Ok(manager)
    }

    /// Whether a write is held, or the machine has come where it goes.
    async fn until_held(&self, machine: &str, goal: Goal) -> Result<bool> {
        let client = &self.site.client;
        let held =
            wait::until(format!("a write of {machine} to be held, or {goal:?}"), LIMIT * 2, || async {
                if self.gate.holds() {
                    return Ok(Seen::Done(true));
                }
                let found = machines(client).get_opt(machine).await?;
                let there = match goal {
                    Goal::Provisioned => found.as_ref().is_some_and(|found| phase_of(found) == "Provisioned"),
                    Goal::Gone => found.is_none(),
                };
                Ok(if there {
                    Seen::Done(false)
                } else {
                    Seen::NotYet(format!("{:?}", found.map(|found| found.status)))
                })
            });
        Ok(held.await?)
    }

    /// Goes one way with a kill after so many writes. Whether there were so many.
    async fn killed(&self, manager: Manager, machine: &str, goal: Goal) -> Result<(bool, Manager)> {
        let held = self.until_held(machine, goal).await?;
        if !held {
            self.gate.stand_down();
            return Ok((false, manager));
        }
        manager.process().signal(Signal::KILL)?;
        manager.process().wait().await?;
        self.gate.stand_down();
        let next = self.manager().await?;
        match goal {
            Goal::Provisioned => drop(until_phase(&self.site.client, machine, "Provisioned").await?),
            Goal::Gone => until_gone(&self.site.client, machine).await?,
        }
        Ok((true, next))
    }

    fn times_on(&self) -> Result<usize> {
        (0..HOST_COUNT).map(|number| self.site.bmcs.times_on(number)).sum()
    }

    async fn held_hosts(&self) -> Result<usize> {
        let mut held = 0;
        for number in 0..HOST_COUNT {
            let spec = self.site.host(number).await?.spec;
            held += usize::from(spec.consumer_ref.is_some() || spec.claim_id.is_some());
        }
        Ok(held)
    }

    /// The claim that a host is held under.
    async fn claim(&self) -> Result<String> {
        for number in 0..HOST_COUNT {
            if let Some(claim) = self.site.host(number).await?.spec.claim_id {
                return Ok(claim);
            }
        }
        anyhow::bail!("no host is held")
    }

    /// A machine comes and goes, with a kill after so many writes of each way. Whether either was still reached.
    async fn round(&self, manager: Manager, writes: u32, moment: Moment) -> Result<(bool, Manager)> {
        let client = &self.site.client;
        let machine = format!("m-{writes}-{}", format!("{moment:?}").to_lowercase());
        for number in 0..HOST_COUNT {
            until_state(client, &name(number), HostState::Available).await?;
            self.site.bmc(number, |bmc| bmc.machine.clear_log())?;
        }
        self.gate.hold_after(writes, moment);
        make_machine(client, &machine, &self.site.image, &json!({}), &self.machine).await?;
        let (coming, manager) = self.killed(manager, &machine, Goal::Provisioned).await?;
        ensure!(self.held_hosts().await? == 1, "{machine} holds {} hosts", self.held_hosts().await?);
        ensure!(self.times_on()? == 1, "{machine} was turned on {} times", self.times_on()?);
        if let Some(loaders) = &self.loaders {
            loaders.are_sent_to_their_disks().await.with_context(|| machine.clone())?;
        }
        let claim = self.claim().await?;

        self.gate.hold_after(writes, moment);
        delete_machine(client, &machine).await?;
        let (going, manager) = self.killed(manager, &machine, Goal::Gone).await?;
        for number in 0..HOST_COUNT {
            until_state(client, &name(number), HostState::Available).await?;
            ensure!(self.site.is_off_and_empty(number)?, "{machine} left {} dirty", name(number));
        }
        ensure!(self.held_hosts().await? == 0, "{machine} left something behind");
        match &self.wipers {
            Some((wipers, _)) => ensure!(wipers.have_wiped(&claim), "{machine} left its data behind"),
            None => ensure!(self.times_on()? == 1, "what {machine} left was turned on"),
        }
        Ok((coming || going, manager))
    }
}

/// Where a machine goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Goal {
    Provisioned,
    Gone,
}

/// How many writes were reached.
async fn killed_at_each(
    (first, from): (Ipv4Addr, From),
    writes: impl IntoIterator<Item = u32>,
    moments: &[Moment],
) -> Result<u32> {
    let scene = Scene::set_up(first, from).await?;
    // The one that came with the site is of no use: it does not go through the gate.
    scene.site.manager.process().signal(Signal::KILL)?;
    scene.site.manager.process().wait().await?;
    let mut manager = scene.manager().await?;
    let mut reached = 0;
    'all: for writes in writes {
        for moment in moments {
            let what = || format!("killed {moment:?} write {writes}");
            let (so_many, next) = scene.round(manager, writes, *moment).await.with_context(what)?;
            manager = next;
            if !so_many {
                break 'all;
            }
        }
        reached += 1;
    }
    manager.stop().await?;
    scene.site.plane.stop().await?;
    Ok(reached)
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_at_some_writes_a_machine_gets_its_host_and_gives_it_back() -> Result<()> {
    let iso = (Ipv4Addr::new(127, 48, 0, 1), From::Iso);
    let reached = killed_at_each(iso, [1], &[Moment::After, Moment::Before]).await?;
    ensure!(reached == 1, "only {reached} were reached");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: make host-kills"]
async fn killed_at_every_write_a_machine_gets_its_host_and_gives_it_back() -> Result<()> {
    let both = [Moment::After, Moment::Before];
    let reached = killed_at_each((Ipv4Addr::new(127, 48, 1, 1), From::Iso), 0..MOST_WRITES, &both).await?;
    ensure!((8..MOST_WRITES).contains(&reached), "{reached} writes");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_at_some_writes_a_machine_boots_from_the_network_once() -> Result<()> {
    let network = (Ipv4Addr::new(127, 48, 3, 1), From::Network);
    let reached = killed_at_each(network, [9], &[Moment::Before]).await?;
    ensure!(reached == 1, "only {reached} were reached");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: make host-kills"]
async fn killed_at_every_write_a_machine_boots_from_the_network_once() -> Result<()> {
    let both = [Moment::After, Moment::Before];
    let network = (Ipv4Addr::new(127, 48, 2, 1), From::Network);
    let reached = killed_at_each(network, 0..MOST_WRITES, &both).await?;
    ensure!((10..MOST_WRITES).contains(&reached), "{reached} writes");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_at_some_writes_the_disks_are_wiped_before_a_host_is_given_back() -> Result<()> {
    let wiped = (Ipv4Addr::new(127, 48, 4, 1), From::IsoWiped);
    let reached = killed_at_each(wiped, [6], &[Moment::Before]).await?;
    ensure!(reached == 1, "only {reached} were reached");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: make host-kills"]
async fn killed_at_every_write_the_disks_are_wiped_before_a_host_is_given_back() -> Result<()> {
    let both = [Moment::After, Moment::Before];
    let wiped = (Ipv4Addr::new(127, 48, 5, 1), From::IsoWiped);
    let reached = killed_at_each(wiped, 0..MOST_WRITES, &both).await?;
    ensure!((14..MOST_WRITES).contains(&reached), "{reached} writes");
    Ok(())
}

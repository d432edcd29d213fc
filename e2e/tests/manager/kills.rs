//! The manager is killed at every request that it makes to a BMC, in a provisioning and in a release: whoever comes next
//! ends it right, and turns the machine on once.

use std::net::Ipv4Addr;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use beskar7_api::HostState;
use beskar7_e2e::control_plane::ControlPlane;
use beskar7_e2e::manager::Manager;
use beskar7_e2e::process::Signal;
use beskar7_e2e::wait;
use beskar7_redfish_sim::bmc::Credentials;
use beskar7_redfish_sim::faults::{Armed, Fault};
use beskar7_redfish_sim::fleet::{Fleet, FleetConfig};
use beskar7_redfish_sim::host::Host;
use beskar7_redfish_sim::machine::log::Action;
use beskar7_redfish_sim::machine::power::PowerState;
use kube::Client;
use serde_json::json;

use super::images;
use super::life::{released, until_state};
use super::setup::*;

const ADDRESS: Ipv4Addr = Ipv4Addr::new(127, 42, 0, 1);
const NAME: &str = "victim";
/// More than one step of a host can need; where a step needs fewer, its loop ends.
const MOST_REQUESTS: u32 = 60;

/// One host, its machine, and what stands behind them.
struct Scene {
    plane: ControlPlane,
    client: Client,
    fleet: Arc<Fleet>,
    image: String,
}

/// What became of waiting for a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reached {
    /// It was made, and hangs.
    Yes,
    /// There are not so many: the host got where it should.
    No,
}

impl Scene {
    async fn set_up() -> Result<Self> {
        let plane = installed().await?;
        let client = plane.client().await?;
        let credentials = Credentials { username: "root".to_owned(), password: PASSWORD.to_owned() };
        let config = FleetConfig { first: ADDRESS, pace: 0.05, credentials, ..FleetConfig::default() };
        let fleet = Fleet::start(config).await?;
        make_secret(&client, "bmc", &json!({"username": "root", "password": PASSWORD})).await?;
        let connection = json!({"address": fleet.url(ADDRESS)});
        make_host(&client, HOSTS, NAME, &json!({"spec": {"redfishConnection": connection}})).await?;
        let image = format!("{}/node.iso", images::serve().await?);
        Ok(Self { plane, client, fleet, image })
    }

    async fn manager(&self) -> Result<Manager> {
        let flags = ["--bmc-poll-interval=1s", "--boot-timeout=1m"];
        Manager::start(&self.plane, &alone("manager", &flags)).await
    }

    fn bmc(&self) -> Result<Arc<Host>> {
        self.fleet.host(ADDRESS).context("no BMC")
    }

    async fn claim(&self, id: &str) -> Result<()> {
        let consumer = json!({"kind": "ByHand", "namespace": HOSTS, "name": NAME});
        let spec = json!({"consumerRef": consumer, "claimID": id, "bootIsoSource": self.image});
        patch_host(&self.client, NAME, &json!({"spec": spec})).await
    }

    async fn release(&self, id: &str) -> Result<()> {
        patch_host(&self.client, NAME, &released(id)).await
    }

    /// Lets the request after so many hang; the machine's log begins anew.
    fn hang_after(&self, requests: u32) -> Result<()> {
        self.bmc()?.with(|bmc, _| {
            bmc.machine.clear_log();
            bmc.faults.arm(Armed::times(Fault::Hang, u32::MAX).sparing(requests));
        });
        Ok(())
    }

    /// Waits until a request hangs, or the host is where it should be.
    async fn until_hanging(&self, goal: HostState) -> Result<Reached> {
        let bmc = self.bmc()?;
        let reached = wait::until(format!("a request to hang, or {goal:?}"), LIMIT, || async {
            let hangs =
                bmc.with(|bmc, _| bmc.faults.armed().iter().any(|armed| armed.count != Some(u32::MAX)));
            if hangs {
                return Ok(wait::Seen::Done(Reached::Yes));
            }
            let host = hosts(&self.client, HOSTS).get(NAME).await?;
            let state = host.status.and_then(|status| status.state);
            Ok(match state == Some(goal) {
                true => wait::Seen::Done(Reached::No),
                false => wait::Seen::NotYet(format!("{state:?}")),
            })
        });
        Ok(reached.await?)
    }

    fn is_off_and_empty(&self) -> Result<bool> {
        Ok(self.bmc()?.with(|bmc, _| {
            bmc.machine.power() == PowerState::Off
                && bmc.machine.slots().iter().all(|slot| slot.image.is_none())
        }))
    }

    fn times_on(&self) -> Result<usize> {
        let is_on = |action: &Action| matches!(action, Action::PoweredOn);
        Ok(self
            .bmc()?
            .with(|bmc, _| bmc.machine.log().entries().filter(|entry| is_on(&entry.action)).count()))
    }

    /// Kills the manager at one request on the way to a state, and lets another one finish.
    async fn killed_at(&self, request: u32, goal: HostState, manager: Manager) -> Result<(Reached, Manager)> {
        let reached = self.until_hanging(goal).await?;
        if reached == Reached::No {
            self.bmc()?.with(|bmc, _| bmc.faults.clear());
            return Ok((reached, manager));
        }
        manager.process().signal(Signal::KILL)?;
        manager.process().wait().await?;
        self.bmc()?.with(|bmc, _| bmc.faults.clear());
        let next = self.manager().await?;
        until_state(&self.client, NAME, goal)
            .await
            .with_context(|| format!("killed at request {request}"))?;
        Ok((reached, next))
    }
}

/// Goes through a whole claim with a kill at one request of its provisioning, and one of its release. Whether either
/// was still reached.
async fn round(scene: &Scene, request: u32, manager: Manager) -> Result<(bool, Manager)> {
    let mut manager = manager;
    until_state(&scene.client, NAME, HostState::Available).await?;
    scene.hang_after(request)?;
    let id = format!("{request:032x}");
    scene.claim(&id).await?;
    let (provisioning, next) = scene.killed_at(request, HostState::Provisioned, manager).await?;
    manager = next;
    let on = scene.times_on()?;
    ensure!(on == 1, "killed at request {request}: turned on {on} times");

    scene.hang_after(request)?;
    scene.release(&id).await?;
    let (release, next) = scene.killed_at(request, HostState::Available, manager).await?;
    ensure!(scene.is_off_and_empty()?, "killed at request {request} of the release");
    ensure!(scene.times_on()? == 0, "killed at request {request}: a released machine was turned on");
    let host = hosts(&scene.client, HOSTS).get(NAME).await?;
    ensure!(host.spec.claim_id.is_none(), "killed at request {request}: {:?}", host.spec.claim_id);
    Ok((provisioning == Reached::Yes || release == Reached::Yes, next))
}

async fn killed_at_each(requests: impl IntoIterator<Item = u32>) -> Result<u32> {
    let scene = Scene::set_up().await?;
    let mut manager = scene.manager().await?;
    let mut kills = 0;
    for request in requests {
        let (reached, next) = round(&scene, request, manager).await?;
        manager = next;
        if !reached {
            break;
        }
        kills += 1;
    }
    manager.stop().await?;
    scene.plane.stop().await?;
    Ok(kills)
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_at_some_requests_it_ends_right() -> Result<()> {
    let kills = killed_at_each([1, 5, 9]).await?;
    ensure!(kills == 3, "only {kills} were reached");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: make host-kills"]
async fn killed_at_every_request_it_ends_right() -> Result<()> {
    let kills = killed_at_each(0..MOST_REQUESTS).await?;
    ensure!((10..MOST_REQUESTS).contains(&kills), "{kills} requests");
    Ok(())
}

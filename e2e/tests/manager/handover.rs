//! The leader is lost while it provisions machines and while it releases them: the other replica ends what was begun, and
//! no machine is turned on twice. Every BMC falls slow at another request, so that one change of leaders finds every step
//! under way at once.

use std::net::Ipv4Addr;

use anyhow::{Context, Result, ensure};
use beskar7_api::{HardwareData, HostState};
use beskar7_e2e::control_plane::ControlPlane;
use beskar7_e2e::manager::Manager;
use beskar7_e2e::process::Exit;
use beskar7_e2e::wait;
use beskar7_redfish_sim::bmc::Bmc;
use beskar7_redfish_sim::faults::{Armed, Fault};
use beskar7_redfish_sim::profiles;
use kube::api::ListParams;
use kube::{Api, Client};
use serde_json::json;

use super::bmcs::Bmcs;
use super::failover::TAKEOVER;
use super::images;
use super::life::until_state;
use super::owners::*;
use super::setup::*;
use super::site::name;

/// More than a provisioning has requests: the BMC of the first host falls slow at once, that of the next after one
/// request, and so on, and the last hosts get where they should before the change.
const HOST_COUNT: usize = 28;
/// So many steps must have been under way when the leader was lost; a release has fewer than a provisioning.
const LEAST_STEPS: usize = 12;
/// Nothing but the provisioning or the release asks the BMCs.
const FLAGS: [&str; 2] = ["--bmc-poll-interval=1h", "--boot-timeout=1m"];

/// What becomes of a leader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// While its requests hang.
    Killed,
    /// It wakes up when another one leads. What it asked for was done meanwhile, and the answers wait for it: nothing
    /// but the knowledge that it leads no more keeps it from going on.
    Stalled,
}

impl Fate {
    fn fault(self) -> Fault {
        match self {
            Self::Killed => Fault::Hang,
            // Over before another one leads.
            Self::Stalled => Fault::Slow { ms: 3000 },
        }
    }
}

struct Scene {
    plane: ControlPlane,
    client: Client,
    bmcs: Bmcs,
    image: String,
}

fn machine(number: usize) -> String {
    format!("m-{number}")
}

impl Scene {
    async fn set_up(first: Ipv4Addr) -> Result<Self> {
        let plane = installed().await?;
        let client = plane.client().await?;
        let make = profiles::by_name("openbmc").context("no such profile")?;
        let bmcs = Bmcs::start(first, HOST_COUNT, make).await?;
        make_secret(&client, "bmc", &json!({"username": "root", "password": PASSWORD})).await?;
        make_cluster(&client).await?;
        for number in 0..HOST_COUNT {
            let connection = json!({"address": bmcs.url(number)});
            make_host(&client, HOSTS, &name(number), &json!({"spec": {"redfishConnection": connection}}))
                .await?;
        }
        let image = format!("{}/node.iso", images::serve().await?);
        Ok(Self { plane, client, bmcs, image })
    }

    async fn replica(&self, name: &str) -> Result<Manager> {
        let mut options = replica(name);
        options.flags.extend(FLAGS.map(str::to_owned));
        Manager::start(&self.plane, &options).await
    }

    /// Every host is free, and nothing is left to be asked of it.
    async fn until_enrolled(&self) -> Result<()> {
        for number in 0..HOST_COUNT {
            until_state(&self.client, &name(number), HostState::Available).await?;
        }
        let inventories: Api<HardwareData> = Api::namespaced(self.client.clone(), HOSTS);
        let read = wait::until_true("every inventory to be read", LIMIT, || async {
            let found = inventories.list(&ListParams::default()).await?.items.len();
            Ok(if found == HOST_COUNT { Ok(()) } else { Err(format!("{found} of {HOST_COUNT}")) })
        });
        Ok(read.await?)
    }

    /// From now on every BMC is slow, each after one request more than the one before it; the machines' logs begin anew.
    fn slow_down(&self, fault: Fault) -> Result<()> {
        for (number, spared) in (0..HOST_COUNT).zip(0..) {
            self.bmcs.with(number, |bmc| {
                bmc.machine.clear_log();
                bmc.faults.arm(Armed::times(fault, u32::MAX).sparing(spared));
            })?;
        }
        Ok(())
    }

    fn is_slow(&self, number: usize) -> Result<bool> {
        self.bmcs.with(number, |bmc| bmc.faults.armed().iter().any(|armed| armed.count != Some(u32::MAX)))
    }

    /// Waits until every host is where it should be, or stands at a request that its BMC is slow with. How many do.
    async fn until_slow(&self, goal: HostState) -> Result<usize> {
        let found = wait::until(format!("every BMC to be slow, or its host {goal:?}"), LIMIT, || async {
            let (mut slow, mut under_way) = (0, Vec::new());
            for number in 0..HOST_COUNT {
                let state = state_of(&hosts(&self.client, HOSTS).get(&name(number)).await?);
                if state == Some(goal) {
                    continue;
                }
                match self.is_slow(number)? {
                    true => slow += 1,
                    false => under_way.push((number, state)),
                }
            }
            Ok(match under_way.is_empty() {
                true => wait::Seen::Done(slow),
                false => wait::Seen::NotYet(format!("{slow} are slow, {under_way:?} are not")),
            })
        });
        Ok(found.await?)
    }

    /// The leader is lost, and the BMCs are well again. When this ends, another one leads, and the lost one is no more.
    async fn lose(&self, leader: Manager, fate: Fate) -> Result<()> {
        let identity = holder(&self.client).await?.context("nobody leads")?;
        match fate {
            Fate::Killed => {
                leader.process().kill().await?;
            }
            Fate::Stalled => leader.process().pause()?,
        }
        let sessions: Vec<u64> = self.of_each(|bmc| bmc.sessions().1)?;
        self.bmcs.fleet.clear_faults();
        until_held_by_other(&self.client, Some(&identity), TAKEOVER).await?;
        if fate == Fate::Stalled {
            let before = self.done_in(&sessions)?;
            leader.process().resume()?;
            let exit =
                tokio::time::timeout(LIMIT, leader.process().wait()).await.context("it does not end")??;
            let after = self.done_in(&sessions)?;
            ensure!(before == after, "it went on where it was: {before:?} actions, then {after:?}");
            ensure!(exit == Exit::Code(3), "{exit}");
        }
        Ok(())
    }

    fn of_each<T>(&self, look: impl Fn(&mut Bmc) -> T) -> Result<Vec<T>> {
        (0..HOST_COUNT).map(|number| self.bmcs.with(number, &look)).collect()
    }

    /// How much was done to each machine in the first sessions of its BMC; `sessions` says how many.
    fn done_in(&self, sessions: &[u64]) -> Result<Vec<usize>> {
        let done_to = |(number, last): (usize, &u64)| {
            self.bmcs.with(number, |bmc| {
                let sessions = bmc.machine.log().entries().filter_map(|entry| session(&entry.who));
                sessions.filter(|session| session <= last).count()
            })
        };
        sessions.iter().enumerate().map(done_to).collect()
    }
}

/// The number of a session, as the log names it; others than sessions have none.
fn session(who: &str) -> Option<u64> {
    who.strip_prefix("session ")?.split(' ').next()?.parse().ok()
}

async fn lost_in_the_middle(first: Ipv4Addr, fate: Fate) -> Result<()> {
    let scene = Scene::set_up(first).await?;
    let client = &scene.client;
    let leader = scene.replica("first").await?;
    until_held_by_other(client, None, LIMIT).await?;
    let next = scene.replica("second").await?;
    scene.until_enrolled().await?;

    scene.slow_down(fate.fault())?;
    for number in 0..HOST_COUNT {
        make_machine(client, &machine(number), &scene.image, &json!({}), &json!({})).await?;
    }
    let steps = scene.until_slow(HostState::Provisioned).await?;
    ensure!((LEAST_STEPS..HOST_COUNT).contains(&steps), "{steps} steps of a provisioning were under way");
    scene.lose(leader, fate).await?;
    for number in 0..HOST_COUNT {
        until_phase(client, &machine(number), "Provisioned").await?;
    }
    for number in 0..HOST_COUNT {
        let on = scene.bmcs.times_on(number)?;
        ensure!(on == 1, "{} was turned on {on} times: {:?}", name(number), scene.bmcs.done_to(number)?);
    }

    let (leader, next) = (next, scene.replica("third").await?);
    scene.slow_down(fate.fault())?;
    for number in 0..HOST_COUNT {
        delete_machine(client, &machine(number)).await?;
    }
    let steps = scene.until_slow(HostState::Available).await?;
    ensure!((LEAST_STEPS..HOST_COUNT).contains(&steps), "{steps} steps of a release were under way");
    scene.lose(leader, fate).await?;
    for number in 0..HOST_COUNT {
        until_gone(client, &machine(number)).await?;
    }
    for number in 0..HOST_COUNT {
        let host = until_state(client, &name(number), HostState::Available).await?;
        ensure!(host.spec.consumer_ref.is_none() && host.spec.claim_id.is_none(), "{:?}", host.spec);
        ensure!(scene.bmcs.is_off_and_empty(number)?, "{:?}", scene.bmcs.done_to(number)?);
        let on = scene.bmcs.times_on(number)?;
        ensure!(on == 0, "{} was turned on again: {:?}", name(number), scene.bmcs.done_to(number)?);
    }
    next.stop().await?;
    scene.plane.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_is_killed_in_the_middle_is_replaced_and_no_machine_is_turned_on_twice() -> Result<()> {
    lost_in_the_middle(Ipv4Addr::new(127, 54, 0, 1), Fate::Killed).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_stalls_in_the_middle_and_wakes_up_later_turns_nothing_on() -> Result<()> {
    lost_in_the_middle(Ipv4Addr::new(127, 54, 1, 1), Fate::Stalled).await
}

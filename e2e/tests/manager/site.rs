//! Where machines meet hosts: a control plane, a simulated fleet, a manager, and a Cluster whose infrastructure is ready.

use std::net::Ipv4Addr;
use std::sync::Arc;

use anyhow::{Context, Result};
use beskar7_api::{HostState, PhysicalHost};
use beskar7_e2e::control_plane::ControlPlane;
use beskar7_e2e::manager::Manager;
use beskar7_redfish_sim::bmc::{Bmc, Credentials};
use beskar7_redfish_sim::fleet::{Fleet, FleetConfig};
use beskar7_redfish_sim::machine::log::Action;
use beskar7_redfish_sim::machine::power::PowerState;
use beskar7_redfish_sim::profiles;
use kube::Client;
use serde_json::{Value, json};

use super::images;
use super::life::until_state;
use super::owners::make_cluster;
use super::setup::*;

/// Where machines meet hosts.
pub struct Site {
    pub plane: ControlPlane,
    pub client: Client,
    pub fleet: Arc<Fleet>,
    first: Ipv4Addr,
    pub manager: Manager,
    pub image: String,
}

/// Looks often, and does not wait long for what can't be seen.
pub const FLAGS: [&str; 2] = ["--bmc-poll-interval=1s", "--boot-timeout=1m"];

/// A host's name.
pub fn name(number: usize) -> String {
    format!("h-{number}")
}

impl Site {
    /// With as many hosts, whose BMCs are at `first` and after it; `more` is merged into each.
    pub async fn open(first: Ipv4Addr, count: usize, more: impl Fn(usize) -> Value) -> Result<Self> {
        let plane = installed().await?;
        let client = plane.client().await?;
        let credentials = Credentials { username: "root".to_owned(), password: PASSWORD.to_owned() };
        let profiles = vec![profiles::by_name("openbmc").context("no such profile")?];
        let config =
            FleetConfig { count, profiles, first, pace: 0.02, credentials, ..FleetConfig::default() };
        let fleet = Fleet::start(config).await?;
        make_secret(&client, "bmc", &json!({"username": "root", "password": PASSWORD})).await?;
        for number in 0..count {
            let mut host =
                json!({"spec": {"redfishConnection": {"address": fleet.url(address(first, number))}}});
            merge(&mut host, &more(number));
            make_host(&client, HOSTS, &name(number), &host).await?;
        }
        make_cluster(&client).await?;
        let manager = Manager::start(&plane, &alone("manager", &FLAGS)).await?;
        for number in 0..count {
            until_state(&client, &name(number), HostState::Available).await?;
        }
        let image = format!("{}/node.iso", images::serve().await?);
        Ok(Self { plane, client, fleet, first, manager, image })
    }

    pub async fn host(&self, number: usize) -> Result<PhysicalHost> {
        Ok(hosts(&self.client, HOSTS).get(&name(number)).await?)
    }

    /// Looks into a host's BMC, or changes it.
    pub fn bmc<T>(&self, number: usize, act: impl FnOnce(&mut Bmc) -> T) -> Result<T> {
        let host = self.fleet.host(address(self.first, number)).context("no such BMC")?;
        Ok(host.with(|bmc, _| act(bmc)))
    }

    pub fn is_off_and_empty(&self, number: usize) -> Result<bool> {
        self.bmc(number, |bmc| {
            bmc.machine.power() == PowerState::Off
                && bmc.machine.slots().iter().all(|slot| slot.image.is_none())
        })
    }

    /// What was done to a machine since its log was cleared, but for what it does by itself.
    pub fn done_to(&self, number: usize) -> Result<Vec<Action>> {
        let by_itself = |action: &Action| {
            matches!(
                action,
                Action::LoggedIn | Action::Booted { .. } | Action::Read { .. } | Action::OverrideConsumed
            )
        };
        self.bmc(number, |bmc| {
            let all = bmc.machine.log().entries().map(|entry| entry.action.clone());
            all.filter(|action| !by_itself(action)).collect()
        })
    }

    pub async fn close(self) -> Result<()> {
        let told = logged(&self.manager)?.contains(PASSWORD);
        anyhow::ensure!(!told, "the password is in the log");
        self.manager.stop().await?;
        self.plane.stop().await
    }
}

pub fn address(first: Ipv4Addr, number: usize) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(first) + u32::try_from(number).unwrap_or_default())
}

//! Where machines meet hosts: a control plane, a simulated fleet, a manager, and a Cluster whose infrastructure is ready.

use std::net::Ipv4Addr;

use anyhow::{Context, Result};
use beskar7_api::{HostBootConfiguration, HostState, PhysicalHost};
use beskar7_e2e::control_plane::ControlPlane;
use beskar7_e2e::manager::{self, Manager};
use beskar7_redfish_sim::bmc::Bmc;
use beskar7_redfish_sim::machine::log::Action;
use beskar7_redfish_sim::profiles;
use k8s_openapi::api::events::v1::Event;
use kube::api::ListParams;
use kube::{Api, Client};
use serde_json::{Value, json};

use super::bmcs::Bmcs;
use super::images;
use super::life::until_state;
use super::owners::make_cluster;
use super::setup::*;

/// Where machines meet hosts.
pub struct Site {
    pub plane: ControlPlane,
    pub client: Client,
    pub bmcs: Bmcs,
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
        Self::open_with(&FLAGS, first, count, more).await
    }

    /// The same, with a manager that is given these flags.
    pub async fn open_with(
        flags: &[&str],
        first: Ipv4Addr,
        count: usize,
        more: impl Fn(usize) -> Value,
    ) -> Result<Self> {
        let make = profiles::by_name("openbmc").context("no such profile")?;
        Self::open_before(flags, Bmcs::start(first, count, make).await?, count, more).await
    }

    /// The same, with a manager that takes part in the election and serves configurations and images.
    pub async fn open_serving(
        flags: &[&str],
        first: Ipv4Addr,
        count: usize,
        more: impl Fn(usize) -> Value,
    ) -> Result<Self> {
        let make = profiles::by_name("openbmc").context("no such profile")?;
        let mut options = replica("manager");
        options.boot_server = true;
        options.flags.extend(flags.iter().map(|flag| (*flag).to_owned()));
        Self::open_as(&options, Bmcs::start(first, count, make).await?, count, more).await
    }

    /// The same, with these BMCs.
    pub async fn open_before(
        flags: &[&str],
        bmcs: Bmcs,
        count: usize,
        more: impl Fn(usize) -> Value,
    ) -> Result<Self> {
        Self::open_as(&alone("manager", flags), bmcs, count, more).await
    }

    async fn open_as(
        options: &manager::Options,
        bmcs: Bmcs,
        count: usize,
        more: impl Fn(usize) -> Value,
    ) -> Result<Self> {
        let plane = installed().await?;
        let client = plane.client().await?;
        make_secret(&client, "bmc", &json!({"username": "root", "password": PASSWORD})).await?;
        for number in 0..count {
            let mut host = json!({"spec": {"redfishConnection": {"address": bmcs.url(number)}}});
            merge(&mut host, &more(number));
            make_host(&client, HOSTS, &name(number), &host).await?;
        }
        make_cluster(&client).await?;
        let manager = Manager::start(&plane, options).await?;
        for number in 0..count {
            until_state(&client, &name(number), HostState::Available).await?;
        }
        let image = format!("{}/node.iso", images::serve().await?);
        Ok(Self { plane, client, bmcs, manager, image })
    }

    pub async fn host(&self, number: usize) -> Result<PhysicalHost> {
        Ok(hosts(&self.client, HOSTS).get(&name(number)).await?)
    }

    /// Looks into a host's BMC, or changes it.
    pub fn bmc<T>(&self, number: usize, act: impl FnOnce(&mut Bmc) -> T) -> Result<T> {
        self.bmcs.with(number, act)
    }

    pub fn is_off_and_empty(&self, number: usize) -> Result<bool> {
        self.bmcs.is_off_and_empty(number)
    }

    /// What was done to a machine since its log was cleared, but for what it does by itself.
    pub fn done_to(&self, number: usize) -> Result<Vec<Action>> {
        self.bmcs.done_to(number)
    }

    /// Everything that people with rights on hosts can read of the first one, and the log.
    pub async fn everything(&self) -> Result<String> {
        let events: Api<Event> = Api::namespaced(self.client.clone(), HOSTS);
        let configurations: Api<HostBootConfiguration> = Api::namespaced(self.client.clone(), HOSTS);
        Ok(format!(
            "{} {} {} {}",
            serde_json::to_string(&events.list(&ListParams::default()).await?.items)?,
            serde_json::to_string(&configurations.list(&ListParams::default()).await?.items)?,
            serde_json::to_string(&self.host(0).await?)?,
            logged(&self.manager)?
        ))
    }

    pub async fn close(self) -> Result<()> {
        let told = logged(&self.manager)?.contains(PASSWORD);
        anyhow::ensure!(!told, "the password is in the log");
        self.manager.stop().await?;
        self.plane.stop().await
    }
}

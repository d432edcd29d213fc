//! Beskar7Machines on simulated hosts, with Cluster API's side written by hand.

use std::net::Ipv4Addr;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use beskar7_api::{HostState, PhysicalHost};
use beskar7_e2e::control_plane::ControlPlane;
use beskar7_e2e::manager::Manager;
use beskar7_redfish_sim::bmc::Credentials;
use beskar7_redfish_sim::fleet::{Fleet, FleetConfig};
use beskar7_redfish_sim::machine::power::PowerState;
use beskar7_redfish_sim::profiles;
use kube::Client;
use serde_json::{Value, json};

use super::images;
use super::life::until_state;
use super::owners::*;
use super::setup::*;

/// A control plane, a fleet, a manager, and a Cluster whose infrastructure is ready.
struct Site {
    plane: ControlPlane,
    client: Client,
    fleet: Arc<Fleet>,
    first: Ipv4Addr,
    manager: Manager,
    image: String,
}

impl Site {
    /// With as many hosts, called h-0 and so on; `more` is merged into each.
    async fn open(first: Ipv4Addr, count: usize, more: impl Fn(usize) -> Value) -> Result<Self> {
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
            make_host(&client, HOSTS, &format!("h-{number}"), &host).await?;
        }
        make_cluster(&client).await?;
        let flags = ["--bmc-poll-interval=1s", "--boot-timeout=1m"];
        let manager = Manager::start(&plane, &alone("manager", &flags)).await?;
        for number in 0..count {
            until_state(&client, &format!("h-{number}"), HostState::Available).await?;
        }
        let image = format!("{}/node.iso", images::serve().await?);
        Ok(Self { plane, client, fleet, first, manager, image })
    }

    async fn host(&self, number: usize) -> Result<PhysicalHost> {
        Ok(hosts(&self.client, HOSTS).get(&format!("h-{number}")).await?)
    }

    fn is_off_and_empty(&self, number: usize) -> Result<bool> {
        let host = self.fleet.host(address(self.first, number)).context("no such BMC")?;
        Ok(host.with(|bmc, _| {
            bmc.machine.power() == PowerState::Off
                && bmc.machine.slots().iter().all(|slot| slot.image.is_none())
        }))
    }

    async fn close(self) -> Result<()> {
        self.manager.stop().await?;
        self.plane.stop().await
    }
}

fn address(first: Ipv4Addr, number: usize) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(first) + u32::try_from(number).unwrap_or_default())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_gets_a_host_boots_it_and_gives_it_back() -> Result<()> {
    let addresses = json!({"spec": {"addresses": [{"type": "InternalIP", "address": "10.9.0.1"}]},
        "metadata": {"labels": {"topology.kubernetes.io/zone": "rack-1"}}});
    let site = Site::open(Ipv4Addr::new(127, 44, 0, 1), 1, |_| addresses.clone()).await?;
    let client = &site.client;
    make_machine(client, "m", &site.image, &json!({}), &json!({})).await?;
    let machine = until_phase(client, "m", "Provisioned").await?;
    ensure!(machine.spec.provider_id.as_deref() == Some("b7://metal/h-0"), "{:?}", machine.spec);
    let status = machine.status.context("just seen")?;
    ensure!(status.ready && status.initialization.and_then(|found| found.provisioned) == Some(true));
    ensure!(status.addresses.iter().any(|found| found.address == "10.9.0.1"), "{:?}", status.addresses);
    ensure!(status.failure_domain.as_deref() == Some("rack-1"));
    let host = site.host(0).await?;
    ensure!(host.spec.boot_iso_source.as_deref() == Some(site.image.as_str()));
    ensure!(host.spec.consumer_ref.and_then(|found| found.name).as_deref() == Some("m"));

    // A second one waits, and says for what; it is served when the first one goes.
    make_machine(client, "n", &site.image, &json!({}), &json!({})).await?;
    let told = until_waiting(client, "n", "WaitingForPhysicalHost").await?;
    ensure!(told == "0 of 1 host matches: 1 claimed", "{told}");
    delete_machine(client, "m").await?;
    until_gone(client, "m").await?;
    until_phase(client, "n", "Provisioned").await?;
    delete_machine(client, "n").await?;
    until_gone(client, "n").await?;
    until_state(client, "h-0", HostState::Available).await?;
    ensure!(site.is_off_and_empty(0)?);
    let host = site.host(0).await?;
    ensure!(
        host.spec.consumer_ref.is_none()
            && host.spec.claim_id.is_none()
            && host.spec.boot_iso_source.is_none()
    );
    site.close().await
}

//! A manager with its API server, and one machine with real firmware and two disks behind a simulated BMC.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use beskar7_api::{HardwareData, HostState, PhysicalHost, boot::BootMode};
use beskar7_e2e::control_plane::ControlPlane;
use beskar7_e2e::installation;
use beskar7_e2e::isos::Firmware;
use beskar7_e2e::manager::{self, Manager};
use beskar7_e2e::racks::Racks;
use beskar7_e2e::ranges::Ranges;
use beskar7_e2e::vm::{BehindBmc, Hardware, Line, Vm};
use beskar7_e2e::wait::{self, Seen};
use beskar7_redfish_sim::fleet::FleetConfig;
use beskar7_redfish_sim::machine::log::Action;
use bytes::Bytes;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use serde_json::{Value, json};

use super::disks::{CHOSEN, Disks, LENGTH, OTHER};
use super::tools::Tools;

/// A step takes a minute, and many on a machine whose cores compile.
pub const LIMIT: Duration = Duration::from_secs(900);

/// The namespace of the hosts.
pub const HOSTS: &str = "metal";
const BMC: Ipv4Addr = Ipv4Addr::new(127, 77, 0, 1);

/// The manager, and the machine.
pub struct Site {
    pub plane: ControlPlane,
    pub client: Client,
    pub vm: Arc<Vm>,
    pub disks: Disks,
    pub files: Files,
    manager: Manager,
    racks: Racks,
    began: Instant,
}

/// A web server that the manager reads from.
pub struct Files(Ranges);

impl Files {
    pub async fn start() -> Result<Self> {
        Ok(Self(Ranges::start().await?))
    }

    /// Serves this from now on, and returns its URL.
    pub fn put(&self, name: &str, content: Vec<u8>) -> String {
        self.0.put("127.0.0.1", name, Arc::new(Bytes::from(content)))
    }
}

impl Site {
    /// With a manager that is started so, and these properties of the host, which has been inspected. What the manager needs
    /// to know of the agent is among its flags.
    pub async fn open(
        tools: &Tools,
        line: Line,
        host: &Value,
        files: Files,
        mut options: manager::Options,
    ) -> Result<Self> {
        let began = Instant::now();
        let disks = Disks::used(tools).await?;
        let hardware = Hardware { line, disks: disks.all(), ..Hardware::behind(BMC, Firmware::Uefi) };
        let mac = hardware.mac.clone();
        let vm = Arc::new(Vm::new(tools.isos.installed(), hardware)?);
        let plane = installation::installed().await?;
        let client = plane.client().await?;
        let hardware = Some(BehindBmc::new(Arc::clone(&vm)) as Arc<_>);
        let fleet = FleetConfig { first: BMC, pace: 0.1, hardware, ..FleetConfig::default() };
        let racks = Racks::start(&plane, HOSTS, fleet).await?;
        let name = racks.names().next().context("no host")?;
        let hosts: Api<PhysicalHost> = Api::namespaced(client.clone(), HOSTS);
        for patch in [&json!({"spec": {"bootMACAddress": mac, "inspect": true}}), host] {
            hosts.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await?;
        }
        let usual = ["--bmc-poll-interval=1s", "--boot-timeout=30m"].map(str::to_owned);
        options.flags.extend(usual);
        options = manager::Options { leader_elect: false, boot_server: true, ..options };
        let manager = Manager::start(&plane, &options).await?;
        let site = Self { plane, client, vm, disks, files, manager, racks, began };
        site.until(HostState::Inspecting).await?;
        site.until_free().await?;
        site.has_been_seen_as_it_is().await?;
        site.racks.bmc(site.host()?)?.with(|bmc, _| bmc.machine.clear_log());
        Ok(site)
    }

    /// Before the free machine goes through it once more: its disks were in use again, and nothing is known to have been done
    /// to it.
    pub async fn begin_anew(&mut self, tools: &Tools) -> Result<()> {
        self.disks.refill(tools).await?;
        self.plane.kubectl(&["-n", HOSTS, "delete", "events", "--all"]).await?.success()?;
        self.racks.bmc(self.host()?)?.with(|bmc, _| bmc.machine.clear_log());
        Ok(())
    }

    /// What was done to the machine by its BMC since.
    pub fn done(&self) -> Result<Vec<Action>> {
        let is_done = |action: &Action| !matches!(action, Action::LoggedIn);
        Ok(self.racks.bmc(self.host()?)?.with(|bmc, _| {
            let all = bmc.machine.log().entries().map(|entry| entry.action.clone());
            all.filter(is_done).collect()
        }))
    }

    /// What the agent saw is what the machine is made of.
    async fn has_been_seen_as_it_is(&self) -> Result<()> {
        let all: Api<HardwareData> = Api::namespaced(self.client.clone(), HOSTS);
        let seen = all.get(self.host()?).await?.spec.inspection.context("nothing was seen")?;
        let made = self.vm.hardware();
        ensure!(seen.boot_mode == BootMode::UEFI, "{seen:?}");
        let uuid = seen.hardware.uuid.as_ref().context("no UUID")?;
        ensure!(uuid.eq_ignore_ascii_case(&made.uuid), "{uuid}, and not {}", made.uuid);
        let macs = seen.hardware.nics.iter().filter_map(|nic| nic.mac_address.as_deref());
        ensure!(macs.eq([made.mac.as_str()]), "{:?}", seen.hardware.nics);
        let disks = seen.hardware.storage.iter().map(|disk| (disk.serial_number.as_deref(), disk.size_bytes));
        let mut disks: Vec<_> = disks.collect();
        disks.sort_unstable();
        let length = Some(i64::try_from(LENGTH)?);
        ensure!(disks == [(Some(CHOSEN), length), (Some(OTHER), length)], "{:?}", seen.hardware.storage);
        Ok(())
    }

    /// The host's name.
    pub fn host(&self) -> Result<&str> {
        self.racks.names().next().context("no host")
    }

    /// Waits until the host is in this state.
    pub async fn until(&self, wanted: HostState) -> Result<PhysicalHost> {
        let (hosts, name): (Api<PhysicalHost>, _) =
            (Api::namespaced(self.client.clone(), HOSTS), self.host()?);
        let hosts = &hosts;
        let found = wait::until(format!("the host to be {wanted:?}"), LIMIT, || async move {
            let host = hosts.get(name).await?;
            let status = host.status.clone().unwrap_or_default();
            Ok(match status.state {
                Some(state) if state == wanted => Seen::Done(host),
                state => {
                    Seen::NotYet(format!("{state:?} {:?} {:?}", status.conditions, host.metadata.annotations))
                }
            })
        });
        let found = found.await?;
        eprintln!("{wanted:?} after {} s", self.began.elapsed().as_secs());
        Ok(found)
    }

    /// Waits until its system has called home, and looks at how it got there: the agent was started by the BMC, and the
    /// system by the machine itself.
    pub async fn until_home(&self) -> Result<()> {
        let host = self.until(HostState::Provisioned).await?;
        let told = host.status.unwrap_or_default().conditions;
        ensure!(told.iter().any(|told| told.reason == "CalledHome"), "{told:?}");
        let name = self.host()?;
        let starts = self.done()?.iter().filter(|action| matches!(action, Action::PoweredOn)).count();
        ensure!(starts == 1, "it was powered on {starts} times");
        let events = self.plane.kubectl(&["-n", HOSTS, "describe", "physicalhost", name]).await?.success()?;
        for reason in ["AgentAsked", "InstallationBegan", "ImageInstalled", "CalledHome"] {
            ensure!(events.contains(reason), "no {reason} in\n{events}");
        }
        Ok(())
    }

    /// Waits until the host can be claimed.
    pub async fn until_free(&self) -> Result<()> {
        let host = self.until(HostState::Available).await?;
        ensure!(host.spec.consumer_ref.is_none() && host.spec.claim_id.is_none(), "{:?}", host.spec);
        ensure!(!self.vm.is_on().await, "the host is free, and its machine runs");
        Ok(())
    }

    pub async fn close(self) -> Result<()> {
        self.manager.stop().await?;
        self.plane.stop().await
    }
}

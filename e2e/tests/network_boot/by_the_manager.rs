//! The whole way: what people apply makes the manager boot a machine with real firmware from the network, once.

use std::net::Ipv4Addr;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use beskar7_api::{DHCPReservation, HostState, PhysicalHost};
use beskar7_e2e::control_plane::ControlPlane;
use beskar7_e2e::installation;
use beskar7_e2e::isos::{Firmware, Isos};
use beskar7_e2e::lab::{Lab, alone};
use beskar7_e2e::manager::{self, Manager, NAMESPACE, SERVICE_ACCOUNT};
use beskar7_e2e::objects::{make_cluster, make_machine, make_namespace, make_owner_machine, make_secret};
use beskar7_e2e::process::Process;
use beskar7_e2e::racks::Racks;
use beskar7_e2e::ranges::Ranges;
use beskar7_e2e::vm::{BehindBmc, Hardware, Start, Vm};
use beskar7_e2e::wait::{self, Seen};
use beskar7_redfish_sim::fleet::FleetConfig;
use bytes::Bytes;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use serde_json::{Value, json};

use super::boot::{LIMIT, disks, starts_from_disk};
use super::servers::{ADDRESS, NEIGHBOUR};

const HOSTS: &str = "metal";
const BMC: Ipv4Addr = Ipv4Addr::new(127, 77, 0, 1);
const GIVEN: &str = "10.77.0.50";
/// What the site's own server gives out.
const FIRST: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 100);
const LAST: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 150);
const PARAMETERS: [&str; 4] = ["console=ttyS0", "quiet", "no_timer_check", "ip=dhcp"];

/// A manager with its API server, and one machine with real firmware behind a simulated BMC.
struct Site {
    plane: ControlPlane,
    client: Client,
    manager: Manager,
    racks: Racks,
    vm: Arc<Vm>,
    /// Serves what it boots.
    _files: Ranges,
    /// The site's own server, beside ours.
    _site_dhcp: Option<Process>,
    kernel: String,
    initramfs: String,
}

impl Site {
    async fn open(lab: &Lab, isos: &Isos, firmware: Firmware, dhcp: &str, host: &Value) -> Result<Self> {
        let segment = lab.segment("near", Some(ADDRESS)).await?;
        let (line, disks) = (lab.line(&segment).await?, disks(isos).await?);
        let hardware = Hardware { line, disks, ..Hardware::behind(BMC, firmware) };
        let mac = hardware.mac.clone();
        let vm = Arc::new(Vm::new(isos.installed(), hardware)?);
        let plane = installation::installed().await?;
        let client = plane.client().await?;
        let hardware = Some(BehindBmc::new(Arc::clone(&vm)) as Arc<_>);
        let fleet = FleetConfig { first: BMC, pace: 0.1, hardware, ..FleetConfig::default() };
        let racks = Racks::start(&plane, HOSTS, fleet).await?;
        let name = racks.names().next().context("no host")?.to_owned();
        racks.bmc(&name)?.with(|bmc, _| bmc.machine.install(Some("a system".to_owned())));
        let hosts: Api<PhysicalHost> = Api::namespaced(client.clone(), HOSTS);
        let known = json!({"spec": {"bootMACAddress": mac}});
        for patch in [&known, host] {
            hosts.patch(&name, &PatchParams::default(), &Patch::Merge(patch)).await?;
        }
        let loaders = lab.installed().snponly.parent().context("iPXE is nowhere")?.display().to_string();
        let flags = [
            "--bmc-poll-interval=1s".to_owned(),
            "--boot-timeout=30m".to_owned(),
            format!("--dhcp={dhcp}"),
            format!("--dhcp-interfaces={}", segment.name()),
            format!("--ipxe-dir={loaders}"),
            format!("--tftp-bind-address={ADDRESS}:69"),
        ];
        let options = manager::Options {
            leader_elect: false,
            boot_server: true,
            boot_host: ADDRESS.to_string(),
            boot_bind: ADDRESS,
            flags: flags.to_vec(),
            ..manager::Options::default()
        };
        let mut site_dhcp = None;
        if dhcp == "proxy" {
            let site = lab.neighbour("site").await?;
            lab.join(&site, &segment, NEIGHBOUR).await?;
            site_dhcp = Some(lab.site_dhcp(&site, &segment, FIRST..=LAST).await?);
        }
        let manager = Manager::start(&plane, &options).await?;
        racks.available(&plane).await?;
        let files = Ranges::start().await?;
        let put = |name: &str, content: Vec<u8>| files.put("127.0.0.1", name, Arc::new(Bytes::from(content)));
        let kernel = put("kernel", std::fs::read(&isos.installed().kernel)?);
        let initramfs = put("initramfs", std::fs::read(isos.initramfs().await?)?);
        Ok(Self {
            plane,
            client,
            manager,
            racks,
            vm,
            _files: files,
            _site_dhcp: site_dhcp,
            kernel,
            initramfs,
        })
    }

    fn host(&self) -> Result<&str> {
        self.racks.names().next().context("no host")
    }

    async fn until_provisioned(&self) -> Result<PhysicalHost> {
        let (hosts, name): (Api<PhysicalHost>, _) =
            (Api::namespaced(self.client.clone(), HOSTS), self.host()?);
        let hosts = &hosts;
        let found = wait::until("the machine to be Provisioned", LIMIT, || async move {
            let host = hosts.get(name).await?;
            let status = host.status.clone().unwrap_or_default();
            Ok(match status.state {
                Some(HostState::Provisioned) => Seen::Done(host),
                state => {
                    Seen::NotYet(format!("{state:?} {:?} {:?}", status.conditions, host.metadata.annotations))
                }
            })
        });
        Ok(found.await?)
    }

    /// It has read its configuration and called home; and whatever is first in its boot order, it installs nothing again.
    async fn boots_once(self) -> Result<()> {
        let host = self.until_provisioned().await?;
        let told = host.status.unwrap_or_default().conditions;
        ensure!(told.iter().any(|told| told.reason == "CalledHome"), "{told:?}");
        let console = self.vm.console().await;
        console.until("called home", LIMIT).await?;
        ensure!(console.said("user-data sha256")?.is_some(), "{:?}", console.lines()?);
        let name = self.host()?;
        let events = self.plane.kubectl(&["-n", HOSTS, "describe", "physicalhost", name]).await?.success()?;
        for reason in
            ["AskedForAddress", "FetchedScript", "FetchedArtifact", "ReadConfiguration", "CalledHome"]
        {
            ensure!(events.contains(reason), "no {reason} in\n{events}");
        }
        let reservations: Api<DHCPReservation> = Api::namespaced(self.client.clone(), HOSTS);
        let seen = reservations.get(name).await?.status.unwrap_or_default();
        ensure!(seen.last_seen.is_some() && seen.last_architecture.is_some(), "{seen:?}");

        self.vm.power_off().await?;
        self.vm.power_on(Start::Pxe).await?;
        starts_from_disk(&self.vm.console().await).await?;
        self.manager.stop().await?;
        self.plane.stop().await
    }
}

/// From a HostClaim: UEFI, by PXE, with an address of ours.
#[test]
#[ignore = "long: make network-boot"]
fn a_host_claim_boots_a_machine_from_the_network_once() -> Result<()> {
    let test = "a_host_claim_boots_a_machine_from_the_network_once";
    alone(module_path!(), test, async |lab| {
        let Some(isos) = Isos::shared(test)? else { return Ok(()) };
        let host = json!({"spec": {"bootNetwork": {"ipAddress": GIVEN, "prefix": 24}}});
        let site = Site::open(&lab, &isos, Firmware::Uefi, "reservations", &host).await?;
        let account = format!("--serviceaccount={NAMESPACE}:{SERVICE_ACCOUNT}");
        let role =
            ["-n", HOSTS, "create", "rolebinding", "pool", "--clusterrole=beskar7-pool-role", &account];
        site.plane.kubectl(&role).await?.success()?;
        make_namespace(&site.client, "tenant").await?;
        make_secret(&site.client, "tenant", "user-data", &json!({"userData": "#cloud-config\n{}\n"})).await?;
        let group = "infrastructure.cluster.x-k8s.io/v1beta1";
        let policy = json!({"apiVersion": group, "kind": "HostDeployPolicy",
            "metadata": {"name": "all", "namespace": HOSTS}, "spec": {"hostclaimNamespaces": {}}});
        let claim = json!({"apiVersion": group, "kind": "HostClaim",
            "metadata": {"name": "mine", "namespace": "tenant"},
            "spec": {"online": true, "kernel": site.kernel, "initramfs": site.initramfs,
                "kernelArgs": PARAMETERS, "userData": {"name": "user-data"}}});
        for object in [policy, claim] {
            installation::apply(&site.plane, &object.to_string()).await?;
        }
        let host = site.until_provisioned().await?;
        ensure!(host.spec.consumer_ref.is_some());
        let console = site.vm.console().await;
        ensure!(console.said("address")? == Some(format!("{GIVEN}/24")), "{:?}", console.lines()?);
        site.boots_once().await
    })
}

/// From a Beskar7Machine: BIOS, by iPXE, with an address of the site's own server.
#[test]
#[ignore = "long: make network-boot"]
fn a_beskar7_machine_boots_from_the_network_once() -> Result<()> {
    let test = "a_beskar7_machine_boots_from_the_network_once";
    alone(module_path!(), test, async |lab| {
        let Some(isos) = Isos::shared(test)? else { return Ok(()) };
        let site = Site::open(&lab, &isos, Firmware::Bios, "proxy", &json!({})).await?;
        make_cluster(&site.client, HOSTS).await?;
        let owner = make_owner_machine(&site.client, HOSTS, "m", &json!({})).await?;
        let arguments: Vec<&str> = PARAMETERS.into_iter().chain(["ds=nocloud;s={{configURL}}/"]).collect();
        let spec = json!({"spec": {
            "provisioningMode": "iPXE", "bootMode": "Legacy", "imageURL": null, "osFamily": "other",
            "kernel": site.kernel, "initramfs": site.initramfs, "kernelArgs": arguments,
        }});
        make_machine(&site.client, HOSTS, &owner, "", &spec).await?;
        site.boots_once().await
    })
}

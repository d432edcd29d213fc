//! The whole way: what people apply makes the manager boot a machine with real firmware from the network, once.

use std::net::Ipv4Addr;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use beskar7_api::{DHCPReservation, HostState, PhysicalHost};
use beskar7_boot::capability::{Key, PREFIX, Purpose};
use beskar7_e2e::control_plane::ControlPlane;
use beskar7_e2e::installation;
use beskar7_e2e::isos::{Firmware, Isos};
use beskar7_e2e::lab::{Lab, alone};
use beskar7_e2e::manager::{self, BOOT_SERVICE_ACCOUNT, Manager, NAMESPACE, SERVICE_ACCOUNT};
use beskar7_e2e::objects::{make_cluster, make_machine, make_namespace, make_owner_machine, make_secret};
use beskar7_e2e::probe;
use beskar7_e2e::process::Process;
use beskar7_e2e::racks::Racks;
use beskar7_e2e::ranges::Ranges;
use beskar7_e2e::vm::{BehindBmc, Hardware, Start, Vm};
use beskar7_e2e::wait::{self, Seen};
use beskar7_e2e::workspace;
use beskar7_redfish_sim::fleet::FleetConfig;
use bytes::Bytes;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use serde_json::{Value, json};

use super::boot::{LIMIT, disks, sha256, starts_from_disk};
use super::servers::{ADDRESS, NEIGHBOUR};

const HOSTS: &str = "metal";
const BMC: Ipv4Addr = Ipv4Addr::new(127, 77, 0, 1);
const GIVEN: &str = "10.77.0.50";
/// What the site's own server gives out.
const FIRST: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 100);
const LAST: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 150);
const USER_DATA: &str = "#cloud-config\n{}\n";
/// What `make_cluster` gives to all machines.
const BOOTSTRAP_DATA: &str = "#cloud-config";
const PARAMETERS: [&str; 4] = ["console=ttyS0", "quiet", "no_timer_check", "ip=dhcp"];

/// A manager with its API server, and one machine with real firmware behind a simulated BMC.
struct Site {
    plane: ControlPlane,
    client: Client,
    manager: Manager,
    /// A boot server by itself, where the manager leaves DHCP and TFTP to one.
    boot_server: Option<Manager>,
    racks: Racks,
    vm: Arc<Vm>,
    /// Serves what it boots.
    _files: Ranges,
    /// The site's own server, beside ours.
    _site_dhcp: Option<Process>,
    kernel: String,
    initramfs: String,
}

/// Who answers by DHCP, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dhcp {
    /// The manager, beside the site's own server.
    Proxy,
    /// The manager alone.
    Reservations,
    /// A boot server by itself, alone.
    ReservationsByItself,
}

/// How a machine comes to iPXE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Loads {
    /// Its firmware fetches it by TFTP.
    ByTftp,
    /// Its firmware fetches it by HTTP, from the URL of the override.
    ByHttp,
    /// A BIOS has it in its card here.
    FromItsCard,
}

/// What was counted of machines that asked for something to boot.
#[derive(Debug, Clone, Copy)]
struct Counted {
    /// DHCP messages that were answered.
    answered: f64,
    /// Files that were sent by TFTP.
    sent: f64,
}

impl Counted {
    async fn by(server: &Manager) -> Result<Self> {
        let metrics = server.metrics().await?;
        let value = |name: &str| -> Result<f64> {
            let line = metrics.lines().find_map(|line| line.strip_prefix(name));
            // What did not happen yet has no line.
            Ok(line.map(|value| value.trim().parse()).transpose()?.unwrap_or_default())
        };
        Ok(Self {
            answered: value("beskar7_dhcp_messages_total{answer=\"answered\"}")?,
            sent: value("beskar7_tftp_requests_total{answer=\"sent\"}")?,
        })
    }
}

/// A boot server as its DaemonSet runs it: with rights of its own on objects, and one capability alone.
async fn by_itself(
    lab: &Lab,
    plane: &ControlPlane,
    usual: &manager::Options,
    flags: &[String],
) -> Result<Manager> {
    let manifests = workspace::root().join("config/boot");
    plane.kubectl(&["apply", "-k", &manifests.to_string_lossy()]).await?.success()?;
    let daemon_set = std::fs::read_to_string(manifests.join("daemonset.yaml"))?;
    let words: Vec<_> = daemon_set.split_whitespace().collect();
    let given =
        ["capabilities:", "drop:", "-", "ALL", "add:", "-", "NET_BIND_SERVICE", "terminationMessagePolicy:"];
    ensure!(words.windows(given.len()).any(|found| found == given), "the DaemonSet gives other capabilities");
    let cache = lab.directory().join("cache");
    std::fs::create_dir(&cache).context("a directory for a cache")?;
    let more = ["--boot-only".to_owned(), format!("--artifact-cache-dir={}", cache.display())];
    let setpriv = lab.installed().setpriv.display().to_string();
    let only = ["--bounding-set=-all,+net_bind_service", "--inh-caps=-all", "--no-new-privs"];
    let options = manager::Options {
        name: "boot-server".to_owned(),
        service_account: BOOT_SERVICE_ACCOUNT,
        flags: more.iter().chain(flags).cloned().collect(),
        through: [setpriv].into_iter().chain(only.map(str::to_owned)).collect(),
        ..usual.clone()
    };
    let server = Manager::start(plane, &options).await?;
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.process().pid()))?;
    for line in ["CapEff:\t0000000000000400", "CapBnd:\t0000000000000400", "NoNewPrivs:\t1"] {
        ensure!(status.lines().any(|found| found == line), "no {line} in\n{status}");
    }
    Ok(server)
}

impl Site {
    async fn open(lab: &Lab, isos: &Isos, firmware: Firmware, dhcp: Dhcp, host: &Value) -> Result<Self> {
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
        let usual = ["--bmc-poll-interval=1s", "--boot-timeout=30m"].map(str::to_owned);
        let mode = if dhcp == Dhcp::Proxy { "proxy" } else { "reservations" };
        let serving = [
            format!("--dhcp={mode}"),
            format!("--dhcp-interfaces={}", segment.name()),
            format!("--ipxe-dir={loaders}"),
            format!("--tftp-bind-address={ADDRESS}:69"),
        ];
        let mut options = manager::Options {
            leader_elect: false,
            boot_server: true,
            boot_host: ADDRESS.to_string(),
            boot_bind: ADDRESS,
            flags: usual.to_vec(),
            ..manager::Options::default()
        };
        let (mut site_dhcp, mut boot_server) = (None, None);
        match dhcp {
            Dhcp::Proxy => {
                let site = lab.neighbour("site").await?;
                lab.join(&site, &segment, NEIGHBOUR).await?;
                site_dhcp = Some(lab.site_dhcp(&site, &segment, FIRST..=LAST).await?);
                options.flags.extend(serving);
            }
            Dhcp::Reservations => options.flags.extend(serving),
            Dhcp::ReservationsByItself => {
                boot_server = Some(by_itself(lab, &plane, &options, &serving).await?);
            }
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
            boot_server,
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

    /// A Beskar7Machine that boots from the network.
    async fn make_machine(&self, mode: &str, boot_mode: &str) -> Result<()> {
        make_cluster(&self.client, HOSTS).await?;
        let owner = make_owner_machine(&self.client, HOSTS, "m", &json!({})).await?;
        let arguments: Vec<&str> = PARAMETERS.into_iter().chain(["ds=nocloud;s={{configURL}}/"]).collect();
        let spec = json!({"spec": {
            "provisioningMode": mode, "bootMode": boot_mode, "imageURL": null, "osFamily": "other",
            "kernel": self.kernel, "initramfs": self.initramfs, "kernelArgs": arguments,
        }});
        make_machine(&self.client, HOSTS, &owner, "", &spec).await
    }

    /// Who answers by DHCP and TFTP.
    fn answering(&self) -> &Manager {
        self.boot_server.as_ref().unwrap_or(&self.manager)
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

    /// Waits until the boot server knows what the machine boots: what it was not told of before the API server is away, it
    /// can't serve. A watch that does not come about at once, on kinds that are new, is tried again after a while.
    async fn until_script_is_there(&self) -> Result<()> {
        let (hosts, secrets): (Api<PhysicalHost>, Api<Secret>) =
            (Api::namespaced(self.client.clone(), HOSTS), Api::namespaced(self.client.clone(), NAMESPACE));
        let claim = hosts.get(self.host()?).await?.spec.claim_id.context("no claim")?;
        let key = secrets.get("beskar7-boot-key").await?.data.and_then(|mut data| data.remove("key"));
        let capability = Key::new(&key.context("no key")?.0)?.capability(Purpose::Media, &claim);
        let base = self.answering().boot_url().context("no boot server")?;
        let url = format!("{base}{PREFIX}{}/boot.ipxe", capability.in_url());
        wait::until_true("the machine's script", LIMIT, || async {
            let answer = probe::get(&url).await?;
            Ok(if answer.status == 200 { Ok(()) } else { Err(format!("{} {}", answer.status, answer.body)) })
        })
        .await?;
        Ok(())
    }

    /// Waits until its reservation says when it asked.
    async fn until_seen(&self) -> Result<()> {
        let (reservations, name): (Api<DHCPReservation>, _) =
            (Api::namespaced(self.client.clone(), HOSTS), self.host()?);
        let reservations = &reservations;
        wait::until_true("the machine to be seen", LIMIT, || async move {
            let seen = reservations.get(name).await?.status.unwrap_or_default();
            let is_seen = seen.last_seen.is_some() && seen.last_architecture.is_some();
            Ok(if is_seen { Ok(()) } else { Err(format!("{seen:?}")) })
        })
        .await?;
        Ok(())
    }

    /// It has read its configuration and called home; and whatever is first in its boot order, it installs nothing again.
    async fn boots_once(self, user_data: &str, loads: Loads) -> Result<()> {
        let host = self.until_provisioned().await?;
        let told = host.status.unwrap_or_default().conditions;
        ensure!(told.iter().any(|told| told.reason == "CalledHome"), "{told:?}");
        let console = self.vm.console().await;
        console.until("called home", LIMIT).await?;
        ensure!(console.said("user-data sha256")? == Some(sha256(user_data)), "{:?}", console.lines()?);
        let name = self.host()?;
        let events = self.plane.kubectl(&["-n", HOSTS, "describe", "physicalhost", name]).await?.success()?;
        // What happened while the API server was away is told nobody.
        let before: &[_] = match self.boot_server {
            None => &["AskedForAddress", "FetchedScript", "FetchedArtifact"],
            Some(_) => &[],
        };
        for reason in before.iter().chain(&["ReadConfiguration", "CalledHome"]) {
            ensure!(events.contains(reason), "no {reason} in\n{events}");
        }

        let first = Counted::by(self.answering()).await?;
        ensure!(first.answered > 0.0 && (first.sent > 0.0) == (loads == Loads::ByTftp), "{first:?}");
        self.vm.power_off().await?;
        self.vm.power_on(Start::Pxe).await?;
        starts_from_disk(&self.vm.console().await).await?;
        self.until_seen().await?;
        let second = Counted::by(self.answering()).await?;
        // Whatever it came by before: now it is PXE.
        let is_sent = loads != Loads::FromItsCard;
        ensure!(
            second.answered > first.answered && (second.sent > first.sent) == is_sent,
            "{first:?} {second:?}"
        );
        if let Some(server) = self.boot_server {
            let beside = Counted::by(&self.manager).await?;
            ensure!(beside.answered == 0.0 && beside.sent == 0.0, "the manager answered, too: {beside:?}");
            server.stop().await?;
        }
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
        let site = Site::open(&lab, &isos, Firmware::Uefi, Dhcp::Reservations, &host).await?;
        let account = format!("--serviceaccount={NAMESPACE}:{SERVICE_ACCOUNT}");
        let role =
            ["-n", HOSTS, "create", "rolebinding", "pool", "--clusterrole=beskar7-pool-role", &account];
        site.plane.kubectl(&role).await?.success()?;
        make_namespace(&site.client, "tenant").await?;
        make_secret(&site.client, "tenant", "user-data", &json!({"userData": USER_DATA})).await?;
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
        site.boots_once(USER_DATA, Loads::ByTftp).await
    })
}

/// From a Beskar7Machine: BIOS, by iPXE, with an address of the site's own server.
#[test]
#[ignore = "long: make network-boot"]
fn a_beskar7_machine_boots_from_the_network_once() -> Result<()> {
    let test = "a_beskar7_machine_boots_from_the_network_once";
    alone(module_path!(), test, async |lab| {
        let Some(isos) = Isos::shared(test)? else { return Ok(()) };
        let site = Site::open(&lab, &isos, Firmware::Bios, Dhcp::Proxy, &json!({})).await?;
        site.make_machine("iPXE", "Legacy").await?;
        site.boots_once(BOOTSTRAP_DATA, Loads::FromItsCard).await
    })
}

/// From a Beskar7Machine: UEFI, by the URL that the manager writes into the override.
#[test]
#[ignore = "long: make network-boot"]
fn a_beskar7_machine_boots_by_http_once() -> Result<()> {
    let test = "a_beskar7_machine_boots_by_http_once";
    alone(module_path!(), test, async |lab| {
        let Some(isos) = Isos::shared(test)? else { return Ok(()) };
        let host = json!({"spec": {"bootNetwork": {"ipAddress": GIVEN, "prefix": 24}}});
        let site = Site::open(&lab, &isos, Firmware::Uefi, Dhcp::Reservations, &host).await?;
        site.make_machine("HTTPBoot", "UEFI").await?;
        site.boots_once(BOOTSTRAP_DATA, Loads::ByHttp).await
    })
}

/// From a Beskar7Machine: UEFI, by PXE, from a boot server as its DaemonSet runs it, while the API server is away.
#[test]
#[ignore = "long: make network-boot"]
fn a_boot_server_by_itself_boots_a_machine_while_the_api_server_is_away() -> Result<()> {
    let test = "a_boot_server_by_itself_boots_a_machine_while_the_api_server_is_away";
    alone(module_path!(), test, async |lab| {
        let Some(isos) = Isos::shared(test)? else { return Ok(()) };
        let host = json!({"spec": {"bootNetwork": {"ipAddress": GIVEN, "prefix": 24}}});
        let mut site = Site::open(&lab, &isos, Firmware::Uefi, Dhcp::ReservationsByItself, &host).await?;
        site.make_machine("iPXE", "UEFI").await?;
        wait::until_true("the machine to be turned on", LIMIT, || async {
            Ok(if site.vm.is_on().await { Ok(()) } else { Err("it is off".to_owned()) })
        })
        .await?;
        site.until_script_is_there().await?;
        site.plane.stop_api_server().await?;
        let console = site.vm.console().await;
        ensure!(console.said("cmdline")?.is_none(), "its kernel was there too soon");

        // Its kernel comes, and is told that its configuration can't be had now.
        wait::until_true("a kernel without a configuration", LIMIT, || async {
            let refused = site.answering().metrics().await?.contains("{answer=\"unavailable\"}");
            let started = console.said("cmdline")?.is_some();
            Ok(if refused && started { Ok(()) } else { Err(format!("{:?}", console.lines()?)) })
        })
        .await?;
        ensure!(console.said("user-data sha256")?.is_none(), "{:?}", console.lines()?);
        site.plane.start_api_server().await?;
        site.boots_once(BOOTSTRAP_DATA, Loads::ByTftp).await
    })
}

//! Machines that nobody wrote down, with the API server, the manager's own DHCP server on the loopback interface, and
//! simulated BMCs: what the document on server provisioning promises of them, and what strangers can't do. Listening where
//! DHCP does needs root; without, these tests are skipped, and say so.

use std::net::Ipv4Addr;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use beskar7_api::{
    DHCPReservation, HardwareData, HostBootConfiguration, HostState, PhysicalHost, annotations,
};
use beskar7_e2e::control_plane::ControlPlane;
use beskar7_e2e::manager::{self, Manager, NAMESPACE, SERVICE_ACCOUNT};
use beskar7_e2e::probe;
use beskar7_e2e::ranges::Ranges;
use beskar7_e2e::wait::{self, Seen};
use beskar7_redfish_sim::profiles;
use bytes::Bytes;
use k8s_openapi::api::events::v1::Event;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use kube::{Api, Client};
use reqwest::StatusCode;
use serde_json::{Value, json};

use super::agents::Agent;
use super::bmcs::Bmcs;
use super::dhcp::{IPXE, Machine, PORT, PXE, SYSTEM, skipped};
use super::setup::*;
use super::site::FLAGS;
use super::tenant::{Tenant, open_to};

impl Machine {
    /// Firmware loads iPXE, iPXE its script, that the agent.
    async fn starts_the_agent(&self) -> Result<Agent> {
        let loader = self.until_answered(&PXE).await?;
        ensure!(loader == "snponly.efi", "{loader}");
        let script = self.until_answered(&IPXE).await?;
        let http = probe::client(None)?;
        let text = http.get(&script).send().await?.error_for_status()?.text().await?;
        let mut parameters = String::new();
        for line in text.lines().filter(|line| line.starts_with("kernel") || line.starts_with("initrd")) {
            let url = line.split(' ').find(|word| word.starts_with("http://")).context("no URL")?;
            http.get(url).send().await?.error_for_status()?.bytes().await?;
            if line.starts_with("kernel") {
                parameters.push_str(line);
            }
        }
        Agent::started(parameters.split(' '))
    }

    /// What its agent sees.
    fn inventory(&self, uuid: &str) -> Value {
        json!({
            "system": {"manufacturer": "Maker", "product": "Model 7", "serialNumber": "SN-7", "uuid": uuid},
            "cpu": {"architecture": "x86_64", "cores": 8}, "memoryBytes": 34_359_738_368_u64,
            "disks": [{"path": "/dev/nvme0n1", "sizeBytes": 1_000_000_000_000_u64, "kind": "nvme"}],
            "nics": [{"name": "eth0", "macAddress": self.mac.to_string(), "linkUp": true}],
        })
    }

    /// Its agent says what it is made of, and turns it off as it is told.
    async fn is_inspected(&self, uuid: &str) -> Result<Agent> {
        let agent = self.starts_the_agent().await?;
        let order = agent.until_told("inspect").await?;
        let told = agent.report(&order, &json!({"state": "done", "inspected": self.inventory(uuid)})).await?;
        ensure!(told == StatusCode::NO_CONTENT, "{told}");
        let order = agent.until_told("powerOff").await?;
        agent.report(&order, &json!({"state": "done", "goingDown": null})).await?;
        Ok(agent)
    }
}

/// Where machines are plugged in: a control plane, a manager that answers DHCP and looks for machines, and BMCs that no
/// host names yet.
struct Racks {
    plane: ControlPlane,
    client: Client,
    manager: Manager,
    bmcs: Bmcs,
    _files: Ranges,
    _loaders: tempfile::TempDir,
}

impl Racks {
    async fn open(first: Ipv4Addr, limit: usize, patience: &str) -> Result<Self> {
        let make = profiles::by_name("openbmc").context("no such profile")?;
        let bmcs = Bmcs::start(first, 1, make).await?;
        let plane = installed().await?;
        let client = plane.client().await?;
        let (files, loaders) = (Ranges::start().await?, tempfile::tempdir()?);
        std::fs::write(loaders.path().join("snponly.efi"), [1; 4096])?;
        let put = |name: &str, bytes: Vec<u8>| files.put("127.0.0.1", name, Arc::new(Bytes::from(bytes)));
        let flags = [
            "--dhcp=proxy".to_owned(),
            "--dhcp-interfaces=lo".to_owned(),
            "--tftp-bind-address=0".to_owned(),
            format!("--ipxe-dir={}", loaders.path().display()),
            format!("--agent-kernel={}", put("agent-kernel", vec![1; 9000])),
            format!("--agent-initramfs={}", put("agent-initramfs", vec![2; 7000])),
            format!("--discovery-namespace={HOSTS}"),
            format!("--discovery-limit={limit}"),
            format!("--boot-timeout={patience}"),
        ];
        let mut options = manager::Options { boot_server: true, ..alone("manager", &FLAGS) };
        options.flags.extend(flags);

        // The platform team says where hosts may be made; without that it is missed by name.
        let kubeconfig = plane.kubeconfig_for_service_account(NAMESPACE, SERVICE_ACCOUNT).await?;
        let election = format!("--leader-election-namespace={NAMESPACE}");
        let mut arguments = vec![format!("--kubeconfig={}", kubeconfig.display()), election];
        arguments.push("--boot-url=http://127.0.0.1:9".to_owned());
        arguments.extend(options.flags.iter().cloned());
        let output = run_to_end(&arguments.iter().map(String::as_str).collect::<Vec<_>>()).await?;
        // Its log goes the same way, and may have the last word.
        let error = output.stderr.as_str();
        ensure!(output.exit.to_string() == "exit code 1", "{}: {error}", output.exit);
        let missed = "create physicalhosts (infrastructure.cluster.x-k8s.io) in namespace metal";
        ensure!(error.contains(missed) && error.contains("beskar7-discovery-role"), "{error}");
        let account = format!("--serviceaccount={NAMESPACE}:{SERVICE_ACCOUNT}");
        let role =
            ["-n", HOSTS, "create", "rolebinding", "found", "--clusterrole=beskar7-discovery-role", &account];
        plane.kubectl(&role).await?.success()?;

        let manager = Manager::start(&plane, &options).await?;
        Ok(Self { plane, client, manager, bmcs, _files: files, _loaders: loaders })
    }

    fn hosts(&self) -> Api<PhysicalHost> {
        hosts(&self.client, HOSTS)
    }

    async fn until(
        &self,
        name: &str,
        what: &str,
        so: impl Fn(&PhysicalHost) -> bool,
    ) -> Result<PhysicalHost> {
        until_host(&self.hosts(), name, what, so).await
    }

    async fn names(&self) -> Result<Vec<String>> {
        let all = self.hosts().list(&ListParams::default()).await?;
        Ok(all.items.into_iter().filter_map(|host| host.metadata.name).collect())
    }

    /// Waits until nothing is left of an errand.
    async fn until_its_errand_is_over(&self, name: &str) -> Result<PhysicalHost> {
        let host = self
            .until(name, "off its errand", |host| {
                !host.metadata.annotations.clone().unwrap_or_default().contains_key(annotations::ERRAND)
                    && state_of(host) == Some(HostState::Enrolling)
            })
            .await?;
        let configurations: Api<HostBootConfiguration> = Api::namespaced(self.client.clone(), HOSTS);
        let reservations: Api<DHCPReservation> = Api::namespaced(self.client.clone(), HOSTS);
        ensure!(configurations.get_opt(name).await?.is_none() && reservations.get_opt(name).await?.is_none());
        Ok(host)
    }

    /// What the platform team does with a candidate that is theirs.
    async fn accept(&self, name: &str) -> Result<()> {
        self.give_its_bmc(name).await?;
        self.uncordon(name).await
    }

    async fn give_its_bmc(&self, name: &str) -> Result<()> {
        let connection = json!({"address": self.bmcs.url(0), "insecureSkipVerify": true});
        make_secret(&self.client, &format!("{name}-bmc"), &json!({"username": "root", "password": PASSWORD}))
            .await?;
        patch_host(&self.client, name, &json!({"spec": {"redfishConnection": connection}})).await
    }

    async fn uncordon(&self, name: &str) -> Result<()> {
        patch_host(&self.client, name, &json!({"spec": {"cordoned": null}})).await
    }

    /// The UUID of the machine that the BMC is in.
    fn uuid(&self) -> Result<String> {
        self.bmcs.with(0, |bmc| bmc.identity.uuid.clone())
    }

    async fn close(self) -> Result<()> {
        let told = logged(&self.manager)?.contains(PASSWORD);
        ensure!(!told, "the password is in the log");
        self.manager.stop().await?;
        self.plane.stop().await
    }
}

/// Whether HostAvailable is False for this reason, and what it says has this word.
fn is_not_available(reason: &'static str, word: &'static str) -> impl Fn(&PhysicalHost) -> bool {
    move |host| {
        condition(host, "HostAvailable")
            .is_some_and(|found| found.reason == reason && found.message.contains(word))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_are_discovered_and_first_time_booted_and_transitioned_into_an_available_state() -> Result<()>
{
    let _alone = PORT.lock().await;
    let (mac, address) = ("52:54:00:b7:d1:01", Ipv4Addr::new(127, 84, 0, 200));
    let Some(machine) = Machine::plugged_in(mac, address).await? else {
        return skipped("servers_are_discovered…");
    };
    let racks = Racks::open(Ipv4Addr::new(127, 84, 0, 1), 10, "10m").await?;
    let name = "discovered-525400b7d101";

    // A running system that wants an address is nobody that waits for us.
    ensure!(machine.ask(&SYSTEM).await?.is_none());
    // Discovered: a machine that nobody knows asks for something to boot. It is written down, and asks on.
    ensure!(machine.ask(&PXE).await?.is_none(), "nobody knew it");
    let found = racks.until(name, "written down", |_| true).await?;
    ensure!(found.spec.redfish_connection.address == "https://bmc.invalid", "{:?}", found.spec);
    ensure!(found.spec.redfish_connection.credentials_secret_ref == format!("{name}-bmc"));
    ensure!(found.spec.boot_mac_address.as_deref() == Some(mac) && found.spec.cordoned.is_some());
    let inspecting = racks
        .until(name, "Inspecting", |host| {
            state_of(host) == Some(HostState::Inspecting) && is_not_available("Inspecting", "")(host)
        })
        .await?;
    let ready = condition(&inspecting, "Ready").context("no condition")?;
    ensure!(ready.reason == "SecretNotFound" && ready.message.contains(&format!("{name}-bmc")), "{ready:?}");

    // First time booted: the agent says what it is made of, and turns it off.
    let agent = machine.is_inspected(&racks.uuid()?).await?;
    let known: Api<HardwareData> = Api::namespaced(racks.client.clone(), HOSTS);
    let inspection = known.get(name).await?.spec.inspection.context("nothing was written")?;
    ensure!(inspection.hardware.serial_number.as_deref() == Some("SN-7"), "{inspection:?}");
    let candidate = racks.until_its_errand_is_over(name).await?;
    let shown = candidate.status.clone().unwrap_or_default().hardware_details.context("no inventory")?;
    ensure!(
        shown.hardware.model.as_deref() == Some("Model 7") && shown.hardware.nics.len() == 1,
        "{shown:?}"
    );
    ensure!(is_not_available("Cordoned", "HardwareData")(&candidate), "{:?}", candidate.status);
    ensure!(agent.ask_for_order().await?.0 == StatusCode::NOT_FOUND, "its capability has ended");
    // It is known by now: it is told nothing, and not written down again.
    for _ in 0..3 {
        ensure!(machine.ask(&PXE).await?.is_none());
    }
    ensure!(racks.names().await? == [name], "{:?}", racks.names().await?);

    // Transitioned into Available: the platform team says where its BMC is, and takes the cordon off.
    // Before that nobody gets it, and who asks for it is told why.
    let eager = Tenant::make(&racks.client, "eager").await?;
    open_to(&racks.client, HOSTS, &json!({"hostclaimNamespaces": {}})).await?;
    eager.claim("mine", &json!({"hostRef": {"name": name, "namespace": HOSTS}})).await?;
    eager.until_waiting("mine", "0 of 1 host matches: 1 enrolling").await?;
    racks.bmcs.with(0, |bmc| bmc.machine.clear_log())?;
    racks.give_its_bmc(name).await?;
    racks
        .until(name, "Available but for its cordon", |host| {
            state_of(host) == Some(HostState::Available) && is_not_available("Cordoned", "uncordon it")(host)
        })
        .await?;
    let cordoned = racks.hosts().get(name).await?;
    ensure!(cordoned.spec.consumer_ref.is_none() && cordoned.spec.claim_id.is_none(), "{:?}", cordoned.spec);
    eager.delete("mine").await?;
    racks.uncordon(name).await?;
    // It was Available before, as far as its state says.
    let is_given =
        |host: &PhysicalHost| condition(host, "HostAvailable").is_some_and(|told| told.status == "True");
    let accepted = racks.until(name, "Available", is_given).await?;
    ensure!(state_of(&accepted) == Some(HostState::Available), "{:?}", accepted.status);
    ensure!(racks.bmcs.done_to(0)?.is_empty(), "it was inspected before: {:?}", racks.bmcs.done_to(0)?);

    let events: Api<Event> = Api::namespaced(racks.client.clone(), HOSTS);
    let told = serde_json::to_string(&events.list(&ListParams::default()).await?.items)?;
    for reason in ["Discovered", "AskedForAddress", "FetchedScript", "AgentAsked", "Inspected"] {
        ensure!(told.contains(&format!("\"{reason}\"")), "no {reason} in {told}");
    }
    let everything = format!("{told}{}{}", serde_json::to_string(&accepted)?, logged(&racks.manager)?);
    ensure!(!everything.contains(agent.secret()?), "a capability is told to everybody");
    racks.close().await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_discovered_is_limited_left_alone_when_asked_and_not_mistaken_for_another() -> Result<()> {
    let _alone = PORT.lock().await;
    let (one, other) = ("52:54:00:b7:d2:01", "52:54:00:b7:d2:02");
    let Some(machine) = Machine::plugged_in(one, Ipv4Addr::new(127, 84, 1, 200)).await? else {
        return skipped("what_is_discovered…");
    };
    let second = Machine::plugged_in(other, Ipv4Addr::new(127, 84, 1, 201)).await?.context("no rights")?;
    let racks = Racks::open(Ipv4Addr::new(127, 84, 1, 1), 1, "1m").await?;
    let (name, others) = ("discovered-525400b7d201", "discovered-525400b7d202");

    // One that somebody wrote down is his, whatever it asks for.
    let known = json!({"spec": {"bootMACAddress": other}});
    make_host(&racks.client, HOSTS, "known", &known).await?;
    racks.until("known", "known", |host| host.status.is_some()).await?;
    ensure!(second.ask(&PXE).await?.is_none());
    racks.hosts().delete("known", &DeleteParams::default()).await?;

    // There is room for one. The other is counted, and no host is made.
    ensure!(machine.ask(&PXE).await?.is_none());
    racks.until(name, "written down", |_| true).await?;
    let counted = wait::until("the other to be counted", LIMIT, || async {
        second.ask(&PXE).await?;
        let line = "beskar7_discovered_machines_total{answer=\"over-limit\"}";
        let metrics = racks.manager.metrics().await?;
        Ok(if metrics.contains(line) { Seen::Done(()) } else { Seen::NotYet("not yet".to_owned()) })
    });
    counted.await?;
    ensure!(racks.names().await? == [name], "{:?}", racks.names().await?);

    // It starts no agent: that is said, the candidate stays, and it is begun again when it asks again.
    let silent = racks.until_its_errand_is_over(name).await?;
    ensure!(is_not_available("Cordoned", "asks again")(&silent), "{:?}", silent.status);
    // Unless somebody wants it left alone.
    patch_host(&racks.client, name, &json!({"spec": {"inspect": false}})).await?;
    racks.until(name, "left alone", is_not_available("Cordoned", "left alone")).await?;
    for _ in 0..3 {
        ensure!(machine.ask(&PXE).await?.is_none());
    }
    ensure!(state_of(&racks.hosts().get(name).await?) == Some(HostState::Enrolling));
    patch_host(&racks.client, name, &json!({"spec": {"inspect": true}})).await?;

    // The BMC that it is given is in another machine: it does not become Available.
    machine.is_inspected("38947555-7742-3448-3784-823347823834").await?;
    racks.until_its_errand_is_over(name).await?;
    racks.accept(name).await?;
    let mistaken = is_not_available("BMCOfAnotherMachine", annotations::INSPECTED_UUID);
    let refused = racks.until(name, "refused", mistaken).await?;
    ensure!(state_of(&refused) == Some(HostState::Error), "{:?}", refused.status);
    // Who knows better says so.
    let none = json!({"metadata": {"annotations": {annotations::INSPECTED_UUID: null}}});
    racks.hosts().patch(name, &PatchParams::default(), &Patch::Merge(&none)).await?;
    racks.until(name, "Available", |host| state_of(host) == Some(HostState::Available)).await?;

    // It is accepted, so there is room for the other one. Deleted, that one goes at once, and is found again.
    ensure!(second.ask(&PXE).await?.is_none());
    let before = racks.until(others, "written down", |_| true).await?;
    racks.hosts().delete(others, &DeleteParams::default()).await?;
    let anew = wait::until("the other to be found again", LIMIT, || async {
        second.ask(&PXE).await?;
        Ok(match racks.hosts().get_opt(others).await? {
            Some(found) if found.metadata.uid != before.metadata.uid => Seen::Done(()),
            found => Seen::NotYet(format!("{:?}", found.map(|found| found.metadata))),
        })
    });
    anew.await?;
    racks.close().await
}

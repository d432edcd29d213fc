//! Disk images, with the API server, simulated BMCs and agents that tests play: a tenant's walk-through, a machine of a
//! cluster, and what goes wrong on the way.

use std::net::Ipv4Addr;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use beskar7_api::{HostBootConfiguration, HostState, PhysicalHost, annotations, physical_host::PowerState};
use beskar7_boot::artifacts::Digest;
use beskar7_boot::capability::Purpose;
use beskar7_e2e::images;
use beskar7_e2e::ranges::Ranges;
use beskar7_e2e::registry::Registry;
use beskar7_e2e::tools::Tools;
use beskar7_e2e::wait::{self, Seen};
use beskar7_redfish_sim::machine::boot::{BootSource, Target};
use beskar7_redfish_sim::machine::log::Action;
use beskar7_redfish_sim::machine::power::ResetType;
use bytes::Bytes;
use kube::Api;
use reqwest::StatusCode;
use serde_json::{Value, json};

use super::agents::{Agent, LINE, from_drive, in_drives};
use super::from_network::Loader;
use super::owners::{delete_machine, make_machine, until_gone, until_phase, until_waiting};
use super::setup::*;
use super::site::{FLAGS, Site, name};
use super::tenancy::is_stopped_started_and_restarted;
use super::tenant::{Tenant, bind_pool_role, nothing_of_others, open_to, powered};
use super::wipers::errand_of;

const MAC: &str = "00:1A:4B:16:02:FE";
const USER_DATA: &str = "#cloud-config\npassword: my-secret-word-4712\n";
const SECRET_WORD: &str = "my-secret-word-4712";
/// Of `abc`.
const MD5_OF_ABC: &str = "900150983cd24fb0d6963f7d28e17f72";

fn host() -> Value {
    json!({"metadata": {"labels": {"infra-kind": "medium"}}, "spec": {
        "bootMACAddress": MAC, "rootDeviceHints": {"deviceName": "/dev/vda"},
    }})
}

/// Files that are served for as long as this is kept.
struct Files {
    served: Ranges,
    flags: Vec<String>,
}

impl Files {
    /// With an agent that hosts start from the network.
    async fn with_agent() -> Result<Self> {
        let mut files = Self { served: Ranges::start().await?, flags: FLAGS.map(str::to_owned).into() };
        let (kernel, initramfs) =
            (files.put("agent-kernel", vec![1; 9000]), files.put("agent-initramfs", vec![2; 7000]));
        files.flags.push(format!("--agent-kernel={kernel}"));
        files.flags.push(format!("--agent-initramfs={initramfs}"));
        Ok(files)
    }

    fn put(&self, name: &str, content: Vec<u8>) -> String {
        self.served.put("127.0.0.1", name, Arc::new(Bytes::from(content)))
    }

    fn flags(&self) -> Vec<&str> {
        self.flags.iter().map(String::as_str).collect()
    }
}

async fn until_booting(site: &Site) -> Result<PhysicalHost> {
    let all = hosts(&site.client, HOSTS);
    until_host(&all, &name(0), "turned on", |host| state_of(host) == Some(HostState::Provisioning)).await
}

/// Waits until the host says this of itself.
async fn until_said(site: &Site, reason: &str, word: &str) -> Result<PhysicalHost> {
    let says = |host: &PhysicalHost| {
        condition(host, "HostProvisioned")
            .is_some_and(|found| found.reason == reason && found.message.contains(word))
    };
    until_host(&hosts(&site.client, HOSTS), &name(0), &format!("{reason}, {word}"), says).await
}

async fn loader(site: &Site, host: &PhysicalHost) -> Result<Loader> {
    let base = site.manager.boot_url().context("no boot server")?;
    Loader::new(&site.client, &base, host.spec.claim_id.as_deref().context("no claim")?).await
}

/// The agent that the machine starts from the network.
async fn agent_from_network(loader: &Loader) -> Result<Agent> {
    let (line, fetched) = loader.fetch_all(&loader.until_script("beskar7.url=").await?).await?;
    ensure!(fetched.iter().map(Vec::len).collect::<Vec<_>>() == [9000, 7000], "another agent");
    Agent::started(line.split(' '))
}

async fn configuration(site: &Site) -> Result<HostBootConfiguration> {
    let all: Api<HostBootConfiguration> = Api::namespaced(site.client.clone(), HOSTS);
    Ok(all.get(&name(0)).await?)
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_has_an_image_written_to_a_disk_step_by_step() -> Result<()> {
    let files = Files::with_agent().await?;
    let site = Site::open_serving(&files.flags(), Ipv4Addr::new(127, 85, 0, 1), 1, |_| host()).await?;
    bind_pool_role(&site.plane, HOSTS).await?;
    let tenant = Tenant::make(&site.client, "cluster-ns").await?;
    let claim = "my-hostclaim";
    let image = vec![9; 300_000];
    let url = files.put("img.qcow2", image.clone());
    let digest = Digest::sha256(&image);
    let sums = format!("{}  other.qcow2\n{}  img.qcow2\n", "0".repeat(64), digest.hex());
    let checksum = files.put("img.sha256", sums.into_bytes());

    // A policy without constraints; a claim with an image, its checksum file and a configuration, offline.
    open_to(&site.client, HOSTS, &json!({"hostclaimNamespaces": {}})).await?;
    tenant.keep("my-userdata", "userData", USER_DATA).await?;
    let spec = json!({
        "hostSelector": {"matchLabels": {"infra-kind": "medium"}},
        "image": {"checksum": checksum, "format": "qcow2", "url": url},
        "online": false, "userData": {"name": "my-userdata", "namespace": "cluster-ns"},
    });
    tenant.claim(claim, &spec).await?;
    tenant.until_told(claim, "Association", "True", "HostAssociated").await?;
    tenant.until_told(claim, "Synchronization", "True", "ConfigurationSynced").await?;
    tenant.until_told(claim, "Provisioned", "False", "available").await?;
    // Metadata for the associated server is added later.
    tenant.keep("my-metadata", "metaData", "rack: blue\n").await?;
    tenant
        .patch(claim, &json!({"spec": {"metaData": {"name": "my-metadata", "namespace": "cluster-ns"}}}))
        .await?;
    ensure!(powered(&site.host(0).await?) == Some(PowerState::Off), "nothing runs before it is wanted");
    site.bmc(0, |bmc| bmc.machine.clear_log())?;

    // The provisioning is launched when online is true: what is installed is found and compared before the power comes on.
    tenant.patch(claim, &json!({"spec": {"online": true}})).await?;
    let booting = until_booting(&site).await?;
    let made = configuration(&site).await?;
    let served = made.status.context("no status")?.artifacts;
    let names: Vec<&str> = served.iter().map(|artifact| artifact.name.as_str()).collect();
    ensure!(names == ["kernel", "initramfs", "image"], "{names:?}");
    let found =
        served.iter().find(|artifact| artifact.name == "image").and_then(|image| image.digest.clone());
    ensure!(found == Some(digest.to_string()), "{found:?}");

    // The machine starts the agent, which is told what to install, where, and with which configuration.
    let machine = loader(&site, &booting).await?;
    let agent = agent_from_network(&machine).await?;
    let order = agent.until_told("install").await?;
    ensure!(
        order["image"]["format"] == "qcow2" && order["image"]["checksum"]["digest"] == digest.hex(),
        "{order}"
    );
    ensure!(order["disk"] == json!({"deviceName": "/dev/vda"}), "the host's own hints: {order}");
    ensure!(order["configuration"]["label"] == "cidata", "{order}");
    ensure!(agent.order().await?.as_ref() == Some(&order), "the same again has the same name");
    ensure!(agent.image(&order, image.len()).await? == image, "another image");
    let volume = order["configuration"]["path"].as_str().context("no path")?.to_owned();
    let (status, content) = agent.fetch(&volume, None).await?;
    ensure!(status.is_success() && contains(&content, SECRET_WORD) && contains(&content, "blue"), "{status}");
    // Who has the URL of its media reads neither.
    for path in ["image", &volume] {
        let (status, _) = machine.get(&machine.url(Purpose::Media, path)).await?;
        ensure!(status == StatusCode::NOT_FOUND, "{path}: {status}");
    }
    ensure!(agent.writes(&order, 41).await? == StatusCode::NO_CONTENT);
    until_said(&site, "Provisioning", "writing /dev/vda, 41 %").await?;
    ensure!(machine.script().await?.contains("beskar7.url="), "until it is done it may begin anew");

    // It is done, and told to start from its disk; what only it could read is closed.
    ensure!(agent.installed(&order).await? == StatusCode::NO_CONTENT);
    let heard = site.host(0).await?.metadata.annotations.unwrap_or_default().remove(annotations::HEARD);
    ensure!(heard.is_some_and(|heard| heard.contains("installed=")), "it is written before it is answered");
    machine.until_script("sanboot").await?;
    wait::until_true("the volume to be closed", LIMIT, || async {
        let (status, _) = agent.fetch(&volume, None).await?;
        Ok(if status == StatusCode::NOT_FOUND { Ok(()) } else { Err(status.to_string()) })
    })
    .await?;
    agent.restarts().await?;
    until_said(&site, "Provisioning", "starts from its disk").await?;
    machine.call_home().await?;
    tenant.until_told(claim, "Provisioned", "True", "provisioned").await?;
    tenant.until_told(claim, "Ready", "True", "InfoReported").await?;
    until_said(&site, "CalledHome", "").await?;
    ensure!(agent.order().await?.is_none(), "there is nothing left to do");

    // The server can be stopped by changing online to false, and a reboot can be launched by adding an annotation. Each time
    // it starts from its disk, without an agent and without the network.
    let installed = site.host(0).await?.spec.claim_id;
    site.bmc(0, |bmc| {
        bmc.machine.install(Some("the image".to_owned()));
        bmc.machine.clear_log();
    })?;
    is_stopped_started_and_restarted(&site, &tenant, claim).await?;
    wait::until_true("the machine to run from its disk", LIMIT, || async {
        let source = site.bmc(0, |bmc| bmc.machine.running().cloned())?;
        Ok(if matches!(source, Some(BootSource::Disk { .. })) { Ok(()) } else { Err(format!("{source:?}")) })
    })
    .await?;
    ensure!(site.host(0).await?.spec.claim_id == installed, "it is another installation");
    let off = |action: &&Action| matches!(action, Action::PoweredOff);
    let times_off = site.done_to(0)?.iter().filter(off).count();
    ensure!((times_off, site.bmcs.times_on(0)?) == (3, 3), "{:?}", site.done_to(0)?);
    let armed = |action: &Action| {
        matches!(action, Action::SetOverride { to } if to.target != Target::None)
            || matches!(action, Action::Insert { .. })
    };
    ensure!(!site.done_to(0)?.iter().any(armed), "{:?}", site.done_to(0)?);
    let sources = site.bmc(0, |bmc| {
        let all = bmc.machine.log().entries().map(|entry| entry.action.clone());
        all.filter(|action| matches!(action, Action::Booted { .. })).collect::<Vec<_>>()
    })?;
    let from_disk = |action: &Action| matches!(action, Action::Booted { source: BootSource::Disk { .. } });
    ensure!(!sources.is_empty() && sources.iter().all(from_disk), "{sources:?}");
    ensure!(machine.script().await?.contains("sanboot"));
    ensure!(agent.order().await?.is_none(), "it is installed once more");

    // People can read what happened, and nobody a secret.
    let told = site.everything().await?;
    for reason in ["AgentAsked", "InstallationBegan", "ImageInstalled"] {
        ensure!(told.contains(reason), "no {reason}");
    }
    for secret in [agent.secret()?, SECRET_WORD] {
        ensure!(!told.contains(secret), "a secret is told to everybody");
    }
    nothing_of_others(&tenant, &[agent.secret()?]).await?;
    // What the agent logs stands in the manager's log, with the host that it is of.
    let log = logged(&site.manager)?;
    let line = log.lines().find(|line| line.contains(LINE)).context("what the agent logs is nowhere")?;
    ensure!(line.contains("INFO") && line.contains(&format!("{:?}", name(0))), "{line}");

    tenant.begin_to_delete(claim).await?;
    wait::until_true("its agent to be a stranger", LIMIT, || async {
        let (status, _) = agent.ask_for_order().await?;
        Ok(if status == StatusCode::NOT_FOUND { Ok(()) } else { Err(status.to_string()) })
    })
    .await?;

    // What it left is wiped by another agent, which starts from the network as well.
    let called = |host: &PhysicalHost| errand_of(host).is_some();
    let host = until_host(&hosts(&site.client, HOSTS), &name(0), "on an errand", called).await?;
    let base = site.manager.boot_url().context("no boot server")?;
    let id = errand_of(&host).context("no errand")?;
    let another = agent_from_network(&Loader::new(&site.client, &base, &id).await?).await?;
    let order = another.until_told("clean").await?;
    ensure!(order["how"] == "metadata", "{order}");
    let wiped = json!({"state": "done", "cleaned": [{"disk": "/dev/vda", "method": "metadata"}]});
    ensure!(another.report(&order, &wiped).await? == StatusCode::NO_CONTENT);
    let free = |host: &PhysicalHost| state_of(host) == Some(HostState::Available);
    until_host(&hosts(&site.client, HOSTS), &name(0), "free", free).await?;
    ensure!(site.is_off_and_empty(0)?);
    tenant.until_gone(claim).await?;
    let made: Api<HostBootConfiguration> = Api::namespaced(site.client.clone(), HOSTS);
    ensure!(made.get_opt(&name(0)).await?.is_none(), "what it booted is left behind");
    site.close().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_of_a_cluster_has_its_disk_written_by_an_agent_from_virtual_media() -> Result<()> {
    let registry = Registry::start(&Tools::registry_ready().await?).await?;
    let config = registry.push_blob("node", "application/vnd.oci.empty.v1+json", b"{}").await?;
    let mut disk = registry.push_blob("node", "application/octet-stream", b"abc").await?;
    disk["annotations"] = json!({"org.opencontainers.image.title": "node.raw"});
    registry.push_manifest(("node", "1"), &config, &[disk]).await?;
    let image = format!("oci://{}/node:1", registry.address());
    let iso = format!("--agent-iso={}/agent.iso", images::serve().await?);
    // What is not heard soon is complained about, and what does not call counts soon.
    let flags = ["--bmc-poll-interval=1s", "--boot-timeout=15s", &iso];
    // Its disks are not wiped behind it: people may want that.
    let host = json!({"spec": {"cleaning": "None"}});
    let site = Site::open_serving(&flags, Ipv4Addr::new(127, 86, 0, 1), 1, |_| host.clone()).await?;
    site.bmc(0, |bmc| bmc.machine.clear_log())?;
    let spec = json!({"spec": {
        "provisioningMode": "DiskImage", "imageURL": image, "image": {"format": "raw"},
        "rootDeviceHints": {"minSizeGigabytes": 8},
    }});
    make_machine(&site.client, "one", &image, &json!({}), &spec).await?;
    until_booting(&site).await?;
    let agent = from_drive(&site).await?;
    let inserted = in_drives(&site)?;
    ensure!(inserted.len() == 1, "its configuration is in no drive: {}", inserted.len());
    until_said(&site, "AgentNotHeard", "console").await?;

    let order = agent.until_told("install").await?;
    ensure!(
        order["image"]["checksum"]["digest"] == Digest::sha256(b"abc").hex()
            && order["disk"]["minSizeGigabytes"] == 8,
        "{order}"
    );
    ensure!(agent.writes(&order, 12).await? == StatusCode::NO_CONTENT);
    until_said(&site, "Provisioning", "12 %").await?;

    // The power fails in the middle: it is begun anew, from the agent, and what it was told before is over.
    let times = site.bmcs.times_on(0)?;
    site.bmcs.press(0, ResetType::ForceOff)?;
    wait::until_true("the machine to be begun anew", LIMIT, || async {
        let on = site.bmcs.times_on(0)?;
        Ok(if on > times { Ok(()) } else { Err(format!("turned on {on} times")) })
    })
    .await?;
    let agent = from_drive(&site).await?;
    let found = wait::until("another order", LIMIT, || async {
        Ok(match agent.order().await {
            Ok(Some(again)) if again["id"] != order["id"] => Seen::Done(again),
            other => Seen::NotYet(format!("{other:?}")),
        })
    });
    let again = found.await?;
    ensure!(agent.writes(&order, 13).await? == StatusCode::GONE, "what it was told before is not wanted");
    ensure!(
        agent.report(&again, &json!({"state": "done", "goingDown": null})).await? == StatusCode::BAD_REQUEST
    );

    let path = again["configuration"]["path"].as_str().context("no path")?;
    let (status, volume) = agent.fetch(path, None).await?;
    ensure!(status.is_success() && volume.len() > 2048, "{status}");
    ensure!(agent.fetch("image", None).await?.1 == b"abc");
    ensure!(agent.installed(&again).await? == StatusCode::NO_CONTENT);
    agent.restarts().await?;
    // It does not call: that its image is on its disk has to do, and is said.
    until_said(&site, "ImageInstalled", "was not seen").await?;
    until_phase(&site.client, "one", "Provisioned").await?;
    let told = site.everything().await?;
    ensure!(!told.contains(agent.secret()?), "a capability is told to everybody");
    delete_machine(&site.client, "one").await?;
    until_gone(&site.client, "one").await?;
    registry.stop().await?;
    site.close().await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_can_not_be_installed_is_said_and_not_started() -> Result<()> {
    let files = Files::with_agent().await?;
    let mut host = host();
    host["spec"]["cleaning"] = json!("None");
    let site = Site::open_serving(&files.flags(), Ipv4Addr::new(127, 87, 0, 1), 1, |_| host.clone()).await?;
    let tenant = Tenant::make(&site.client, "disk-failures").await?;
    open_to(&site.client, HOSTS, &json!({"hostclaimNamespaces": {}})).await?;
    let url = files.put("img.raw", b"abc".to_vec());
    site.bmc(0, |bmc| bmc.machine.clear_log())?;

    // Another checksum: the machine is never turned on.
    let wrong = MD5_OF_ABC.replace('9', "8");
    let spec = json!({
        "hostSelector": {"inNamespace": HOSTS}, "online": true, "image": {"url": url, "checksum": wrong},
    });
    tenant.claim("mine", &spec).await?;
    until_said(&site, "BootConfigurationNotReady", MD5_OF_ABC).await?;
    tenant.until_told("mine", "Provisioned", "False", "HostError").await?;
    ensure!(site.done_to(0)?.is_empty(), "{:?}", site.done_to(0)?);
    tenant.patch("mine", &json!({"spec": {"image": {"checksum": MD5_OF_ABC}}})).await?;
    let machine = loader(&site, &until_booting(&site).await?).await?;

    // An agent that can't: its own words reach who asked for it, and it is not told the same again.
    let agent = agent_from_network(&machine).await?;
    let order = agent.until_told("install").await?;
    ensure!(order.get("configuration").is_none(), "there is none: {order}");
    let words = "no disk fits the hints: /dev/vda is smaller than the image";
    let failed = json!({"state": "failed", "step": "choosing a disk", "message": format!("{words} {}image", machine.url(Purpose::Agent, ""))});
    ensure!(agent.report(&order, &failed).await? == StatusCode::NO_CONTENT);
    until_said(&site, "InstallationFailed", words).await?;
    let told = tenant.until_told("mine", "Provisioned", "False", "HostError").await?;
    let found = wait::until("the agent's words on the claim", LIMIT, || async {
        let told = tenant.until_told("mine", "Provisioned", "False", "HostError").await?;
        Ok(if told.contains(words) { Seen::Done(told) } else { Seen::NotYet(told) })
    });
    ensure!(!found.await?.contains(agent.secret()?), "{told}");
    ensure!(!site.everything().await?.contains(agent.secret()?), "a capability is told to everybody");
    ensure!(agent.order().await?.is_none(), "the same would fail again");

    // Somebody put it right, and turns the machine off: it is begun anew.
    site.bmcs.press(0, ResetType::ForceOff)?;
    let again = agent.until_told("install").await?;
    ensure!(again["id"] != order["id"], "{again}");
    ensure!(agent.installed(&again).await? == StatusCode::NO_CONTENT);
    agent.restarts().await?;
    // Nobody waits for a call that nothing could make.
    until_said(&site, "ImageInstalled", "was not seen").await?;
    tenant.until_told("mine", "Provisioned", "True", "provisioned").await?;
    tenant.delete("mine").await?;

    // What can't be written at all takes no host.
    let spec =
        json!({"spec": {"provisioningMode": "DiskImage", "imageURL": "ftp://images.example.org/a.raw"}});
    make_machine(&site.client, "one", &site.image, &json!({}), &spec).await?;
    let why = until_waiting(&site.client, "one", "SpecNotUsable").await?;
    ensure!(why.contains("http://"), "{why}");
    delete_machine(&site.client, "one").await?;
    until_gone(&site.client, "one").await?;
    site.close().await
}

//! Booting from the network, with the API server and a simulated BMC: what the documents on PXE and DHCP and on server
//! provisioning promise, sentence by sentence. Real firmware boots in `e2e/tests/network_boot.rs`.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use beskar7_api::host_boot_configuration::BootConfigurationState;
use beskar7_api::host_claim::ClaimPhase;
use beskar7_api::physical_host::PowerState;
use beskar7_api::{DHCPReservation, HostBootConfiguration, HostClaim, HostState, PhysicalHost, annotations};
use beskar7_boot::capability::Purpose;
use beskar7_e2e::manager::{BOOT_SERVICE_ACCOUNT, Manager};
use beskar7_e2e::ranges::Ranges;
use beskar7_e2e::registry::Registry;
use beskar7_e2e::tools::Tools;
use beskar7_e2e::wait::{self, Seen};
use beskar7_e2e::workspace;
use beskar7_redfish_sim::machine::boot::{OverrideEnabled, Target};
use beskar7_redfish_sim::machine::log::Action;
use bytes::Bytes;
use k8s_openapi::api::events::v1::Event;
use kube::api::{DeleteParams, ListParams, PostParams};
use kube::{Api, ResourceExt as _};
use reqwest::StatusCode;
use serde_json::{Value, json};

use super::delivery::is_nowhere;
use super::dhcp::{IPXE, Machine, PORT, PXE, read_by_tftp, skipped};
use super::from_network::Loader;
use super::owners::{delete_machine, make_machine, until_gone, until_phase};
use super::setup::*;
use super::site::{FLAGS, Site, name};
use super::tenant::{Tenant, bind_pool_role, nothing_of_others, open_to, powered};

const MAC: &str = "00:1A:4B:16:01:FE";
const IGNITION: &str = "{\"ignition\": {\"version\": \"3.4.0\"}, \"passwd\": {\"users\": [{\"name\": \"core\", \"passwordHash\": \"ignition-word-4714\"}]}}";
/// In the Ignition.
const SECRET_WORD: &str = "ignition-word-4714";

fn host() -> Value {
    json!({"spec": {
        "bootMACAddress": MAC,
        "bootNetwork": {"ipAddress": "192.0.2.10", "prefix": 24, "gateway": "192.0.2.1"},
    }})
}

async fn until_configuration(
    site: &Site,
    what: &str,
    so: impl Fn(&HostBootConfiguration) -> bool,
) -> Result<HostBootConfiguration> {
    let all: Api<HostBootConfiguration> = Api::namespaced(site.client.clone(), HOSTS);
    let (all, so) = (&all, &so);
    let found = wait::until(format!("a boot configuration that is {what}"), LIMIT * 2, || async move {
        Ok(match all.get_opt(&name(0)).await? {
            Some(found) if so(&found) => Seen::Done(found),
            other => Seen::NotYet(format!("{:?}", other.map(|other| other.status))),
        })
    });
    Ok(found.await?)
}

fn is(state: BootConfigurationState) -> impl Fn(&HostBootConfiguration) -> bool {
    move |found| found.status.as_ref().is_some_and(|status| status.state == Some(state))
}

/// Whether a host says this of itself.
fn says(reason: &str, word: &str) -> impl Fn(&PhysicalHost) -> bool {
    move |host| {
        let conditions = host.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
        conditions.iter().any(|found| found.reason == reason && found.message.contains(word))
    }
}

/// Waits until the machine is on, and returns the host as it was then.
async fn until_booting(site: &Site) -> Result<PhysicalHost> {
    let all = hosts(&site.client, HOSTS);
    until_host(&all, &name(0), "turned on", |host| state_of(host) == Some(HostState::Provisioning)).await
}

async fn loader(site: &Site, host: &PhysicalHost) -> Result<Loader> {
    let base = site.manager.boot_url().context("no boot server")?;
    Loader::new(&site.client, &base, host.spec.claim_id.as_deref().context("no claim")?).await
}

/// What the machine shows for what it is given, for each purpose.
fn capabilities(machine: &Loader) -> Result<Vec<String>> {
    let all = Purpose::OF_HOSTS.into_iter().map(|purpose| {
        let url = machine.url(purpose, "");
        let capability = url.split("/c/").nth(1).map(|rest| rest.trim_end_matches('/').to_owned());
        capability.with_context(|| format!("no capability in {url}"))
    });
    all.collect()
}

/// What the machine was told to boot from since its log was cleared.
fn armed(site: &Site) -> Result<Vec<(Target, OverrideEnabled)>> {
    let told = site.done_to(0)?.into_iter().filter_map(|action| {
        let Action::SetOverride { to } = action else { return None };
        Some((to.target, to.enabled))
    });
    Ok(told.filter(|(target, _)| *target != Target::None).collect())
}

async fn until_removed(site: &Site) -> Result<()> {
    let configurations: Api<HostBootConfiguration> = Api::namespaced(site.client.clone(), HOSTS);
    let reservations: Api<DHCPReservation> = Api::namespaced(site.client.clone(), HOSTS);
    let (configurations, reservations) = (&configurations, &reservations);
    wait::until_true("what was made for the claim to be gone", LIMIT, || async move {
        let left = (configurations.get_opt(&name(0)).await?, reservations.get_opt(&name(0)).await?);
        Ok(match left {
            (None, None) => Ok(()),
            (configuration, reservation) => Err(format!("{configuration:?} {reservation:?}")),
        })
    })
    .await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn bootstrapping_a_host_with_pxe_and_dhcp_step_by_step() -> Result<()> {
    let site = Site::open_serving(&FLAGS, Ipv4Addr::new(127, 81, 0, 1), 1, |_| host()).await?;
    bind_pool_role(&site.plane, HOSTS).await?;
    let tenant = Tenant::make(&site.client, "documents-pxe").await?;
    open_to(&site.client, HOSTS, &json!({"hostclaimNamespaces": {}})).await?;
    tenant.keep("custom-ignition-config", "value", IGNITION).await?;
    let files = Ranges::start().await?;
    let kernel = files.put("127.0.0.1", "kernel", Arc::new(Bytes::from(vec![7; 300_000])));
    let initramfs = files.put("127.0.0.1", "initramfs", Arc::new(Bytes::from(vec![8; 200_000])));

    // 1. Claim processing: upon creation of a claim, a controller determines the required bootstrapping configurations.
    let spec = json!({
        "hostRef": {"name": name(0), "namespace": HOSTS}, "online": true,
        "kernel": kernel, "initramfs": initramfs, "ignitionRef": {"name": "custom-ignition-config"},
    });
    tenant.claim("mine", &spec).await?;
    let booting = until_booting(&site).await?;
    let claim_id = booting.spec.claim_id.clone().context("no claim")?;

    // 2. A DHCP resource is created, specifying the PXE boot parameters and the MAC address of the target host.
    let reservations: Api<DHCPReservation> = Api::namespaced(site.client.clone(), HOSTS);
    let reservation = reservations.get(&name(0)).await?;
    ensure!(reservation.spec.host_ref.name == name(0), "{:?}", reservation.spec);
    ensure!(reservation.spec.host_mac.eq_ignore_ascii_case(MAC), "{:?}", reservation.spec);
    ensure!(reservation.spec.ip_address.as_deref() == Some("192.0.2.10"), "{:?}", reservation.spec);
    let parameters = reservation.spec.pxe_boot_parameters.context("no parameters")?;
    ensure!(parameters.ends_with("/c/{{capability}}/boot.ipxe"), "{parameters}");

    // 3. A PXE is also created, detailing the boot parameters and a reference to the custom Ignition file.
    let ready = until_configuration(&site, "ready", is(BootConfigurationState::Ready)).await?;
    ensure!(ready.spec.kernel.as_deref() == Some(kernel.as_str()), "{:?}", ready.spec);
    ensure!(ready.spec.initramfs.as_deref() == Some(initramfs.as_str()), "{:?}", ready.spec);
    let copied = ready.spec.ignition_ref.as_ref().map(|reference| reference.name.as_str());
    ensure!(copied == Some("h-0-userdata"), "{copied:?}");
    let told = "ignition.config.url={{configURL}}/ignition".to_owned();
    ensure!(ready.spec.kernel_args.contains(&told), "{:?}", ready.spec.kernel_args);
    let status = ready.status.context("no status")?;
    let served: Vec<&str> = status.artifacts.iter().map(|artifact| artifact.name.as_str()).collect();
    ensure!(served == ["kernel", "initramfs"], "{served:?}");

    // One of each, wherever one looks.
    let made = Api::<HostBootConfiguration>::all(site.client.clone()).list(&ListParams::default()).await?;
    let made: Vec<String> = made.iter().map(|one| one.name_any()).collect();
    ensure!(made == [name(0)], "{made:?}");
    let made = Api::<DHCPReservation>::all(site.client.clone()).list(&ListParams::default()).await?;
    let made: Vec<String> = made.iter().map(|one| one.name_any()).collect();
    ensure!(made == [name(0)], "{made:?}");

    // 4. Resource linking: the claim is updated to reference both.
    tenant
        .until("mine", "linked", |claim| {
            let status = claim.status.clone().unwrap_or_default();
            [status.boot_configuration_ref, status.dhcp_reservation_ref].iter().all(|reference| {
                reference
                    .as_ref()
                    .is_some_and(|found| found.name == name(0) && found.namespace.as_deref() == Some(HOSTS))
            })
        })
        .await?;

    // The machine boots from the network, once, and reads what it needs by its own capability.
    ensure!(armed(&site)? == [(Target::Pxe, OverrideEnabled::Once)], "{:?}", armed(&site)?);
    let machine = loader(&site, &booting).await?;
    let script = machine.script().await?;
    let (line, fetched) = machine.fetch_all(&script).await?;
    ensure!(fetched.iter().map(Vec::len).collect::<Vec<_>>() == [300_000, 200_000]);
    let url = line.split(' ').find_map(|word| word.strip_prefix("ignition.config.url="));
    let (status, ignition) = machine.get(url.with_context(|| line.clone())?).await?;
    ensure!(status.is_success() && ignition == IGNITION.as_bytes(), "{status}");
    // It was read: whatever happens now, it does not boot from the network again.
    machine.until_script("sanboot").await?;
    machine.call_home().await?;
    tenant.until_told("mine", "Provisioned", "True", "provisioned").await?;
    site.bmc(0, |bmc| bmc.machine.clear_log())?;
    tenant
        .patch("mine", &json!({"metadata": {"annotations": {annotations::REBOOT: "{\"mode\":\"hard\"}"}}}))
        .await?;
    let restarted = |host: &PhysicalHost| {
        let all = host.metadata.annotations.clone().unwrap_or_default();
        all.contains_key(annotations::RESTARTED) && powered(host) == Some(PowerState::On)
    };
    until_host(&hosts(&site.client, HOSTS), &name(0), "restarted", restarted).await?;
    let script = machine.script().await?;
    ensure!(script.contains("sanboot") && !script.contains("kernel"), "{script}");
    ensure!(armed(&site)?.is_empty(), "{:?}", armed(&site)?);

    // People can read what happened, and nobody a capability.
    let events: Api<Event> = Api::namespaced(site.client.clone(), HOSTS);
    let told = serde_json::to_string(&events.list(&ListParams::default()).await?.items)?;
    for reason in ["FetchedScript", "FetchedArtifact", "ReadConfiguration", "CalledHome"] {
        ensure!(told.contains(reason), "no {reason}");
    }
    let capabilities = capabilities(&machine)?;
    let mut secrets: Vec<&str> = capabilities.iter().map(String::as_str).collect();
    nothing_of_others(&tenant, &secrets).await?;
    secrets.push(SECRET_WORD);
    is_nowhere(&site, &[&site.manager], &secrets).await?;

    // With the claim it all goes, and what only it could read is closed.
    tenant.delete("mine").await?;
    until_removed(&site).await?;
    let closed = wait::until("its script to be closed", LIMIT, || async {
        let (status, _) = machine.get(&machine.url(Purpose::Media, "boot.ipxe")).await?;
        Ok(if status == StatusCode::NOT_FOUND { Seen::Done(()) } else { Seen::NotYet(status.to_string()) })
    });
    closed.await?;
    ensure!(site.host(0).await?.spec.claim_id.as_deref() != Some(claim_id.as_str()));
    site.close().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_is_powered_only_once_its_boot_configuration_is_ready() -> Result<()> {
    let site = Site::open_serving(&FLAGS, Ipv4Addr::new(127, 81, 1, 1), 1, |_| host()).await?;
    bind_pool_role(&site.plane, HOSTS).await?;
    let tenant = Tenant::make(&site.client, "documents-server").await?;
    open_to(&site.client, HOSTS, &json!({"hostclaimNamespaces": {}})).await?;
    tenant.keep("my-ignition-secret", "value", IGNITION).await?;
    let registry = Registry::start(&Tools::registry_ready().await?).await?;
    let image = format!("{}/my-osimage:latest", registry.address());
    site.bmc(0, |bmc| bmc.machine.clear_log())?;

    // The claim reserves the server: it goes from Available to Claimed, and the claim is Bound.
    let before = site.host(0).await?;
    ensure!(state_of(&before) == Some(HostState::Available), "{:?}", before.status);
    let spec = json!({
        "hostRef": {"name": name(0), "namespace": HOSTS}, "online": true,
        "image": {"url": image, "format": "oci"}, "ignitionRef": {"name": "my-ignition-secret"},
    });
    tenant.claim("my-server-claim", &spec).await?;
    tenant.until_told("my-server-claim", "Association", "True", "HostAssociated").await?;
    // A boot configuration is created, with the operating system image and the Ignition configuration of the claim.
    let made = until_configuration(&site, "in error", is(BootConfigurationState::Error)).await?;
    ensure!(made.spec.image.as_deref() == Some(image.as_str()), "{:?}", made.spec);
    ensure!(made.spec.ignition_ref.is_some(), "{:?}", made.spec);
    // There is no such image: the power stays off, and host and claim say why.
    let not_ready = says("BootConfigurationNotReady", "my-osimage");
    until_host(&hosts(&site.client, HOSTS), &name(0), "not booted", not_ready).await?;
    tenant.until_told("my-server-claim", "Provisioned", "False", "HostError").await?;
    let is_bound = |claim: &HostClaim| {
        claim.status.as_ref().is_some_and(|status| status.phase == Some(ClaimPhase::Bound))
    };
    tenant.until("my-server-claim", "Bound", is_bound).await?;
    let reserved = site.host(0).await?;
    ensure!(state_of(&reserved) == Some(HostState::Claimed), "{:?}", reserved.status);
    ensure!(reserved.spec.consumer_ref.is_some(), "{:?}", reserved.spec);
    ensure!(site.done_to(0)?.is_empty(), "{:?}", site.done_to(0)?);
    ensure!(powered(&reserved) == Some(PowerState::Off));

    // The image is there, so the configuration becomes Ready, and the power is as the claim says.
    let layer = |kind: &str| format!("application/vnd.ironcore.image.{kind}");
    let kernel = registry.push_blob("my-osimage", &layer("kernel"), &[7; 50_000]).await?;
    let initramfs = registry.push_blob("my-osimage", &layer("initramfs"), &[8; 30_000]).await?;
    let root = registry.push_blob("my-osimage", &layer("squashfs"), &[9; 20_000]).await?;
    let config = registry.push_blob("my-osimage", "application/vnd.oci.empty.v1+json", b"{}").await?;
    let good = [kernel, initramfs, root];
    registry.push_manifest(("my-osimage", "latest"), &config, &good).await?;
    let ready = until_configuration(&site, "ready", is(BootConfigurationState::Ready)).await?;
    let status = ready.status.context("no status")?;
    ensure!(status.image_digest.as_deref().is_some_and(|digest| digest.starts_with("sha256:")), "{status:?}");
    let digests = status.artifacts.iter().all(|artifact| artifact.digest.is_some());
    ensure!(status.artifacts.len() == 3 && digests, "{:?}", status.artifacts);
    let booting = until_booting(&site).await?;
    // The server boots by what is served, starts the system and applies its Ignition.
    let machine = loader(&site, &booting).await?;
    // The tag moves on: this machine still gets what it was made ready for.
    let newer = registry.push_blob("my-osimage", &layer("kernel"), &[1; 10]).await?;
    registry.push_manifest(("my-osimage", "latest"), &config, &[newer]).await?;
    let (line, fetched) = machine.fetch_all(&machine.script().await?).await?;
    ensure!(fetched == [vec![7; 50_000], vec![8; 30_000]], "another image");
    let url = line.split(' ').find_map(|word| word.strip_prefix("ignition.config.url="));
    let (_, ignition) = machine.get(url.with_context(|| line.clone())?).await?;
    ensure!(ignition == IGNITION.as_bytes());
    let (status, root) = machine.get(&machine.url(Purpose::Media, "root")).await?;
    ensure!(status.is_success() && root == vec![9; 20_000], "{status}");
    // Another's claim opens nothing here, nor does a guess, of all that is open to this one: the same answer.
    let open = [
        (Purpose::Media, "boot.ipxe"),
        (Purpose::Media, "kernel"),
        (Purpose::Media, "root"),
        (Purpose::Configuration, "user-data"),
        (Purpose::Configuration, "ignition"),
    ];
    for (purpose, name) in open {
        let (status, _) = machine.get(&machine.url(purpose, name)).await?;
        ensure!(status.is_success(), "{name}: {status}");
    }
    for claim in ["another", ""] {
        let stranger = Loader::new(&site.client, &site.manager.boot_url().context("none")?, claim).await?;
        for (purpose, name) in open {
            let (status, body) = stranger.get(&stranger.url(purpose, name)).await?;
            ensure!(status == StatusCode::NOT_FOUND && body == b"not found\n", "{name}: {status}");
        }
    }
    machine.call_home().await?;
    tenant.until_told("my-server-claim", "Provisioned", "True", "provisioned").await?;
    tenant.delete("my-server-claim").await?;
    until_removed(&site).await?;
    until_host(&hosts(&site.client, HOSTS), &name(0), "free", |host| {
        state_of(host) == Some(HostState::Available)
    })
    .await?;

    // A claim that wants the power off holds its server, and nothing is done to that; the power comes when it says so, and
    // again only once the boot configuration is ready.
    registry.push_manifest(("my-osimage", "latest"), &config, &good).await?;
    site.bmc(0, |bmc| bmc.machine.clear_log())?;
    let mut off = spec.clone();
    off["online"] = json!(false);
    tenant.claim("power-off", &off).await?;
    tenant.until("power-off", "Bound", is_bound).await?;
    let says_off = |host: &PhysicalHost| {
        state_of(host) == Some(HostState::Claimed) && says("WaitingForBootInfo", "wants it off")(host)
    };
    until_host(&hosts(&site.client, HOSTS), &name(0), "held, and off", says_off).await?;
    ensure!(site.done_to(0)?.is_empty(), "{:?}", site.done_to(0)?);
    tenant.patch("power-off", &json!({"spec": {"online": true}})).await?;
    let booting = until_booting(&site).await?;
    until_configuration(&site, "ready", is(BootConfigurationState::Ready)).await?;
    ensure!(armed(&site)? == [(Target::Pxe, OverrideEnabled::Once)], "{:?}", armed(&site)?);
    let machine = loader(&site, &booting).await?;
    let (_, fetched) = machine.fetch_all(&machine.script().await?).await?;
    ensure!(fetched == [vec![7; 50_000], vec![8; 30_000]], "another image");
    tenant.delete("power-off").await?;
    until_removed(&site).await?;
    registry.stop().await?;
    site.close().await
}

#[tokio::test(flavor = "multi_thread")]
async fn dhcp_gives_a_host_its_boot_instructions_by_its_mac_address_and_others_none() -> Result<()> {
    let _alone = PORT.lock().await;
    let Some(machine) = Machine::plugged_in(MAC, Ipv4Addr::new(127, 81, 4, 200)).await? else {
        return skipped("dhcp_gives_a_host_its_boot_instructions…");
    };
    let stranger = Machine::plugged_in("00:1A:4B:16:01:FF", Ipv4Addr::new(127, 81, 4, 201)).await?;
    let stranger = stranger.context("no rights")?;
    let loaders = tempfile::tempdir()?;
    std::fs::write(loaders.path().join("snponly.efi"), [1; 4096])?;
    let loaders = format!("--ipxe-dir={}", loaders.path().display());
    let files_at = SocketAddrV4::new(Ipv4Addr::new(127, 81, 4, 1), 16_069);
    let tftp = format!("--tftp-bind-address={files_at}");
    let more = ["--dhcp=proxy", "--dhcp-interfaces=lo", &tftp, &loaders];
    let flags: Vec<&str> = FLAGS.into_iter().chain(more).collect();
    let site = Site::open_serving(&flags, Ipv4Addr::new(127, 81, 4, 1), 1, |_| host()).await?;
    ensure!(machine.ask(&PXE).await?.is_none(), "nobody has claimed it");

    bind_pool_role(&site.plane, HOSTS).await?;
    let tenant = Tenant::make(&site.client, "documents-dhcp").await?;
    open_to(&site.client, HOSTS, &json!({"hostclaimNamespaces": {}})).await?;
    let files = Ranges::start().await?;
    let kernel = files.put("127.0.0.1", "kernel", Arc::new(Bytes::from(vec![7; 70_000])));
    let spec = json!({
        "hostRef": {"name": name(0), "namespace": HOSTS}, "online": true, "kernel": kernel, "osFamily": "other",
    });
    tenant.claim("mine", &spec).await?;
    let booting = until_booting(&site).await?;

    // Firmware is told to load iPXE, and that the script of this claim; another address, nothing.
    ensure!(machine.until_answered(&PXE).await? == "snponly.efi");
    let script = machine.until_answered(&IPXE).await?;
    let its = loader(&site, &booting).await?;
    let of_claim = its.url(Purpose::Media, "boot.ipxe");
    ensure!(script == of_claim && script.ends_with("/boot.ipxe"), "{script}");
    ensure!(read_by_tftp(files_at, "snponly.efi").await? == [1; 4096], "another loader");
    for options in [&PXE[..], &IPXE[..]] {
        ensure!(stranger.ask(options).await?.is_none(), "it was told what another is to boot");
    }
    let capabilities = capabilities(&its)?;
    let secrets: Vec<&str> = capabilities.iter().map(String::as_str).collect();
    is_nowhere(&site, &[&site.manager], &secrets).await?;
    tenant.delete("mine").await?;
    until_removed(&site).await?;
    site.close().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_of_a_cluster_boots_from_the_network_in_every_mode() -> Result<()> {
    let site = Site::open_serving(&FLAGS, Ipv4Addr::new(127, 81, 2, 1), 1, |_| host()).await?;
    let files = Ranges::start().await?;
    let kernel = files.put("127.0.0.1", "kernel", Arc::new(Bytes::from(vec![7; 70_000])));
    // Somebody else's reservation has the same address, and comes first: it would be answered.
    let reservations: Api<DHCPReservation> = Api::namespaced(site.client.clone(), HOSTS);
    let theirs = json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "DHCPReservation",
        "metadata": {"name": "another"}, "spec": {"hostRef": {"name": "nobody"}, "hostMAC": MAC.to_ascii_lowercase()},
    });
    reservations.create(&PostParams::default(), &serde_json::from_value(theirs)?).await?;
    wait::until_true("the other reservation to be known", LIMIT, || async {
        let known = reservations.get("another").await?.status.is_some();
        Ok(if known { Ok(()) } else { Err("it is not".to_owned()) })
    })
    .await?;
    for (mode, target) in [("iPXE", Target::Pxe), ("PXE", Target::Pxe), ("HTTPBoot", Target::UefiHttp)] {
        let name = mode.to_ascii_lowercase();
        site.bmc(0, |bmc| bmc.machine.clear_log())?;
        let spec = json!({"spec": {
            "provisioningMode": mode, "imageURL": null, "kernel": kernel, "osFamily": "other",
            "kernelArgs": ["b7.config={{configURL}}/user-data"],
        }});
        make_machine(&site.client, &name, &site.image, &json!({}), &spec).await?;
        if reservations.get_opt("another").await?.is_some() {
            until_host(
                &hosts(&site.client, HOSTS),
                &super::site::name(0),
                "refused",
                says("BootMACInUse", "metal/another"),
            )
            .await?;
            ensure!(site.done_to(0)?.is_empty(), "{:?}", site.done_to(0)?);
            reservations.delete("another", &DeleteParams::default()).await?;
        }
        let booting = until_booting(&site).await?;
        ensure!(armed(&site)? == [(target, OverrideEnabled::Once)], "{mode}: {:?}", armed(&site)?);
        let machine = loader(&site, &booting).await?;
        let (line, _) = machine.fetch_all(&machine.script().await?).await?;
        let url = line.strip_prefix("b7.config=").with_context(|| line.clone())?;
        ensure!(machine.get(url).await?.0.is_success());
        machine.call_home().await?;
        until_phase(&site.client, &name, "Provisioned").await?;
        delete_machine(&site.client, &name).await?;
        until_gone(&site.client, &name).await?;
        until_removed(&site).await?;
        until_host(&hosts(&site.client, HOSTS), &super::site::name(0), "free", |host| {
            state_of(host) == Some(HostState::Available)
        })
        .await?;
    }
    site.close().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_boot_server_by_itself_serves_while_the_api_server_is_away_but_no_secret() -> Result<()> {
    let mut site = Site::open_serving(&FLAGS, Ipv4Addr::new(127, 81, 3, 1), 1, |_| host()).await?;
    // As its DaemonSet has it: its own rights, and no controllers.
    let manifests = workspace::root().join("config/boot");
    site.plane.kubectl(&["apply", "-k", &manifests.to_string_lossy()]).await?.success()?;
    let mut options = alone("boot-only", &["--boot-only"]);
    (options.boot_server, options.service_account) = (true, BOOT_SERVICE_ACCOUNT);
    let boot_only = Manager::start(&site.plane, &options).await?;
    let files = Ranges::start().await?;
    let kernel = files.put("127.0.0.1", "kernel", Arc::new(Bytes::from(vec![7; 70_000])));
    let spec = json!({"spec": {
        "provisioningMode": "iPXE", "imageURL": null, "kernel": kernel, "osFamily": "other",
        "kernelArgs": ["b7.config={{configURL}}/user-data"],
    }});
    make_machine(&site.client, "one", &site.image, &json!({}), &spec).await?;
    let booting = until_booting(&site).await?;
    let claim = booting.spec.claim_id.clone().context("no claim")?;
    let by_itself = boot_only.boot_url().context("no boot server")?;
    let machine = Loader::new(&site.client, &by_itself, &claim).await?;
    let script = machine.until_script("kernel --name").await?;
    let configuration = machine.url(Purpose::Configuration, "user-data");
    ensure!(script.contains(configuration.trim_end_matches("/user-data")), "it names where it is itself");

    site.plane.stop_api_server().await?;
    ensure!(machine.script().await? == script, "the script is there");
    let (_, fetched) = machine.fetch_all(&script).await?;
    ensure!(fetched == [vec![7; 70_000]]);
    let (status, body) = machine.get(&configuration).await?;
    ensure!(status == StatusCode::SERVICE_UNAVAILABLE && body == b"not now\n", "{status}");
    ensure!(boot_only.process().ended().is_none(), "it goes on");

    site.plane.start_api_server().await?;
    // Who led has lost the Lease, and ended; as a Deployment would, another one is started.
    let mut options = replica("manager-again");
    options.boot_server = true;
    options.flags.extend(FLAGS.map(str::to_owned));
    site.manager = Manager::start(&site.plane, &options).await?;
    let read = wait::until("its configuration", LIMIT, || async {
        let (status, _) = machine.get(&configuration).await?;
        Ok(if status.is_success() { Seen::Done(()) } else { Seen::NotYet(status.to_string()) })
    });
    read.await?;
    machine.call_home().await?;
    until_phase(&site.client, "one", "Provisioned").await?;
    machine.until_script("sanboot").await?;
    let metrics = boot_only.metrics().await?;
    ensure!(metrics.contains("beskar7_boot_answers_total{answer=\"script\"}"), "{metrics}");
    let capabilities = capabilities(&machine)?;
    let secrets: Vec<&str> = capabilities.iter().map(String::as_str).collect();
    is_nowhere(&site, &[&site.manager, &boot_only], &secrets).await?;
    boot_only.stop().await?;
    site.close().await
}

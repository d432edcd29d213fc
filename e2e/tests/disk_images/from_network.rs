//! A tenant's images, by an agent that firmware and iPXE fetch.

use std::net::Ipv4Addr;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use beskar7_api::{HostClaim, HostState, PhysicalHost};
use beskar7_e2e::installation;
use beskar7_e2e::lab::{Lab, alone};
use beskar7_e2e::manager::{self, NAMESPACE, SERVICE_ACCOUNT};
use beskar7_e2e::objects::{make_namespace, make_secret};
use beskar7_e2e::wait::{self, Seen};
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};

use super::disks::CHOSEN;
use super::site::{Files, HOSTS, LIMIT, Site};
use super::system::{self, sha256};
use super::tools::Tools;

/// Ours, on the segment that the machine is connected to.
const ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
const GIVEN: &str = "10.77.0.50";
const TENANT: &str = "cluster-ns";
const USER_DATA: &str = "#cloud-config\nhostname: mine\n";
const META_DATA: &str = "rack: blue\n";
const GROUP: &str = "infrastructure.cluster.x-k8s.io/v1beta1";

async fn open(lab: &Lab, tools: &Tools) -> Result<Site> {
    let segment = lab.segment("near", Some(ADDRESS)).await?;
    let line = lab.line(&segment).await?;
    let files = Files::start().await?;
    let loaders = lab.installed().snponly.parent().context("iPXE is nowhere")?.display().to_string();
    let flags = vec![
        format!("--agent-kernel={}", files.put("agent-kernel", tools.ramdisk.kernel()?)),
        format!("--agent-initramfs={}", files.put("agent-initramfs", tools.ramdisk.initramfs()?)),
        // An emulated timer on a busy machine does not pass the kernel's check.
        "--agent-kernel-args=console=ttyS0 no_timer_check panic=60".to_owned(),
        "--dhcp=reservations".to_owned(),
        format!("--dhcp-interfaces={}", segment.name()),
        format!("--ipxe-dir={loaders}"),
        format!("--tftp-bind-address={ADDRESS}:69"),
    ];
    let options = manager::Options {
        boot_host: ADDRESS.to_string(),
        boot_bind: ADDRESS,
        flags,
        ..manager::Options::default()
    };
    let host = json!({"metadata": {"labels": {"infra-kind": "medium"}}, "spec": {
        "bootNetwork": {"ipAddress": GIVEN, "prefix": 24}, "rootDeviceHints": {"serialNumber": CHOSEN},
        "cleaning": "Full",
    }});
    Site::open(tools, line, &host, files, options).await
}

#[test]
#[ignore = "long: make agent-vms"]
fn a_claim_has_its_image_on_the_disk_that_is_meant_until_all_disks_are_wiped() -> Result<()> {
    let test = "a_claim_has_its_image_on_the_disk_that_is_meant_until_all_disks_are_wiped";
    alone(module_path!(), test, async |lab| {
        let Some(tools) = Tools::find(test).await? else { return Ok(()) };
        let mut site = open(&lab, &tools).await?;
        let account = format!("--serviceaccount={NAMESPACE}:{SERVICE_ACCOUNT}");
        let role =
            ["-n", HOSTS, "create", "rolebinding", "pool", "--clusterrole=beskar7-pool-role", &account];
        site.plane.kubectl(&role).await?.success()?;
        make_namespace(&site.client, TENANT).await?;
        make_secret(&site.client, TENANT, "my-userdata", &json!({"userData": USER_DATA})).await?;
        // A policy is created in the namespace of the hosts, without constraint on the namespace of claims.
        let policy = json!({"apiVersion": GROUP, "kind": "HostDeployPolicy",
            "metadata": {"name": "policy", "namespace": HOSTS}, "spec": {"hostclaimNamespaces": {}}});
        installation::apply(&site.plane, &policy.to_string()).await?;
        let image = system::image(&tools).await?;

        has_a_raw_image_at_once(&site, &image).await?;
        site.begin_anew(&tools).await?;
        multi_tenancy_with_hostclaim_step_by_step(&site, &tools, &image).await?;
        site.close().await
    })
}

async fn has_a_raw_image_at_once(site: &Site, image: &Path) -> Result<()> {
    let content = std::fs::read(image)?;
    let checksum = sha256(&content);
    let url = site.files.put("system.raw", content);
    let spec = json!({"online": true, "image": {"url": url, "format": "raw", "checksum": checksum},
        "userData": {"name": "my-userdata"}});
    make_claim(site, "mine", &spec).await?;
    is_home(site, image).await?;

    claims(site).delete("mine", &DeleteParams::default()).await?;
    site.until(HostState::Deprovisioning).await?;
    site.until_free().await?;
    ensure!(site.disks.are_zero()?, "something is left on the disks");
    Ok(())
}

/// The document on multi-tenancy, sentence by sentence, with a machine and not a played one.
async fn multi_tenancy_with_hostclaim_step_by_step(site: &Site, tools: &Tools, image: &Path) -> Result<()> {
    let (claim, host) = ("my-hostclaim", site.host()?);
    let packed = system::qcow2(tools, image).await?;
    let checksum = site.files.put("img.md5", system::md5_file(tools, "img.qcow2", &packed).await?);
    let url = site.files.put("img.qcow2", packed);

    // A claim with an image, its checksum file and a configuration that is stored in a Secret; the hostSelector specifies
    // the constraints on the labels of the host.
    let spec = json!({
        "hostSelector": {"matchLabels": {"infra-kind": "medium"}},
        "image": {"checksum": checksum, "format": "qcow2", "url": url},
        "online": false, "userData": {"name": "my-userdata", "namespace": TENANT},
    });
    make_claim(site, claim, &spec).await?;
    // Once the association is done, the status has this information.
    let associated = [
        ("Ready", "False", "IssuesReported"),
        ("Association", "True", "HostAssociated"),
        ("Provisioned", "False", "available"),
        ("Synchronization", "True", "ConfigurationSynced"),
    ];
    let told = until_told(site, claim, &associated).await?.status.unwrap_or_default();
    let named = told.hardware_data.context("no hardwareData")?;
    ensure!((named.name.as_str(), named.namespace.as_deref()) == (host, Some(HOSTS)), "{named:?}");
    // The Secret is copied beside the host, under the host's name.
    until_copied(site, &format!("{host}-userdata"), "userData", USER_DATA).await?;
    // Metadata for the associated server is made later, and is copied as well.
    let from = format!("--from-literal=metaData={META_DATA}");
    let create = ["create", "secret", "generic", "-n", TENANT, "my-metadata", &from];
    site.plane.kubectl(&create).await?.success()?;
    let added = json!({"spec": {"metaData": {"name": "my-metadata", "namespace": TENANT}}});
    patch(site, claim, &added).await?;
    until_copied(site, &format!("{host}-metadata"), "metaData", META_DATA).await?;
    let done = site.done()?;
    ensure!(done.is_empty() && !site.vm.is_on().await, "nothing is wanted of the machine yet: {done:?}");

    // The provisioning process is launched when online is set to true.
    patch(site, claim, &json!({"spec": {"online": true}})).await?;
    is_home(site, image).await?;
    ensure!(site.disks.chosen_has("rack: \"blue\"")?, "its metadata is not on the disk");
    // Once the server is provisioned, the status has this information.
    let provisioned = [
        ("Ready", "True", "InfoReported"),
        ("Association", "True", "HostAssociated"),
        ("Provisioned", "True", "provisioned"),
        ("Synchronization", "True", "ConfigurationSynced"),
    ];
    until_told(site, claim, &provisioned).await?;
    let uid = hosts(site).get(host).await?.metadata.uid;
    until(site, claim, "powered on", |claim| {
        let status = claim.status.clone().unwrap_or_default();
        status.powered_on == Some(true) && status.host_uid == uid
    })
    .await?;

    // The image is removed: the host is deprovisioned, and the claim is still associated with it.
    let before = hosts(site).get(host).await?.spec.consumer_ref;
    patch(site, claim, &json!({"spec": {"image": null}})).await?;
    let deprovisioned = [("Association", "True", "HostAssociated"), ("Provisioned", "False", "available")];
    until_told(site, claim, &deprovisioned).await?;
    let kept = site.until(HostState::Claimed).await?;
    ensure!(kept.spec.consumer_ref == before && kept.spec.boot.is_none(), "{:?}", kept.spec);
    ensure!(!site.vm.is_on().await, "what ran is off");

    // The claim is deleted: the association is broken, and after deprovisioning the host is available for another one. That
    // nothing ran since the image was removed does not make the disks clean.
    ensure!(!site.disks.are_zero()?, "nobody else gets them yet");
    claims(site).delete(claim, &DeleteParams::default()).await?;
    site.until_free().await?;
    ensure!(site.disks.are_zero()?, "something is left on the disks");
    for part in ["userdata", "metadata"] {
        until_removed(site, &format!("{host}-{part}")).await?;
    }
    Ok(())
}

/// What was written to the disk that is meant has called home, with the tenant's configuration and the host's address.
async fn is_home(site: &Site, image: &Path) -> Result<()> {
    site.until_home().await?;
    system::calls_home(&site.vm, USER_DATA).await?;
    site.disks.have_been_written_as_meant(image)?;
    let console = site.vm.console().await;
    ensure!(console.said("address")? == Some(format!("{GIVEN}/24")), "{:?}", console.lines()?);
    Ok(())
}

fn claims(site: &Site) -> Api<HostClaim> {
    Api::namespaced(site.client.clone(), TENANT)
}

fn hosts(site: &Site) -> Api<PhysicalHost> {
    Api::namespaced(site.client.clone(), HOSTS)
}

fn beside_hosts(site: &Site) -> Api<Secret> {
    Api::namespaced(site.client.clone(), HOSTS)
}

async fn make_claim(site: &Site, name: &str, spec: &Value) -> Result<()> {
    let claim = json!({"apiVersion": GROUP, "kind": "HostClaim",
        "metadata": {"name": name, "namespace": TENANT}, "spec": spec});
    installation::apply(&site.plane, &claim.to_string()).await.map(drop)
}

async fn patch(site: &Site, name: &str, patch: &Value) -> Result<()> {
    claims(site).patch(name, &PatchParams::default(), &Patch::Merge(patch)).await?;
    Ok(())
}

async fn until(site: &Site, name: &str, what: &str, so: impl Fn(&HostClaim) -> bool) -> Result<HostClaim> {
    let (claims, so) = (&claims(site), &so);
    let found = wait::until(format!("{name} to be {what}"), LIMIT, || async move {
        let claim = claims.get(name).await?;
        Ok(if so(&claim) { Seen::Done(claim) } else { Seen::NotYet(format!("{:?}", claim.status)) })
    });
    Ok(found.await?)
}

/// Waits until a claim has all of these conditions: type, status, and reason.
async fn until_told(site: &Site, name: &str, expected: &[(&str, &str, &str)]) -> Result<HostClaim> {
    let is_told = |claim: &HostClaim| {
        let told = claim.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
        let is = |wanted: &(&str, &str, &str)| {
            told.iter()
                .any(|told| (told.type_.as_str(), told.status.as_str(), told.reason.as_str()) == *wanted)
        };
        expected.iter().all(is)
    };
    until(site, name, &format!("told {expected:?}"), is_told).await
}

/// Waits until a Secret beside the hosts says this under this key.
async fn until_copied(site: &Site, name: &str, key: &str, expected: &str) -> Result<()> {
    let secrets = &beside_hosts(site);
    wait::until_true(format!("{name} to be copied"), LIMIT, || async move {
        let data = secrets.get_opt(name).await?.and_then(|copy| copy.data).unwrap_or_default();
        let is_copied = data.get(key).is_some_and(|text| text.0 == expected.as_bytes());
        Ok(if is_copied { Ok(()) } else { Err(format!("it has {:?}", data.keys())) })
    })
    .await?;
    Ok(())
}

async fn until_removed(site: &Site, name: &str) -> Result<()> {
    let secrets = &beside_hosts(site);
    wait::until_true(format!("{name} to be removed"), LIMIT, || async move {
        let is_gone = secrets.get_opt(name).await?.is_none();
        Ok(if is_gone { Ok(()) } else { Err("it is there".to_owned()) })
    })
    .await?;
    Ok(())
}

//! A tenant's image, by an agent that firmware and iPXE fetch.

use std::net::Ipv4Addr;

use anyhow::{Context as _, Result, ensure};
use beskar7_api::{HostClaim, HostState};
use beskar7_e2e::installation;
use beskar7_e2e::lab::{Lab, alone};
use beskar7_e2e::manager::{self, NAMESPACE, SERVICE_ACCOUNT};
use beskar7_e2e::objects::{make_namespace, make_secret};
use kube::Api;
use kube::api::DeleteParams;
use serde_json::json;

use super::disks::CHOSEN;
use super::site::{Files, HOSTS, Site};
use super::system::{self, sha256};
use super::tools::Tools;

/// Ours, on the segment that the machine is connected to.
const ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
const GIVEN: &str = "10.77.0.50";
const TENANT: &str = "tenant";
const USER_DATA: &str = "#cloud-config\nhostname: mine\n";

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
    let host = json!({"spec": {
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
        let site = open(&lab, &tools).await?;
        let account = format!("--serviceaccount={NAMESPACE}:{SERVICE_ACCOUNT}");
        let role =
            ["-n", HOSTS, "create", "rolebinding", "pool", "--clusterrole=beskar7-pool-role", &account];
        site.plane.kubectl(&role).await?.success()?;
        make_namespace(&site.client, TENANT).await?;
        make_secret(&site.client, TENANT, "user-data", &json!({"userData": USER_DATA})).await?;
        let image = system::image(&tools).await?;
        let content = std::fs::read(&image)?;
        let checksum = sha256(&content);
        let url = site.files.put("system.raw", content);
        let group = "infrastructure.cluster.x-k8s.io/v1beta1";
        let policy = json!({"apiVersion": group, "kind": "HostDeployPolicy",
            "metadata": {"name": "all", "namespace": HOSTS}, "spec": {"hostclaimNamespaces": {}}});
        let claim = json!({"apiVersion": group, "kind": "HostClaim",
            "metadata": {"name": "mine", "namespace": TENANT},
            "spec": {"online": true, "image": {"url": url, "format": "raw", "checksum": checksum},
                "userData": {"name": "user-data"}}});
        for object in [policy, claim] {
            installation::apply(&site.plane, &object.to_string()).await?;
        }

        site.until_home().await?;
        system::calls_home(&site.vm, USER_DATA).await?;
        site.disks.have_been_written_as_meant(&image)?;
        let claims: Api<HostClaim> = Api::namespaced(site.client.clone(), TENANT);
        let console = site.vm.console().await;
        ensure!(console.said("address")? == Some(format!("{GIVEN}/24")), "{:?}", console.lines()?);

        claims.delete("mine", &DeleteParams::default()).await?;
        site.until(HostState::Deprovisioning).await?;
        site.until_free().await?;
        ensure!(site.disks.are_zero()?, "something is left on the disks");
        site.close().await
    })
}

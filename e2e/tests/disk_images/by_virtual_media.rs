//! The image of a machine of a cluster, by an agent from a virtual drive.

use anyhow::{Result, ensure};
use beskar7_api::{Beskar7Machine, HostState};
use beskar7_e2e::manager;
use beskar7_e2e::objects::{make_cluster, make_machine, make_owner_machine};
use beskar7_e2e::vm::{HOST, Line};
use kube::Api;
use kube::api::DeleteParams;
use serde_json::json;

use super::disks::CHOSEN;
use super::site::{Files, HOSTS, Site};
use super::system::{self, sha256};
use super::tools::Tools;

/// What `make_cluster` gives to all machines.
const BOOTSTRAP_DATA: &str = "#cloud-config";

async fn open(tools: &Tools) -> Result<Site> {
    let files = Files::start().await?;
    let flags = vec![format!("--agent-iso={}", files.put("agent.iso", tools.ramdisk.iso()?))];
    let options = manager::Options { boot_host: HOST.to_owned(), flags, ..manager::Options::default() };
    let host = json!({"spec": {"cleaning": "Metadata"}});
    Site::open(tools, Line::Own, &host, files, options).await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "long: make agent-vms"]
async fn a_machine_of_a_cluster_has_a_qcow2_on_the_disk_that_is_meant_until_nothing_is_found_there()
-> Result<()> {
    let test = "a_machine_of_a_cluster_has_a_qcow2_on_the_disk_that_is_meant_until_nothing_is_found_there";
    let Some(tools) = Tools::find(test).await? else { return Ok(()) };
    let site = open(&tools).await?;
    let image = system::image(&tools).await?;
    let packed = system::qcow2(&tools, &image).await?;
    let checksums = format!("{}  another.qcow2\n{}  system.qcow2\n", "0".repeat(64), sha256(&packed));
    let checksum = site.files.put("SHA256SUMS", checksums.into_bytes());
    let url = site.files.put("system.qcow2", packed);
    make_cluster(&site.client, HOSTS).await?;
    let owner = make_owner_machine(&site.client, HOSTS, "m", &json!({})).await?;
    let spec = json!({"spec": {
        "provisioningMode": "DiskImage", "image": {"format": "qcow2", "checksum": checksum},
        "rootDeviceHints": {"serialNumber": CHOSEN},
    }});
    make_machine(&site.client, HOSTS, &owner, &url, &spec).await?;

    site.until_home().await?;
    system::calls_home(&site.vm, BOOTSTRAP_DATA).await?;
    site.disks.have_been_written_as_meant(&image)?;
    let machines: Api<Beskar7Machine> = Api::namespaced(site.client.clone(), HOSTS);
    let machine = machines.get("m").await?;
    ensure!(machine.spec.provider_id.is_some(), "{:?}", machine.status);

    let found = site.disks.signatures(&tools).await?;
    for expected in ["other-disk: gpt", "other-disk: iso9660", "chosen-disk: gpt", "chosen-disk: vfat"] {
        ensure!(found.iter().any(|found| found == expected), "no {expected}: {found:?}");
    }
    machines.delete("m", &DeleteParams::default()).await?;
    site.until(HostState::Deprovisioning).await?;
    site.until_free().await?;
    let left = site.disks.signatures(&tools).await?;
    ensure!(left.is_empty(), "somebody else would find {left:?}");
    site.close().await
}

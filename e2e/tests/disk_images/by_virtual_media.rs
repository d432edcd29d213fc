//! The images of machines of a cluster, by an agent from a virtual drive.

use std::path::Path;

use anyhow::{Result, ensure};
use beskar7_api::{Beskar7Machine, HostState};
use beskar7_e2e::manager;
use beskar7_e2e::objects::{make_cluster, make_machine, make_owner_machine, make_secret, merge};
use beskar7_e2e::vm::{HOST, Line};
use kube::Api;
use kube::api::DeleteParams;
use serde_json::{Value, json};

use super::disks::CHOSEN;
use super::site::{Files, HOSTS, Site};
use super::system::{self, sha256};
use super::tools::Tools;

/// What the cluster gives to its machines.
const BOOTSTRAP_DATA: &str = "#cloud-config\npassword: my-secret-word-4713\n";
const SECRET_WORD: &str = "my-secret-word-4713";

async fn open(tools: &Tools) -> Result<Site> {
    let files = Files::start().await?;
    let flags = vec![format!("--agent-iso={}", files.put("agent.iso", tools.ramdisk.iso()?))];
    let options = manager::Options { boot_host: HOST.to_owned(), flags, ..manager::Options::default() };
    let host = json!({"spec": {"cleaning": "Metadata"}});
    Site::open(tools, Line::Own, &host, files, options).await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "long: make agent-vms"]
async fn a_machine_of_a_cluster_has_its_image_on_the_disk_that_is_meant_until_nothing_is_found_there()
-> Result<()> {
    let test = "a_machine_of_a_cluster_has_its_image_on_the_disk_that_is_meant_until_nothing_is_found_there";
    let Some(tools) = Tools::find(test).await? else { return Ok(()) };
    let mut site = open(&tools).await?;
    let image = system::image(&tools).await?;
    make_cluster(&site.client, HOSTS).await?;
    make_secret(&site.client, HOSTS, "of-workers", &json!({"value": BOOTSTRAP_DATA})).await?;

    let packed = system::qcow2(&tools, &image).await?;
    let checksums = format!("{}  another.qcow2\n{}  system.qcow2\n", "0".repeat(64), sha256(&packed));
    let checksum = site.files.put("SHA256SUMS", checksums.into_bytes());
    let url = site.files.put("system.qcow2", packed);
    let qcow2 = json!({"imageURL": url, "image": {"format": "qcow2", "checksum": checksum}});
    is_installed_and_wiped(&site, &tools, &image, ("packed", &qcow2)).await?;

    site.begin_anew(&tools).await?;
    let content = std::fs::read(&image)?;
    let checksum = sha256(&content);
    let url = site.files.put("system.raw", content);
    let raw = json!({"imageURL": url, "image": {"format": "raw", "checksum": checksum}});
    is_installed_and_wiped(&site, &tools, &image, ("plain", &raw)).await?;
    site.close().await
}

/// A machine of this name has its image until it is deleted.
async fn is_installed_and_wiped(
    site: &Site,
    tools: &Tools,
    image: &Path,
    (name, given): (&str, &Value),
) -> Result<()> {
    let bootstrap = json!({"spec": {"bootstrap": {"dataSecretName": "of-workers"}}});
    let owner = make_owner_machine(&site.client, HOSTS, name, &bootstrap).await?;
    let mut spec = json!({"spec": {
        "provisioningMode": "DiskImage", "rootDeviceHints": {"serialNumber": CHOSEN},
    }});
    merge(&mut spec, &json!({"spec": given}));
    make_machine(&site.client, HOSTS, &owner, "", &spec).await?;

    site.until_home().await?;
    system::calls_home(&site.vm, BOOTSTRAP_DATA).await?;
    site.disks.have_been_written_as_meant(image)?;
    let machines: Api<Beskar7Machine> = Api::namespaced(site.client.clone(), HOSTS);
    let machine = machines.get(name).await?;
    ensure!(machine.spec.provider_id.is_some(), "{:?}", machine.status);

    let found = site.disks.signatures(tools).await?;
    for expected in ["other-disk: gpt", "other-disk: iso9660", "chosen-disk: gpt", "chosen-disk: vfat"] {
        ensure!(found.iter().any(|found| found == expected), "no {expected}: {found:?}");
    }
    ensure!(site.disks.chosen_has(SECRET_WORD)?, "its configuration is on the disk as it is");
    machines.delete(name, &DeleteParams::default()).await?;
    site.until(HostState::Deprovisioning).await?;
    site.until_free().await?;
    let left = site.disks.signatures(tools).await?;
    ensure!(left.is_empty(), "somebody else would find {left:?}");
    ensure!(!site.disks.chosen_has(SECRET_WORD)?, "somebody else would find its bootstrap data");
    Ok(())
}

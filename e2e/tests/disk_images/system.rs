//! The system that is installed: what its image is, and that it runs.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use beskar7_e2e::process::Command;
use beskar7_e2e::vm::Vm;
use ring::digest::{SHA256, digest};

use super::site::LIMIT;
use super::tools::Tools;

/// Quiet: what the kernel says would stand among what the system says.
const PARAMETERS: [&str; 5] = ["console=ttyS0", "quiet", "no_timer_check", "ip=dhcp", "b7.partition"];

const CONVERTED_WITHIN: Duration = Duration::from_secs(120);

/// Its image, byte by byte.
pub async fn image(tools: &Tools) -> Result<PathBuf> {
    tools.isos.disk(&tools.sgdisk, &PARAMETERS).await
}

/// The same as a qcow2 whose clusters are compressed.
pub async fn qcow2(tools: &Tools, image: &Path) -> Result<Vec<u8>> {
    let folder = tempfile::tempdir()?;
    let packed = folder.path().join("system.qcow2");
    let convert = Command::new("qemu-img", &tools.qemu_img).args(["convert", "-c", "-O", "qcow2"]);
    convert.arg(image).arg(&packed).run(CONVERTED_WITHIN).await?.success()?;
    Ok(std::fs::read(packed)?)
}

/// What `md5sum` writes about a file of this name with these bytes.
pub async fn md5_file(tools: &Tools, name: &str, bytes: &[u8]) -> Result<Vec<u8>> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join(name), bytes)?;
    let md5sum = Command::new("md5sum", &tools.isos.installed().md5sum).arg(name);
    Ok(md5sum.current_dir(folder.path()).run(CONVERTED_WITHIN).await?.success()?.into_bytes())
}

/// Waits until it has called home, from a partition of the disk that it was written to, with this configuration.
pub async fn calls_home(vm: &Vm, user_data: &str) -> Result<()> {
    let console = vm.console().await;
    console.until("called home", LIMIT).await?;
    let said = console.lines()?;
    let parameters = console.said("cmdline")?.with_context(|| format!("no parameters: {said:#?}"))?;
    ensure!(PARAMETERS.iter().all(|own| parameters.contains(own)), "another system: {parameters}");
    let volume = console.said("volume")?.with_context(|| format!("no volume: {said:#?}"))?;
    ensure!(volume.starts_with("cidata in sd"), "not from a disk: {volume}");
    let read = console.said("user-data sha256")?;
    ensure!(read == Some(sha256(user_data.as_bytes())), "another configuration: {said:#?}");
    Ok(())
}

/// The SHA-256 of these bytes, in hex.
pub fn sha256(bytes: &[u8]) -> String {
    digest(&SHA256, bytes).as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

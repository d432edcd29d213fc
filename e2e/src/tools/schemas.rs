//! DMTF's Redfish schemas, as cargo fetches them by checksum: `e2e/tools/redfish-schema` pins the crate that carries
//! them. They are read where cargo keeps sources; nothing is compiled.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::progress::Progress;
use crate::process::Command;
use crate::workspace;

const CRATE: &str = "nv-redfish-schema";
const FETCH_LIMIT: Duration = Duration::from_secs(300);

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    manifest_path: PathBuf,
}

/// The folder of the CSDL files, fetched if need be.
pub fn ensure(progress: &mut dyn Progress) -> Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").filter(|value| !value.is_empty());
    let said = Command::new("cargo metadata", cargo.unwrap_or_else(|| "cargo".into()))
        .args(["metadata", "--format-version=1", "--locked"])
        .current_dir(workspace::root().join("e2e/tools/redfish-schema"))
        .run_blocking_with(FETCH_LIMIT, &mut |_| progress.now("cargo: fetching the Redfish schemas"))?
        .success()
        .context("fetching the Redfish schemas")?;
    let metadata: Metadata = serde_json::from_str(&said).context("reading what cargo metadata said")?;
    let package = metadata.packages.into_iter().find(|package| package.name == CRATE);
    let package = package.with_context(|| format!("e2e/tools/redfish-schema pins no {CRATE}"))?;
    let folder = package.manifest_path.with_file_name("redfish-csdl").join("csdl");
    ensure!(folder.join("ServiceRoot_v1.xml").is_file(), "there are no schemas in {}", folder.display());
    Ok(folder)
}

/// [`ensure`] for a test: does not block the test's runtime.
pub async fn ready() -> Result<PathBuf> {
    tokio::task::spawn_blocking(|| ensure(&mut *super::progress::on_stderr()))
        .await
        .context("fetching the Redfish schemas")?
}

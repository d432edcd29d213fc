//! The real components, built once from their released Go modules, and what others have written to speak Redfish.
//!
//! `e2e/tools` pins the versions (`go.mod`, `requirements.txt`, `Cargo.lock`) and their checksums.
//! What was built is kept in a cache outside `target/`, so that later calls
//! cost nothing and `cargo clean` does not cost a quarter of an hour.
//!
//! Not for: the Beskar7 binaries, which cargo builds, and not for downloads of
//! binaries somebody else built.

mod build;
mod cache;
mod catalogue;
mod go;
mod manifests;
pub mod progress;
mod python;
pub mod schemas;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

pub use cache::{home, root};
pub use catalogue::Tool;
pub use manifests::Manifests;
use progress::Progress;
pub use python::Python;

/// Where the components are.
#[derive(Debug, Clone)]
pub struct Tools {
    paths: BTreeMap<Tool, PathBuf>,
    manifests: Option<Manifests>,
}

impl Tools {
    /// Everything: the control plane, clusterctl, the Cluster API managers and
    /// their manifests. What is missing is built first; if nothing is, no
    /// program is started.
    pub fn ensure(progress: &mut dyn Progress) -> Result<Self> {
        let mut tools = Self::ensure_only(Tool::ALL, progress)?;
        tools.manifests = Some(manifests::ensure(tools.path(Tool::Kubectl)?, progress)?);
        Ok(tools)
    }

    /// Some of the components, without the Cluster API manifests.
    pub fn ensure_only(wanted: &[Tool], progress: &mut dyn Progress) -> Result<Self> {
        let mut paths = BTreeMap::new();
        let mut missing = Vec::new();
        for tool in wanted {
            match catalogue::existing(*tool)? {
                Some(path) => drop(paths.insert(*tool, path)),
                None => missing.push(*tool),
            }
        }
        if !missing.is_empty() {
            paths.extend(build::all(&missing, progress)?);
        }
        Ok(Self { paths, manifests: None })
    }

    /// [`Tools::ensure`] for a test: reports on standard error and does not
    /// block the test's runtime.
    pub async fn ready() -> Result<Self> {
        tokio::task::spawn_blocking(|| Self::ensure(&mut *progress::on_stderr()))
            .await
            .context("building the tools")?
    }

    /// [`Tools::ready`] for a test that needs no Cluster API.
    pub async fn control_plane_ready() -> Result<Self> {
        let build = || Self::ensure_only(Tool::CONTROL_PLANE, &mut *progress::on_stderr());
        tokio::task::spawn_blocking(build).await.context("building the tools")?
    }

    /// [`Tools::ready`] for a test that needs a registry and nothing else.
    pub async fn registry_ready() -> Result<Self> {
        let build = || Self::ensure_only(&[Tool::Registry], &mut *progress::on_stderr());
        tokio::task::spawn_blocking(build).await.context("building the tools")?
    }

    /// The path of one component.
    pub fn path(&self, tool: Tool) -> Result<&Path> {
        let path = self.paths.get(&tool).map(PathBuf::as_path);
        path.with_context(|| format!("{tool} was not among the tools asked for"))
    }

    /// What to call the version of one component: the pinned one, or the name
    /// of the directory's variable where somebody else's program is used.
    pub fn version(&self, tool: Tool) -> Result<&'static str> {
        let built = self.path(tool)?.starts_with(root()?);
        if built { tool.version() } else { Ok(catalogue::ASSETS) }
    }

    /// The components and their paths.
    pub fn iter(&self) -> impl Iterator<Item = (Tool, &Path)> {
        self.paths.iter().map(|(tool, path)| (*tool, path.as_path()))
    }

    /// The Cluster API manifests.
    pub fn manifests(&self) -> Result<&Manifests> {
        self.manifests.as_ref().context("the Cluster API manifests were not asked for")
    }
}

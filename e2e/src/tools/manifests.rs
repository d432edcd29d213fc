//! The manifests of Cluster API, rendered from the source of the very module
//! that its managers are built from.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use super::cache::{self, Lock};
use super::catalogue::CLUSTER_API;
use super::go::Go;
use super::progress::Progress;
use crate::process::Command;

const DOWNLOAD_LIMIT: Duration = Duration::from_secs(600);
const RENDER_LIMIT: Duration = Duration::from_secs(60);

/// Each provider's name for clusterctl and where its manifests are in the
/// module.
const SOURCES: [(&str, &str); 3] = [
    ("cluster-api", "core/config/default"),
    ("bootstrap-kubeadm", "bootstrap/kubeadm/config/default"),
    ("control-plane-kubeadm", "controlplane/kubeadm/config/default"),
];

/// The rendered manifests of the Cluster API providers.
#[derive(Debug, Clone)]
pub struct Manifests {
    directory: PathBuf,
    version: &'static str,
}

impl Manifests {
    /// The version of Cluster API they belong to.
    #[must_use]
    pub fn version(&self) -> &str {
        self.version
    }

    /// The components of one provider, such as `bootstrap-kubeadm`.
    pub fn components(&self, provider: &str) -> Result<String> {
        self.read(&format!("{provider}.yaml"))
    }

    /// Which release series speaks which contract; the same for all three.
    pub fn metadata(&self) -> Result<String> {
        self.read("metadata.yaml")
    }

    fn read(&self, name: &str) -> Result<String> {
        let path = self.directory.join(name);
        std::fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))
    }
}

#[derive(Deserialize)]
struct Download {
    #[serde(rename = "Dir", default)]
    dir: String,
    #[serde(rename = "Error", default)]
    error: String,
}

/// Renders the manifests unless that was done before.
pub(super) fn ensure(kubectl: &Path, progress: &mut dyn Progress) -> Result<Manifests> {
    let module = &CLUSTER_API;
    let version = module.version()?;
    let parent = cache::module_directory(module)?;
    let directory = parent.join("manifests");
    if !directory.is_dir() {
        let _lock = Lock::take(progress)?;
        // Somebody else may have rendered them while we waited.
        if !directory.is_dir() {
            cache::create(&parent)?;
            render(kubectl, &parent, &directory, progress)
                .with_context(|| format!("rendering the manifests of Cluster API {version}"))?;
        }
    }
    Ok(Manifests { directory, version })
}

fn render(kubectl: &Path, parent: &Path, directory: &Path, progress: &mut dyn Progress) -> Result<()> {
    let module = &CLUSTER_API;
    progress.note(&format!("Cluster API {}: rendering its manifests, once", module.version()?));
    let source = source_directory(progress)?;
    let partial =
        tempfile::Builder::new().prefix(".manifests-").tempdir_in(parent).context("a place for them")?;
    for (provider, path) in SOURCES {
        let rendered = Command::new("kubectl kustomize", kubectl)
            .arg("kustomize")
            .arg(source.join(path))
            .run_blocking(RENDER_LIMIT)?
            .success()?;
        write(&partial.path().join(format!("{provider}.yaml")), &rendered)?;
    }
    let metadata = std::fs::read_to_string(source.join("metadata.yaml")).context("reading metadata.yaml")?;
    write(&partial.path().join("metadata.yaml"), &metadata)?;
    std::fs::rename(partial.keep(), directory).with_context(|| format!("keeping {}", directory.display()))
}

/// Where Go keeps the source of the module.
fn source_directory(progress: &mut dyn Progress) -> Result<PathBuf> {
    let go = Go::find(&CLUSTER_API, progress)?;
    let output = go.command(&CLUSTER_API, "mod").args(["download", "-json", CLUSTER_API.path]);
    let said = output.run_blocking(DOWNLOAD_LIMIT)?;
    let download: Download = serde_json::from_str(&said.stdout)
        .with_context(|| format!("reading what go said: {}", said.stderr))?;
    if !download.error.is_empty() || download.dir.is_empty() {
        bail!("go mod download {}: {}", CLUSTER_API.path, download.error);
    }
    Ok(PathBuf::from(download.dir))
}

fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).with_context(|| format!("writing {}", path.display()))
}

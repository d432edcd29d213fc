//! Cluster API on a local control plane: a clusterctl repository of our own,
//! the real `clusterctl`, and the real managers as local processes.
//!
//! The managers are the released ones; only the way to their webhooks differs,
//! because the API server reaches them at a port instead of through a Service.

mod local_webhooks;
mod managers;
mod repository;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;

pub use managers::Managers;
pub use repository::Infrastructure;
use repository::Repository;

use crate::control_plane::pki::write_private;
use crate::control_plane::{ControlPlane, client_by_kubeconfig};
use crate::ports::Port;
use crate::process::{Command, Output};
use crate::tools::Tool;
use crate::wait;

/// What a `clusterctl` call may take; `init` applies some thirty CRDs.
const CLUSTERCTL_LIMIT: Duration = Duration::from_secs(300);

/// Where clusterctl tries cert-manager out.
const TRIAL_NAMESPACE: &str = "cert-manager-test";

/// The namespace controller looks at every kind there is.
const TRIAL_LIMIT: Duration = Duration::from_secs(60);

/// With these two kinds known, `clusterctl init` takes cert-manager for
/// installed. Nothing here needs its certificates.
const CERT_MANAGER_STUB: &str = include_str!("cluster_api/cert-manager-stub.yaml");

/// A provider of Cluster API that runs as a local process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Provider {
    /// The folder of its releases, and what tables call it.
    pub(crate) folder: &'static str,
    /// Its name for clusterctl.
    pub(crate) name: &'static str,
    /// Its type for clusterctl.
    pub(crate) kind: &'static str,
    /// The file of its components.
    pub(crate) components: &'static str,
    /// Its program.
    pub(crate) tool: Tool,
    /// Flags that are its own.
    pub(crate) flags: &'static [&'static str],
}

const TOPOLOGY: &[&str] = &["--feature-gates=ClusterTopology=true"];

pub(crate) const PROVIDERS: [Provider; 3] = [
    Provider {
        folder: "cluster-api",
        name: "cluster-api",
        kind: "CoreProvider",
        components: "core-components.yaml",
        tool: Tool::ClusterApi,
        flags: TOPOLOGY,
    },
    Provider {
        folder: "bootstrap-kubeadm",
        name: "kubeadm",
        kind: "BootstrapProvider",
        components: "bootstrap-components.yaml",
        tool: Tool::BootstrapKubeadm,
        flags: &["--feature-gates=KubeadmBootstrapFormatIgnition=true"],
    },
    Provider {
        folder: "control-plane-kubeadm",
        name: "kubeadm",
        kind: "ControlPlaneProvider",
        components: "control-plane-components.yaml",
        tool: Tool::ControlPlaneKubeadm,
        flags: &["--feature-gates=ClusterTopology=true,KubeadmBootstrapFormatIgnition=true"],
    },
];

/// A provider and what was reserved for its process.
#[derive(Debug)]
pub(crate) struct Seat {
    pub(crate) provider: Provider,
    pub(crate) webhook: Port,
    pub(crate) diagnostics: Port,
    pub(crate) health: Port,
    /// Under which service account it runs: namespace and name.
    pub(crate) account: (String, String),
}

/// Cluster API prepared for one control plane.
#[derive(Debug)]
pub struct ClusterApi {
    directory: PathBuf,
    kubeconfig: PathBuf,
    clusterctl: PathBuf,
    seats: Vec<Seat>,
    repository: Repository,
    infrastructure: Infrastructure,
}

impl ClusterApi {
    /// Writes the repository and what `clusterctl` needs beside it; installs
    /// nothing yet but the stub of cert-manager.
    pub async fn prepare(plane: &ControlPlane, infrastructure: Infrastructure) -> Result<Self> {
        let directory = plane.directory().join("cluster-api");
        let certificates = directory.join("webhook-certificates");
        std::fs::create_dir_all(&certificates)
            .with_context(|| format!("making {}", certificates.display()))?;
        let serving = plane.authority().serving("cluster-api-webhooks", &[])?;
        write_private(&certificates.join("tls.crt"), &serving.certificate)?;
        write_private(&certificates.join("tls.key"), &serving.key)?;

        let mut repository = Repository::new(&directory, plane.tools().manifests()?)?;
        let mut seats = Vec::new();
        for provider in PROVIDERS {
            let webhook = Port::reserve()?;
            let account = repository.add(&provider, webhook.number(), plane.authority().certificate())?;
            let (diagnostics, health) = (Port::reserve()?, Port::reserve()?);
            seats.push(Seat { provider, webhook, diagnostics, health, account });
        }
        repository.finish(&infrastructure)?;
        plane.kubectl_with_input(&["apply", "-f", "-"], CERT_MANAGER_STUB).await?.success()?;
        Ok(Self {
            directory,
            kubeconfig: plane.kubeconfig(),
            clusterctl: plane.tools().path(Tool::Clusterctl)?.to_owned(),
            seats,
            repository,
            infrastructure,
        })
    }

    /// The configuration of clusterctl: where the providers are.
    #[must_use]
    pub fn config(&self) -> &Path {
        self.repository.config()
    }

    /// `clusterctl` with the local repository, as the administrator.
    pub async fn clusterctl(&self, arguments: &[&str]) -> Result<Output> {
        self.clusterctl_with(arguments, &[]).await
    }

    /// `clusterctl` with the variables of a template.
    pub async fn clusterctl_with(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Result<Output> {
        let mut command = Command::new("clusterctl", &self.clusterctl)
            .args(arguments)
            .arg("--config")
            .arg(self.config())
            .env("KUBECONFIG", &self.kubeconfig)
            // Whatever else it reads and writes is not the user's.
            .env("HOME", &self.directory)
            .env("XDG_CONFIG_HOME", self.directory.join("xdg"));
        for (name, value) in variables {
            command = command.env(name, value);
        }
        command.run(CLUSTERCTL_LIMIT).await
    }

    /// `clusterctl init` with Cluster API, kubeadm and Beskar7. It does not
    /// wait for Deployments, which never get pods here.
    pub async fn init(&self) -> Result<Output> {
        self.trial_namespace_gone().await?;
        let infrastructure = format!("beskar7:{}", self.infrastructure.version);
        self.clusterctl(&["init", "--infrastructure", &infrastructure]).await
    }

    /// clusterctl tries cert-manager out in a namespace that it deletes at
    /// once. A second `init` that finds it still there takes cert-manager for
    /// broken, and would go and fetch a new one.
    async fn trial_namespace_gone(&self) -> Result<()> {
        let namespaces = Api::<Namespace>::all(client_by_kubeconfig(&self.kubeconfig).await?);
        let namespaces = &namespaces;
        wait::until_true("clusterctl's trial of cert-manager to be cleaned up", TRIAL_LIMIT, || async move {
            let left = namespaces.get_opt(TRIAL_NAMESPACE).await?;
            Ok(left.map_or(Ok(()), |namespace| Err(format!("{:?}", namespace.status))))
        })
        .await?;
        Ok(())
    }

    /// Starts the managers under their own service accounts, which `init` has
    /// installed, and waits until each is ready and answers its webhooks.
    pub async fn start_managers(&self, plane: &ControlPlane) -> Result<Managers> {
        Managers::start(plane, &self.directory, &self.seats).await
    }

    /// Where the releases of the infrastructure provider are.
    #[must_use]
    pub fn infrastructure(&self) -> &Infrastructure {
        &self.infrastructure
    }
}

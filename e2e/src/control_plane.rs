//! A Kubernetes control plane on this machine: etcd, kube-apiserver and
//! kube-controller-manager on free loopback ports, with RBAC, under one
//! directory.
//!
//! There is no kubelet and no scheduler: pods can be created and never run.

pub(crate) mod api_server;
mod audit;
mod components;
mod directory;
mod identity;
pub(crate) mod kubeconfig;
mod lifecycle;
pub mod pki;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use kube::Client;

pub use audit::{AuditEvent, AuditObject, AuditStatus, AuditUser};
use directory::Directory;
pub use identity::User;
pub use kubeconfig::client as client_by_kubeconfig;
use pki::Authority;

use crate::ports::Port;
use crate::probe;
use crate::process::{Command, Output, Process};
use crate::tools::{Tool, Tools};

/// What a `kubectl` call may take.
const KUBECTL_LIMIT: Duration = Duration::from_secs(120);

/// What may differ from one control plane to another.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Where everything goes; a temporary directory if not given.
    pub directory: Option<PathBuf>,
    /// Users by token. Needed only for more than one group: see
    /// [`ControlPlane::kubeconfig_for_user`].
    pub users: Vec<User>,
    /// Further flags of kube-apiserver.
    pub api_server_flags: Vec<String>,
    /// The port that the API server tries first; any free one if not given.
    pub api_server_port: Option<u16>,
}

/// A running control plane. [`ControlPlane::stop`] says that all went well;
/// dropping it otherwise keeps its directory and names it.
#[derive(Debug)]
pub struct ControlPlane {
    tools: Tools,
    options: Options,
    directory: Directory,
    authority: Authority,
    ports: Ports,
    // In the order in which they stop when nobody does it by hand.
    controller_manager: Option<Process>,
    api_server: Option<Process>,
    etcd: Option<Process>,
    well: bool,
}

/// The ports held for as long as the control plane lives.
#[derive(Debug)]
struct Ports {
    etcd: Port,
    etcd_peer: Port,
    api_server: Port,
    controller_manager: Port,
}

impl ControlPlane {
    /// Where everything of this control plane is.
    #[must_use]
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Where logs are; others that run beside it put theirs there too.
    #[must_use]
    pub fn logs(&self) -> PathBuf {
        self.directory.at("logs")
    }

    /// The URL of the API server.
    #[must_use]
    pub fn server(&self) -> String {
        format!("https://{}", self.ports.api_server.address())
    }

    /// The URL of etcd.
    #[must_use]
    pub(crate) fn etcd_url(&self) -> String {
        format!("http://{}", self.ports.etcd.address())
    }

    /// The authority that signs what this control plane trusts.
    #[must_use]
    pub fn authority(&self) -> &Authority {
        &self.authority
    }

    /// The tools it was started from.
    #[must_use]
    pub fn tools(&self) -> &Tools {
        &self.tools
    }

    /// The kubeconfig of the administrator.
    #[must_use]
    pub fn kubeconfig(&self) -> PathBuf {
        self.directory.at("kubeconfig")
    }

    /// A client as the administrator.
    pub async fn client(&self) -> Result<Client> {
        kubeconfig::client(&self.kubeconfig()).await
    }

    /// The processes that run, for tables and for tests that hurt them.
    pub fn processes(&self) -> impl Iterator<Item = &Process> {
        [&self.etcd, &self.api_server, &self.controller_manager].into_iter().flatten()
    }

    /// Name and address of each process that runs, and whether it answers its
    /// health check at this moment: "yes", or why not.
    pub async fn readiness(&self) -> Result<Vec<(&str, String, String)>> {
        let Ports { etcd, api_server, controller_manager, .. } = &self.ports;
        let checks = [
            (&self.etcd, etcd.address(), "http", "/health"),
            (&self.api_server, api_server.address(), "https", "/readyz"),
            (&self.controller_manager, controller_manager.address(), "https", "/healthz"),
        ];
        let client = probe::client(Some(self.authority.certificate()))?;
        let mut rows = Vec::new();
        for (process, address, scheme, path) in checks {
            let Some(process) = process else { continue };
            let ready = probe::readiness(&client, &format!("{scheme}://{address}{path}")).await;
            rows.push((process.name(), address, ready));
        }
        Ok(rows)
    }

    /// The API server's process, while it runs.
    pub fn api_server(&self) -> Result<&Process> {
        self.api_server.as_ref().context("the API server is stopped")
    }

    /// An error if one of the processes has ended by itself.
    pub fn check(&self) -> Result<()> {
        self.processes().try_for_each(Process::check)
    }

    /// `kubectl` as the administrator.
    pub async fn kubectl(&self, arguments: &[&str]) -> Result<Output> {
        self.kubectl_command()?.args(arguments).run(KUBECTL_LIMIT).await
    }

    /// `kubectl` as the administrator with something on its standard input.
    pub async fn kubectl_with_input(&self, arguments: &[&str], input: &str) -> Result<Output> {
        self.kubectl_command()?.args(arguments).run_with_input(KUBECTL_LIMIT, input).await
    }

    fn kubectl_command(&self) -> Result<Command> {
        let command = Command::new("kubectl", self.tools.path(Tool::Kubectl)?);
        // kubectl keeps discovery results at home, where another API server
        // may have had the same port.
        Ok(command
            .env("KUBECONFIG", self.kubeconfig())
            .env("KUBECACHEDIR", self.directory.at("kubectl-cache")))
    }

    /// What was asked of the API server so far.
    pub fn audit(&self) -> Result<Vec<AuditEvent>> {
        Ok(self.audit_from(0)?.0)
    }

    /// What was asked of the API server from a place in its log on, and the place from which to go on.
    pub fn audit_from(&self, place: u64) -> Result<(Vec<AuditEvent>, u64)> {
        audit::read_from(&self.audit_log(), place)
    }

    /// The audit log's file, one JSON object a line.
    #[must_use]
    pub fn audit_log(&self) -> PathBuf {
        self.logs().join("audit.log")
    }

    /// Writes what the cluster's Events say into the logs, as far as the API
    /// server still answers.
    pub async fn collect_events(&self) -> Result<PathBuf> {
        let path = self.logs().join("events.txt");
        let table = self.kubectl(&["get", "events", "-A", "--sort-by=.lastTimestamp"]).await?.success()?;
        std::fs::write(&path, table).with_context(|| format!("writing {}", path.display()))?;
        Ok(path)
    }
}

//! The built Beskar7 manager as a local process, under exactly the role that
//! its release gives it.

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::control_plane::ControlPlane;
use crate::ports::{self, Port};
use crate::probe::{self, Answer};
use crate::process::{Command, Exit, Process, tail};
use crate::workspace;

/// The namespace that the release installs into.
pub const NAMESPACE: &str = "beskar7-system";

/// The service account of the manager's Deployment.
pub const SERVICE_ACCOUNT: &str = "beskar7-controller-manager";
/// The service account of a boot server by itself.
pub const BOOT_SERVICE_ACCOUNT: &str = "beskar7-boot-server";

const START_LIMIT: Duration = Duration::from_secs(60);

/// How often a start is tried whose port somebody else took.
const ATTEMPTS: usize = 5;

/// How a manager is started.
#[derive(Debug, Clone)]
pub struct Options {
    /// What errors and its log file call it; replicas need different ones.
    pub name: String,
    /// The built binary.
    pub program: PathBuf,
    /// Whether it takes the lease before it works.
    pub leader_elect: bool,
    /// Whose rights it has.
    pub service_account: &'static str,
    /// Whether it serves configurations and images to hosts, and reads images from loopback.
    pub boot_server: bool,
    /// What hosts call this machine, whose boot server they reach.
    pub boot_host: String,
    /// The address that the boot server listens at: in a laboratory, this process's own on a segment.
    pub boot_bind: Ipv4Addr,
    /// Further flags.
    pub flags: Vec<String>,
    /// Further variables.
    pub variables: Vec<(String, String)>,
    /// A program with its arguments that becomes the manager, which it is told behind them; none if empty.
    pub through: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            name: "manager".to_owned(),
            program: workspace::manager_program(),
            leader_elect: true,
            service_account: SERVICE_ACCOUNT,
            boot_server: false,
            boot_host: "127.0.0.1".to_owned(),
            boot_bind: Ipv4Addr::LOCALHOST,
            flags: Vec::new(),
            variables: Vec::new(),
            through: Vec::new(),
        }
    }
}

/// A running manager. Dropping it stops it.
#[derive(Debug)]
pub struct Manager {
    process: Process,
    health: Port,
    diagnostics: Port,
    boot: Option<(Ipv4Addr, Port)>,
}

impl Manager {
    /// Starts it with the rights of its service account and waits until it
    /// calls itself ready.
    pub async fn start(plane: &ControlPlane, options: &Options) -> Result<Self> {
        let manager = Self::spawn(plane, options).await?;
        manager.ready().await.with_context(|| format!("starting {}", options.name))?;
        Ok(manager)
    }

    /// Starts it without waiting: for those who expect it to fail, or to wait
    /// for the lease.
    pub async fn spawn(plane: &ControlPlane, options: &Options) -> Result<Self> {
        let kubeconfig = plane.kubeconfig_for_service_account(NAMESPACE, options.service_account).await?;
        let mut attempt = 1;
        loop {
            let (health, diagnostics) = (Port::reserve()?, Port::reserve()?);
            let boot = options.boot_server.then(Port::reserve).transpose()?;
            let serving = boot.iter().flat_map(|port| {
                let number = port.number();
                [
                    format!("--boot-url=http://{}:{number}", options.boot_host),
                    format!("--boot-bind-address={}:{number}", options.boot_bind),
                    "--artifact-allow-loopback".to_owned(),
                ]
            });
            let process = command(options)
                .arg(format!("--kubeconfig={}", kubeconfig.display()))
                .arg(format!("--health-addr={}", health.address()))
                .arg(format!("--diagnostics-address={}", diagnostics.address()))
                .arg("--insecure-diagnostics")
                .arg(format!("--leader-elect={}", options.leader_elect))
                .arg(format!("--leader-election-namespace={NAMESPACE}"))
                .args(serving)
                .args(&options.flags)
                .spawn(plane.logs().join(format!("{}.log", options.name)))?;
            let boot = boot.map(|port| (options.boot_bind, port));
            let manager = Self { process, health, diagnostics, boot };
            // Either it serves, or it has ended and its log says why.
            let settled = manager.serves().await;
            let unlucky = manager.process.ended().is_some() && ports::taken(&tail(manager.process.log(), 20));
            if settled.is_err() && unlucky && attempt < ATTEMPTS {
                attempt += 1;
                continue;
            }
            return Ok(manager);
        }
    }

    /// Waits until `/readyz` says ok.
    pub async fn ready(&self) -> Result<()> {
        probe::until_ok(&self.process, &probe::client(None)?, &self.url("/readyz"), START_LIMIT).await
    }

    async fn serves(&self) -> Result<()> {
        probe::until(&self.process, &probe::client(None)?, &self.url("/healthz"), START_LIMIT, |_| true).await
    }

    /// Asks its health address.
    pub async fn health(&self, path: &str) -> Result<Answer> {
        probe::get(&self.url(path)).await
    }

    /// Its metrics.
    pub async fn metrics(&self) -> Result<String> {
        Ok(probe::get(&format!("http://{}/metrics", self.diagnostics.address())).await?.body)
    }

    /// Its process: its id, its log, signals.
    #[must_use]
    pub fn process(&self) -> &Process {
        &self.process
    }

    /// Where it answers `/healthz` and `/readyz`.
    #[must_use]
    pub fn health_address(&self) -> String {
        self.health.address()
    }

    /// Where it answers `/metrics`.
    #[must_use]
    pub fn diagnostics_address(&self) -> String {
        self.diagnostics.address()
    }

    /// Where hosts reach its boot server, if it has one.
    #[must_use]
    pub fn boot_url(&self) -> Option<String> {
        self.boot.as_ref().map(|(address, port)| format!("http://{address}:{}", port.number()))
    }

    /// Stops it politely and waits until it is gone.
    pub async fn stop(mut self) -> Result<Exit> {
        self.process.stop().await
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.health.address())
    }
}

/// The program in an environment of its own: what a developer has exported for
/// another manager must not steer this one.
fn command(options: &Options) -> Command {
    let mut command = match options.through.split_first() {
        Some((first, rest)) => Command::new(&options.name, first).args(rest).arg(&options.program),
        None => Command::new(&options.name, &options.program),
    };
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("BESKAR7_") {
            command = command.env_remove(name);
        }
    }
    for (name, value) in &options.variables {
        command = command.env(name, value);
    }
    // In its Lease and its user agent: which replica it was.
    command.env("POD_NAME", &options.name)
}

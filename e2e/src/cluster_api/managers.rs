//! The Cluster API managers as local processes.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};

use super::Seat;
use crate::control_plane::ControlPlane;
use crate::probe;
use crate::process::{Command, Process};

/// They wait for each other's kinds and fill their caches first.
const START_LIMIT: Duration = Duration::from_secs(120);

/// The running managers of Cluster API. Dropping them stops them.
#[derive(Debug)]
pub struct Managers {
    running: Vec<Running>,
}

#[derive(Debug)]
struct Running {
    process: Process,
    address: String,
}

impl Managers {
    pub(super) async fn start(plane: &ControlPlane, directory: &Path, seats: &[Seat]) -> Result<Self> {
        let mut running = Vec::new();
        for seat in seats {
            let (namespace, account) = &seat.account;
            let kubeconfig = plane.kubeconfig_for_service_account(namespace, account).await?;
            let provider = &seat.provider;
            let process = Command::new(provider.folder, plane.tools().path(provider.tool)?)
                .arg(format!("--kubeconfig={}", kubeconfig.display()))
                .arg(format!("--webhook-cert-dir={}", directory.join("webhook-certificates").display()))
                .arg(format!("--webhook-port={}", seat.webhook.number()))
                .arg(format!("--diagnostics-address={}", seat.diagnostics.address()))
                .arg(format!("--health-addr={}", seat.health.address()))
                .arg("--insecure-diagnostics=true")
                // Its lease would want to know which pod this is.
                .arg("--leader-elect=false")
                .args(provider.flags)
                .spawn(plane.logs().join(format!("{}.log", provider.folder)))?;
            running.push(Running { process, address: seat.health.address() });
        }
        let managers = Self { running };
        // Started together, awaited one after the other.
        for (seat, running) in seats.iter().zip(&managers.running) {
            ready(plane, seat, &running.process)
                .await
                .with_context(|| format!("starting {}", seat.provider.folder))?;
        }
        Ok(managers)
    }

    /// Their processes.
    pub fn processes(&self) -> impl Iterator<Item = &Process> {
        self.running.iter().map(|running| &running.process)
    }

    /// Name and health address of each.
    pub fn addresses(&self) -> impl Iterator<Item = (&str, &str)> {
        self.running.iter().map(|running| (running.process.name(), running.address.as_str()))
    }

    /// An error if one of them has ended by itself.
    pub fn check(&self) -> Result<()> {
        self.processes().try_for_each(Process::check)
    }

    /// Stops them, all at the same time.
    pub async fn stop(mut self) -> Result<()> {
        for running in &mut self.running {
            running.process.begin_stop(Duration::from_secs(10));
        }
        for running in &mut self.running {
            running.process.stop().await?;
        }
        Ok(())
    }
}

/// Ready is what the manager says of itself, and that its webhooks answer
/// under a certificate that the API server will trust.
async fn ready(plane: &ControlPlane, seat: &Seat, process: &Process) -> Result<()> {
    let plain = probe::client(None)?;
    probe::until_ok(process, &plain, &format!("http://{}/readyz", seat.health.address()), START_LIMIT)
        .await?;
    let trusting = probe::client(Some(plane.authority().certificate()))?;
    let webhooks = format!("https://{}/", seat.webhook.address());
    probe::until(process, &trusting, &webhooks, START_LIMIT, |answer| answer.status == 404).await
}

//! Machines that boot from the network by themselves when they are turned on, played by a task: each does what its loader
//! and its installer would, and tries again what a manager that was killed did not answer.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use beskar7_api::PhysicalHost;
use beskar7_boot::capability::Purpose;
use beskar7_e2e::ranges::Ranges;
use beskar7_redfish_sim::machine::power::PowerState;
use bytes::Bytes;
use kube::api::ListParams;
use kube::{Client, ResourceExt as _};
use tokio::task::JoinHandle;

use super::bmcs::Bmcs;
use super::from_network::Loader;
use super::setup::*;
use super::site::Site;

const PACE: Duration = Duration::from_millis(50);

/// How far a machine has come under its claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// It has its kernel, and reads its configuration.
    Configuring,
    /// It has its configuration, and calls home.
    Calling,
    /// It was thanked for its call, or was told to start from its disk.
    Running,
}

/// The machines of a site.
pub struct Loaders {
    /// What they boot.
    pub kernel: String,
    machines: Arc<Machines>,
    task: JoinHandle<()>,
    _files: Ranges,
}

struct Machines {
    client: Client,
    bmcs: Bmcs,
    /// Where the boot server is now.
    base: Mutex<String>,
}

impl Loaders {
    pub async fn start(site: &Site) -> Result<Self> {
        let files = Ranges::start().await?;
        let kernel = files.put("127.0.0.1", "kernel", Arc::new(Bytes::from(vec![7; 70_000])));
        let machines = Arc::new(Machines {
            client: site.client.clone(),
            bmcs: site.bmcs.clone(),
            base: Mutex::default(),
        });
        let task = tokio::spawn(machines.clone().run());
        Ok(Self { kernel, machines, task, _files: files })
    }

    /// From now on the boot server is there.
    pub fn ask_at(&self, url: &str) {
        *self.machines.base.lock().unwrap_or_else(PoisonError::into_inner) = url.to_owned();
    }

    /// Every machine that runs for a claim would start from its disk now, if it were started anew.
    pub async fn are_sent_to_their_disks(&self) -> Result<()> {
        let mut asked = 0;
        for (_, claim) in self.machines.held().await? {
            let script = self.machines.loader(&claim).await?.until_script("sanboot").await?;
            ensure!(!script.contains("kernel"), "{script}");
            asked += 1;
        }
        ensure!(asked > 0, "no machine runs");
        Ok(())
    }
}

impl Drop for Loaders {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Machines {
    async fn run(self: Arc<Self>) {
        let mut stages = HashMap::new();
        let mut pace = tokio::time::interval(PACE);
        loop {
            pace.tick().await;
            for (host, claim) in self.held().await.unwrap_or_default() {
                let stage = stages.get(&claim).copied();
                if stage == Some(Stage::Running) || !self.is_on(&host) {
                    continue;
                }
                // Who answers nothing is asked again.
                if let Ok(next) = self.go_on(&claim, stage).await {
                    stages.insert(claim, next);
                }
            }
        }
    }

    /// The hosts that are held, each with its claim.
    async fn held(&self) -> Result<Vec<(PhysicalHost, String)>> {
        let all = hosts(&self.client, HOSTS).list(&ListParams::default()).await?;
        let held = all.items.into_iter().filter(|host| host.spec.consumer_ref.is_some());
        Ok(held.filter_map(|host| host.spec.claim_id.clone().map(|claim| (host, claim))).collect())
    }

    fn is_on(&self, host: &PhysicalHost) -> bool {
        let number = host.name_any().strip_prefix("h-").and_then(|number| number.parse().ok());
        let power = number.map(|number| self.bmcs.with(number, |bmc| bmc.machine.power()));
        matches!(power, Some(Ok(PowerState::On)))
    }

    async fn loader(&self, claim: &str) -> Result<Loader> {
        let base = self.base.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Loader::new(&self.client, &base, claim).await
    }

    async fn go_on(&self, claim: &str, stage: Option<Stage>) -> Result<Stage> {
        let loader = self.loader(claim).await?;
        match stage {
            None => {
                let script = loader.script().await?;
                if !script.contains("kernel") {
                    return Ok(Stage::Running);
                }
                let (line, _) = loader.fetch_all(&script).await?;
                ensure!(line.contains("b7.config="), "{line}");
                Ok(Stage::Configuring)
            }
            Some(Stage::Configuring) => {
                let url = loader.url(Purpose::Configuration, "user-data");
                let (status, _) = loader.get(&url).await?;
                ensure!(status.is_success(), "{status}");
                Ok(Stage::Calling)
            }
            Some(Stage::Calling) => {
                loader.call_home().await.context("a call home")?;
                Ok(Stage::Running)
            }
            Some(Stage::Running) => Ok(Stage::Running),
        }
    }
}

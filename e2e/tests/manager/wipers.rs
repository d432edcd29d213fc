//! Agents that wipe disks on machines that are started for it, played by a task, which asks again what a manager that was
//! killed did not answer.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Result, ensure};
use beskar7_api::{PhysicalHost, annotations};
use beskar7_boot::capability::Purpose;
use kube::Client;
use kube::api::ListParams;
use serde_json::json;
use tokio::task::JoinHandle;

use super::agents::Agent;
use super::from_network::Loader;
use super::setup::*;
use super::site::Site;

const PACE: Duration = Duration::from_millis(50);

/// The agents of a site.
pub struct Wipers {
    machines: Arc<Machines>,
    task: JoinHandle<()>,
}

struct Machines {
    client: Client,
    /// Where the boot server is now.
    base: Mutex<String>,
    /// The claims whose disks were wiped.
    wiped: Mutex<HashSet<String>>,
}

impl Wipers {
    pub fn start(site: &Site) -> Self {
        let machines = Arc::new(Machines {
            client: site.client.clone(),
            base: Mutex::default(),
            wiped: Mutex::default(),
        });
        Self { task: tokio::spawn(machines.clone().run()), machines }
    }

    /// From now on the boot server is there.
    pub fn ask_at(&self, url: &str) {
        *self.machines.base.lock().unwrap_or_else(PoisonError::into_inner) = url.to_owned();
    }

    /// Whether the disks were wiped of a claim.
    pub fn have_wiped(&self, claim: &str) -> bool {
        self.machines.wiped.lock().unwrap_or_else(PoisonError::into_inner).contains(claim)
    }
}

impl Drop for Wipers {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Machines {
    async fn run(self: Arc<Self>) {
        let mut pace = tokio::time::interval(PACE);
        loop {
            pace.tick().await;
            let Ok(all) = hosts(&self.client, HOSTS).list(&ListParams::default()).await else { continue };
            for (host, errand) in all.items.iter().filter_map(|host| Some((host, errand_of(host)?))) {
                // Who answers nothing is asked again.
                drop(self.go_on(host, &errand).await);
            }
        }
    }

    async fn go_on(&self, host: &PhysicalHost, errand: &str) -> Result<()> {
        let base = self.base.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let loader = Loader::new(&self.client, &base, errand).await?;
        let agent = Agent::started([format!("beskar7.url={}", loader.url(Purpose::Agent, "")).as_str()])?;
        let Some(order) = agent.order().await?.filter(|order| order["task"] == "clean") else {
            return Ok(());
        };
        let done = json!({"state": "done", "cleaned": [{"disk": "/dev/sda", "method": "metadata"}]});
        // It is done whether the manager lives to answer or not.
        self.wiped.lock().unwrap_or_else(PoisonError::into_inner).extend(host.spec.claim_id.clone());
        let status = agent.report(&order, &done).await?;
        ensure!(status.is_success(), "{status}");
        Ok(())
    }
}

/// The id of the errand that a machine was turned on for.
pub fn errand_of(host: &PhysicalHost) -> Option<String> {
    let errand = host.metadata.annotations.as_ref()?.get(annotations::ERRAND)?;
    let mut words = errand.split_whitespace().skip(1);
    let id = words.next()?.to_owned();
    words.next().map(|_since| id)
}

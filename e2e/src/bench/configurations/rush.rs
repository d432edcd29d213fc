//! All machines ask at the same moment, and every answer is looked at.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use beskar7_boot::capability::{Key, PREFIX, Purpose};
use beskar7_redfish_bench::usage::{forget_most_resident, open_files};
use reqwest::Client;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use super::machines::{FILES, Machine, bootstrap_data};
use crate::manager::Manager;

/// Longer than any machine would wait.
const LIMIT: Duration = Duration::from_secs(120);
/// How often the connections are counted.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// What came of it.
#[derive(Default)]
pub(super) struct Rush {
    /// Until the last one had everything.
    pub(super) wall: Duration,
    /// How many answers were as they must be.
    pub(super) right: usize,
    /// What was wrong with the others.
    pub(super) wrong: Vec<String>,
    /// The most that the manager had open at once, beyond what it had open before.
    pub(super) connections: usize,
    /// How long each machine took, sorted.
    took: Vec<Duration>,
}

impl Rush {
    /// How long that machine took that is as far behind the first one.
    pub(super) fn each(&self, share: f64) -> Duration {
        let last = self.took.len().saturating_sub(1) as f64;
        self.took.get((last * share) as usize).copied().unwrap_or_default()
    }
}

/// One machine, and what it must be told.
struct Asking {
    client: Client,
    name: String,
    configuration: String,
    phone_home: String,
    bytes: usize,
}

/// Lets all of them ask at the same moment.
pub(super) async fn rush(manager: &Manager, key: &Key, machines: &[Machine], bytes: usize) -> Result<Rush> {
    let base = manager.boot_url().context("it has no boot server")?;
    // cloud-init opens a connection for each file.
    let client = Client::builder().no_proxy().timeout(LIMIT).pool_max_idle_per_host(0).build()?;
    let url = |purpose, claim: &str| format!("{base}{PREFIX}{}", key.capability(purpose, claim).in_url());
    let start = Arc::new(Barrier::new(machines.len() + 1));
    let mut all = JoinSet::new();
    for machine in machines {
        let asking = Asking {
            client: client.clone(),
            name: machine.name.clone(),
            configuration: url(Purpose::Configuration, &machine.claim),
            phone_home: format!("{}/phone-home", url(Purpose::PhoneHome, &machine.claim)),
            bytes,
        };
        let start = start.clone();
        all.spawn(async move {
            start.wait().await;
            asking.ask_for_all().await
        });
    }
    let pid = manager.process().pid().unsigned_abs();
    let open_before = open_files(pid)?;
    forget_most_resident(pid)?;
    start.wait().await;
    let begun = Instant::now();
    let mut rush = Rush::default();
    let mut look = tokio::time::interval(LOOK_EVERY);
    loop {
        tokio::select! {
            answered = all.join_next() => match answered {
                Some(answered) => rush.add(answered?, begun.elapsed()),
                None => break,
            },
            _ = look.tick() => {
                rush.connections = rush.connections.max(open_files(pid)?.saturating_sub(open_before));
            }
        }
    }
    rush.wall = begun.elapsed();
    Ok(rush)
}

impl Rush {
    fn add(&mut self, answers: Vec<Result<()>>, took: Duration) {
        self.took.push(took);
        for answer in answers {
            match answer {
                Ok(()) => self.right += 1,
                Err(why) => self.wrong.push(format!("{why:#}")),
            }
        }
    }
}

impl Asking {
    async fn ask_for_all(&self) -> Vec<Result<()>> {
        let mut answers = Vec::new();
        for file in FILES {
            // The URL in the error would be longer than what it says.
            answers.push(self.ask(file).await.with_context(|| format!("{file} of {}", self.name)));
        }
        answers
    }

    async fn ask(&self, file: &str) -> Result<()> {
        let answer = self.client.get(format!("{}/{file}", self.configuration)).send().await;
        let answer = answer.map_err(reqwest::Error::without_url)?;
        let status = answer.status();
        let said = answer.text().await.map_err(reqwest::Error::without_url)?;
        ensure!(status.is_success(), "{status}");
        let right = match file {
            "user-data" => said == bootstrap_data(&self.name, self.bytes),
            "meta-data" => {
                said.contains(&format!("local-hostname: \"{}\"\n", self.name))
                    && said.contains(&format!("phone_home_url: \"{}\"\n", self.phone_home))
            }
            _ => said.contains(&format!("url: \"{}\"\n", self.phone_home)),
        };
        ensure!(right, "another one's: {said}");
        Ok(())
    }
}

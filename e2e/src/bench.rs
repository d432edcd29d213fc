//! `e2e bench`: what the manager costs, beside what it may cost.
//!
//! The manager is the built one, under exactly its role, against a real API server and simulated BMCs, each a process
//! of its own on this machine. Beside it works a bare client, which does the least that leads to the same: the same
//! requests to BMCs, the same writes to the API server, as many at once. Both sides take turns. A bar that is missed is
//! printed as such and is no error: a machine that is busy with something else must not fail a build.

mod bare;
mod claims;
pub mod configurations;
mod enrolment;
mod place;
mod rounds;
mod sightings;
mod steady;
mod timed;
mod worker;
mod writes;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use beskar7_redfish_bench::table::Table;
use beskar7_redfish_bench::usage;

use place::Place;

use crate::probe::install_crypto;
use crate::tools::Tool;
use crate::tools::progress::{self, Progress};
use crate::workspace;

/// What is measured, and with what.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// How many hosts are enrolled.
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub hosts: usize,
    /// How many of them are claimed at once.
    #[arg(long, value_name = "N", default_value_t = 500)]
    pub claims: usize,
    /// How often each comparison is repeated; its sides take turns. 0: only the quiet manager is measured.
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub rounds: usize,
    /// For how many seconds the manager is watched while nothing happens.
    #[arg(long, value_name = "SECONDS", default_value_t = 120)]
    pub steady: u64,
    /// Let the BMCs speak https.
    #[arg(long)]
    pub tls: bool,
    /// The built manager.
    #[arg(long, value_name = "PATH", default_value_os_t = workspace::manager_program())]
    pub manager: PathBuf,
    /// The built simulator of BMCs.
    #[arg(long, value_name = "PATH", default_value_os_t = workspace::simulator_program())]
    pub simulator: PathBuf,
    /// Where the table is written, too.
    #[arg(long, value_name = "PATH")]
    pub out: Option<PathBuf>,
}

impl Options {
    /// What would otherwise be missed only after minutes.
    fn check(&self) -> Result<()> {
        ensure!((1..=self.hosts).contains(&self.claims), "--claims must be at least 1 and at most --hosts");
        ensure!(self.steady > 0, "--steady must be at least 1");
        for program in [&self.manager, &self.simulator] {
            ensure!(program.is_file(), "there is no {}: `make bench` builds it", program.display());
        }
        Ok(())
    }

    fn steady(&self) -> Duration {
        Duration::from_secs(self.steady)
    }

    fn scheme(&self) -> &'static str {
        if self.tls { "https" } else { "http" }
    }
}

/// Measures everything, and returns the table as text.
pub fn run(options: &Options) -> Result<String> {
    options.check()?;
    install_crypto();
    usage::raise_file_limit();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("a runtime")?;
    let text = runtime.block_on(measure(options, &mut *progress::on_stderr()))?;
    if let Some(path) = &options.out {
        std::fs::write(path, &text).with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(text)
}

async fn measure(options: &Options, progress: &mut dyn Progress) -> Result<String> {
    progress.note("a control plane with our release, and simulated BMCs");
    let mut place = Place::open(&options.manager, &options.simulator, options.hosts, options.tls).await?;
    let kubernetes = place.plane.tools().version(Tool::KubeApiserver)?;
    let mut table = Table::default();
    if options.rounds > 0 {
        rounds::measure(&mut place, options, &mut table, progress)
            .await
            .context("comparing with a bare client")?;
    }
    steady::measure(&mut place, options, &mut table, progress).await.context("watching a quiet manager")?;
    place.close().await?;
    let who = format!("manager, API server (Kubernetes {kubernetes}), etcd, simulator and this program");
    let crates = ["beskar7-controllers", "beskar7-redfish", "kube", "reqwest", "tokio"];
    Ok(format!("{}\n{table}", usage::machine(&who, &crates)))
}

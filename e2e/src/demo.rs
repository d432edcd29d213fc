//! `e2e demo`: a control plane with Cluster API and Beskar7 on this machine,
//! until Ctrl-C.
//!
//! Everything it writes is in one directory, from which a second demo at the
//! same time is kept away. Each start begins with an empty cluster.

mod desk;
mod screen;
mod servers;
mod stack;
mod story;
mod tenant;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tokio::signal::unix::{SignalKind, signal};

use desk::Desk;
use screen::Screen;
use stack::Stack;

use crate::cluster_api::Infrastructure;
use crate::manager;
use crate::tools::{Tools, progress};
use crate::workspace;

/// How often the processes are looked after.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// What the demo runs.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// Bring everything up, show it, and take it down again.
    #[arg(long)]
    once: bool,
    /// Only the servers: make no cluster of them.
    #[arg(long)]
    no_cluster: bool,
    /// Where it keeps its state and logs.
    #[arg(long, value_name = "DIR", default_value_os_t = workspace::demo_directory())]
    directory: PathBuf,
    /// The built manager.
    #[arg(long, value_name = "PATH", default_value_os_t = workspace::manager_program())]
    manager: PathBuf,
    /// The folder infrastructure-beskar7 with the releases of the provider.
    #[arg(long, value_name = "DIR", default_value_os_t = workspace::release_directory())]
    releases: PathBuf,
    /// Which of them.
    #[arg(long, value_name = "VERSION", default_value = workspace::RELEASE_VERSION)]
    release: String,
}

impl Options {
    fn infrastructure(&self) -> Infrastructure {
        Infrastructure { directory: self.releases.clone(), version: self.release.clone() }
    }

    fn manager(&self) -> manager::Options {
        manager::Options { program: self.manager.clone(), boot_server: true, ..manager::Options::default() }
    }

    /// What would otherwise be missed only after minutes.
    fn check(&self) -> Result<()> {
        if !self.manager.is_file() {
            bail!("there is no manager at {}: `make programs` builds it", self.manager.display());
        }
        self.infrastructure().components()?;
        Ok(())
    }
}

/// Runs the demo to its end.
pub fn run(options: &Options) -> Result<()> {
    options.check()?;
    let desk = Desk::take(&options.directory)?;
    let mut screen = Screen::new();
    screen.step("tools: etcd, Kubernetes and Cluster API");
    // Before the runtime starts: Ctrl-C here simply ends this process, and
    // what it runs with it.
    let tools = Tools::ensure(&mut *progress::on_stderr())?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("a runtime")?;
    runtime.block_on(perform(options, &desk, &tools, &mut screen))
}

async fn perform(options: &Options, desk: &Desk, tools: &Tools, screen: &mut Screen) -> Result<()> {
    let mut interrupt = signal(SignalKind::interrupt()).context("listening for Ctrl-C")?;
    let mut terminate = signal(SignalKind::terminate()).context("listening for SIGTERM")?;
    let asked = async {
        tokio::select! {
            _ = interrupt.recv() => "Ctrl-C",
            _ = terminate.recv() => "SIGTERM",
        }
    };
    tokio::pin!(asked);

    let stack = tokio::select! {
        stack = Stack::start(options, desk, tools, screen) => stack?,
        by = &mut asked => bail!("stopped by {by} before everything was up"),
    };
    screen.blank();
    screen.table(&stack.table().await?);
    screen.text(&stack.kinds().await?);
    screen.text(&stack.hosts().await?);
    if !options.no_cluster {
        let told = tokio::select! {
            told = async {
                story::tell(&stack, screen).await?;
                tenant::tell(&stack, screen).await
            } => told,
            by = &mut asked => Err(anyhow::anyhow!("stopped by {by} while the cluster was shown")),
        };
        if let Err(error) = told {
            screen.step("stopping");
            stack.stop().await?;
            return Err(error);
        }
    }
    screen.text(&desk.what_next(!options.no_cluster));

    if !options.once {
        screen.line("Ctrl-C stops all of it.");
        let ended = loop {
            tokio::select! {
                by = &mut asked => break Ok(by),
                () = tokio::time::sleep(LOOK_EVERY) => if let Err(error) = stack.check() { break Err(error) },
            }
        };
        match ended {
            Ok(by) => screen.step(&format!("{by}: stopping")),
            Err(error) => {
                screen.step("something ended that should not have; stopping the rest");
                stack.stop().await?;
                return Err(error);
            }
        }
    } else {
        screen.step("stopping");
    }
    stack.stop().await?;
    screen.step(&format!(
        "everything is stopped; the logs stay in {} until the next start",
        desk.logs().display()
    ));
    Ok(())
}

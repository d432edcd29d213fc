//! The demo as a person meets it: it shows what runs, what it tells to type
//! works, and nothing of it is left afterwards, however it ends.
//!
//! Needs what `make release` writes.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests may panic")]

use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, ensure};
use beskar7_e2e::process::{Signal, carrying};
use beskar7_e2e::tools::Tools;
use beskar7_e2e::wait::{self, Seen};
use beskar7_e2e::workspace;
use rustix::process::{Pid, kill_process, kill_process_group};
use tempfile::TempDir;

/// Everything that a demo starts carries this variable.
const MARK: &str = "BESKAR7_TEST_DEMO";

/// The last thing a demo says before it waits.
const UP: &str = "Ctrl-C stops all of it.";

const LIMIT: Duration = Duration::from_secs(180);

/// A demo that runs, and what it says.
struct Demo {
    mark: String,
    place: TempDir,
    child: Child,
}

impl Demo {
    /// Starts a demo in a directory of its own. The tools are built first, so
    /// that the limits are the demo's.
    async fn start(name: &str, arguments: &[&str]) -> Result<Self> {
        Tools::ready().await?;
        let place = tempfile::tempdir()?;
        let mark = format!("{name}-{}", std::process::id());
        let child = command(&place.path().join("demo"), &mark, arguments)
            .stdout(File::create(place.path().join("stdout"))?)
            .stderr(File::create(place.path().join("stderr"))?)
            .process_group(0)
            .spawn()?;
        Ok(Self { mark, place, child })
    }

    fn directory(&self) -> PathBuf {
        self.place.path().join("demo")
    }

    fn said(&self, stream: &str) -> String {
        std::fs::read_to_string(self.place.path().join(stream)).unwrap_or_default()
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    async fn up(&mut self) -> Result<()> {
        self.up_within(LIMIT).await
    }

    async fn up_within(&mut self, limit: Duration) -> Result<()> {
        let up = wait::until("the demo to come up", limit, || {
            let (said, ended) = (self.said("stdout"), self.child.try_wait());
            let complaint = self.said("stderr");
            async move {
                Ok(match ended? {
                    _ if said.contains(UP) => Seen::Done(()),
                    None => Seen::NotYet(said),
                    Some(status) => Seen::Never(anyhow!("it ended with {status}: {said}{complaint}")),
                })
            }
        });
        Ok(up.await?)
    }

    async fn ended(&mut self) -> Result<ExitStatus> {
        let ended = wait::until("the demo to end", LIMIT, || {
            let (said, ended) = (self.said("stdout"), self.child.try_wait());
            async move { Ok(ended?.map_or_else(|| Seen::NotYet(said), Seen::Done)) }
        });
        Ok(ended.await?)
    }

    async fn nothing_remains(&self) -> Result<()> {
        wait::until_true("everything of the demo to be gone", Duration::from_secs(30), || async {
            let left = carrying(MARK, &self.mark);
            Ok(if left.is_empty() { Ok(()) } else { Err(format!("{left:?}")) })
        })
        .await?;
        Ok(())
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        // After a failed test; one that has ended no longer listens.
        if let Ok(None) = self.child.try_wait() {
            kill_process(self.pid(), Signal::TERM).ok();
            self.child.wait().ok();
        }
    }
}

fn command(directory: &Path, mark: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_e2e"));
    command.arg("demo").arg("--directory").arg(directory).args(arguments).env(MARK, mark);
    command.current_dir(workspace::root());
    command
}

/// The lines that the demo tells to type.
fn told(said: &str) -> Vec<&str> {
    let lines = said.lines().skip_while(|line| !line.starts_with("In another terminal")).skip(1);
    lines.take_while(|line| !line.starts_with("Logs")).filter_map(|line| line.strip_prefix("    ")).collect()
}

/// Types them all into one shell, and returns what it shows.
fn type_all(commands: &[&str]) -> Result<String> {
    let script = format!("set -e\n{}\n", commands.join("\n"));
    let typed = Command::new("bash")
        .args(["-o", "pipefail", "-c", &script])
        .current_dir(workspace::root())
        .output()?;
    let (shown, complaints) =
        (String::from_utf8_lossy(&typed.stdout), String::from_utf8_lossy(&typed.stderr));
    ensure!(typed.status.success(), "typing\n{script}\n{shown}{complaints}");
    Ok(shown.into_owned())
}

#[tokio::test]
async fn what_the_demo_tells_to_type_works_and_ctrl_c_ends_it() -> Result<()> {
    let mut demo = Demo::start("typed", &["--no-cluster"]).await?;
    demo.up().await?;

    let said = demo.said("stdout");
    for name in
        ["etcd", "kube-apiserver", "kube-controller-manager", "cluster-api", "bootstrap-kubeadm", "manager"]
    {
        let line = said.lines().find(|line| line.split_whitespace().next() == Some(name));
        ensure!(line.is_some_and(|line| line.ends_with(" yes")), "{name} in\n{said}");
    }
    ensure!(said.contains("PhysicalHost\n"), "{said}");
    let available = said.lines().filter(|line| line.contains(" Available ")).count();
    ensure!(available == 10, "{available} hosts are Available in\n{said}");

    let commands = told(&said);
    ensure!(commands.len() >= 5, "{said}");
    let shown = type_all(&commands)?;
    ensure!(shown.contains("FIELD: redfishConnection"), "{shown}");
    ensure!(shown.contains("→ Available"), "an event for every change: {shown}");

    let second = command(&demo.directory(), &demo.mark, &[]).output()?;
    let refused = String::from_utf8_lossy(&second.stderr).into_owned();
    ensure!(!second.status.success() && refused.contains("a demo already runs in"), "{refused}");
    ensure!(refused.contains(&format!("(process {})", demo.child.id())), "{refused}");

    // As a terminal does it: to everything in the foreground.
    kill_process_group(demo.pid(), Signal::INT)?;
    let status = demo.ended().await?;
    let said = demo.said("stdout");
    ensure!(
        status.success() && said.contains("Ctrl-C: stopping") && said.contains("everything is stopped"),
        "{said}"
    );
    demo.nothing_remains().await
}

#[tokio::test]
async fn a_component_that_dies_is_named_with_its_log() -> Result<()> {
    let mut demo = Demo::start("dies", &["--no-cluster"]).await?;
    demo.up().await?;
    let name = "control-plane-kubeadm";
    let running = carrying(MARK, &demo.mark);
    let victim = running.iter().find(|found| found.program.ends_with(name)).context("no such process")?;
    kill_process(Pid::from_raw(victim.pid).context("a process id")?, Signal::KILL)?;
    let status = demo.ended().await?;
    let complaint = demo.said("stderr");
    ensure!(!status.success(), "{complaint}");
    ensure!(
        complaint.contains(&format!("{name} ended with signal 9; the last lines of its log")),
        "{complaint}"
    );
    demo.nothing_remains().await
}

#[tokio::test]
async fn a_killed_demo_leaves_nothing() -> Result<()> {
    let mut demo = Demo::start("killed", &["--no-cluster"]).await?;
    demo.up().await?;
    ensure!(carrying(MARK, &demo.mark).len() > 12, "seven programs, their supervisors, and the demo");
    kill_process_group(demo.pid(), Signal::KILL)?;
    demo.ended().await?;
    demo.nothing_remains().await
}

#[tokio::test]
async fn a_demo_that_is_stopped_while_it_comes_up_leaves_nothing() -> Result<()> {
    let mut demo = Demo::start("early", &["--no-cluster"]).await?;
    wait::until("clusterctl init", LIMIT, || async {
        let said = demo.said("stdout");
        Ok(if said.contains("clusterctl init") { Seen::Done(()) } else { Seen::NotYet(said) })
    })
    .await?;
    kill_process(demo.pid(), Signal::TERM)?;
    let status = demo.ended().await?;
    let complaint = demo.said("stderr");
    ensure!(
        !status.success() && complaint.contains("stopped by SIGTERM before everything was up"),
        "{complaint}"
    );
    demo.nothing_remains().await
}

#[tokio::test]
async fn once_is_up_and_down_again() -> Result<()> {
    let mut demo = Demo::start("once", &["--once", "--no-cluster"]).await?;
    let status = demo.ended().await?;
    let said = demo.said("stdout");
    ensure!(status.success(), "{said}{}", demo.said("stderr"));
    ensure!(said.contains("everything is up") && said.contains("everything is stopped"), "{said}");
    demo.nothing_remains().await
}

#[tokio::test]
#[ignore = "takes minutes: make demo-once"]
async fn a_cluster_comes_up_grows_and_shrinks_before_ones_eyes() -> Result<()> {
    let mut demo = Demo::start("story", &[]).await?;
    demo.up_within(LIMIT * 10).await?;
    let said = demo.said("stdout");
    for told in [
        "the cluster is up",
        "5 workers",
        "1 workers",
        "Provisioned",
        "KubeadmControlPlane",
        "team-a has its machine",
    ] {
        ensure!(said.contains(told), "no {told} in\n{said}");
    }
    type_all(&told(&said))?;
    kill_process_group(demo.pid(), Signal::INT)?;
    ensure!(demo.ended().await?.success(), "{}", demo.said("stderr"));
    demo.nothing_remains().await
}

#[tokio::test]
async fn what_is_missing_is_said_before_anything_starts() -> Result<()> {
    let mut demo = Demo::start("missing", &["--manager", "nowhere/manager"]).await?;
    ensure!(!demo.ended().await?.success(), "it went on");
    ensure!(demo.said("stderr").contains("`make programs` builds it"), "{}", demo.said("stderr"));
    let mut demo = Demo::start("missing", &["--releases", "nowhere/infrastructure-beskar7"]).await?;
    ensure!(!demo.ended().await?.success(), "it went on");
    ensure!(demo.said("stderr").contains("`make release` writes it"), "{}", demo.said("stderr"));
    Ok(())
}

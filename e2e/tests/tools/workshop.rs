//! A place with an empty cache, where a script stands in for the program that builds or installs: quick, and it writes
//! down what it was asked.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use anyhow::{Result, ensure};
use beskar7_e2e::process::{Signal, carrying};
use beskar7_e2e::wait;
use rustix::process::{Pid, kill_process};
use tempfile::TempDir;

/// Everything that a test starts carries this variable.
const MARK: &str = "BESKAR7_TEST_WORKSHOP";
const LIMIT: Duration = Duration::from_secs(20);

pub struct Workshop {
    place: TempDir,
    version: &'static str,
}

impl Workshop {
    /// With a script in place of a program, which says that it has this version.
    pub fn with(program: &str, script: &str, version: &'static str) -> Result<Self> {
        let workshop = Self { place: tempfile::tempdir()?, version };
        std::fs::create_dir_all(workshop.at("bin"))?;
        let program = workshop.at("bin").join(program);
        std::fs::write(&program, script)?;
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755))?;
        Ok(workshop)
    }

    pub fn at(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    /// `e2e tools …`
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_e2e"));
        command
            .arg("tools")
            .args(arguments)
            .env("PATH", format!("{}:/usr/bin:/bin", self.at("bin").display()))
            .env("BESKAR7_CACHE", self.at("cache"))
            .env_remove("KUBEBUILDER_ASSETS")
            .env("STAND_IN_CALLS", self.at("calls"))
            .env("STAND_IN_VERSION", self.version)
            .env("STAND_IN_SECONDS", "0")
            .env("STAND_IN_COMPLAINT", "")
            .env(MARK, self.place.path());
        command
    }

    /// How often the script was asked for this.
    pub fn calls(&self, what: &str) -> usize {
        let calls = std::fs::read_to_string(self.at("calls")).unwrap_or_default();
        calls.lines().filter(|line| *line == what).count()
    }

    /// What two say that ask for the same at once, while the script takes its time.
    pub fn asked_twice(&self, arguments: &[&str]) -> Result<(Output, Output)> {
        let ask = || {
            self.command(arguments)
                .env("STAND_IN_SECONDS", "1")
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
        };
        let (first, second) = (ask()?, ask()?);
        Ok((first.wait_with_output()?, second.wait_with_output()?))
    }

    /// Waits until the script was asked for something, kills who asked, and waits until nothing of it is left.
    pub async fn kill_at(&self, what: &str, mut asking: Child) -> Result<()> {
        wait::until_true(format!("{what} to be asked for"), LIMIT, || async {
            Ok(if self.calls(what) == 1 { Ok(()) } else { Err("not yet".to_owned()) })
        })
        .await?;
        kill_process(Pid::from_child(&asking), Signal::KILL)?;
        asking.wait()?;
        let mark = self.place.path().display().to_string();
        wait::until_true(format!("{what} to be gone"), LIMIT, || async {
            let left = carrying(MARK, &mark);
            Ok(if left.is_empty() { Ok(()) } else { Err(format!("{left:?}")) })
        })
        .await?;
        Ok(())
    }
}

/// The path that a command that worked has printed.
pub fn succeeded(output: &Output) -> Result<PathBuf> {
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()))
}

/// What a command that failed has said.
pub fn complaint(output: &Output) -> Result<String> {
    ensure!(!output.status.success(), "it went on");
    Ok(String::from_utf8_lossy(&output.stderr).into_owned())
}

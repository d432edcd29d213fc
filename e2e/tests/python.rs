//! The Python environment: made once, whoever asks; never taken for whole when it is not; and a clear word when
//! Python is missing, too old, or can't make environments.
//!
//! A stand-in for Python keeps this quick; the real one is used by `peers.rs`.
#![allow(clippy::unwrap_used, reason = "tests may panic")]

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use anyhow::{Result, ensure};
use beskar7_e2e::process::{Signal, carrying};
use beskar7_e2e::wait;
use rustix::process::{Pid, kill_process};
use tempfile::TempDir;

/// Answers as Python does, writes down that it was asked, and takes its time.
const STAND_IN: &str = r#"#!/bin/sh
echo "$1 $2" >> "$STAND_IN_CALLS"
case "$1 $2" in
"-m venv") mkdir -p "$3/bin" && cp "$0" "$3/bin/python3" ;;
"-m pip")
  echo "Collecting aenum==3.1.17"
  sleep "$STAND_IN_SECONDS"
  if [ -n "$STAND_IN_COMPLAINT" ]; then echo "$STAND_IN_COMPLAINT" >&2; exit 1; fi ;;
*)
  case "$STAND_IN_VERSION" in 3*) echo "$STAND_IN_VERSION" ;; *) echo "$STAND_IN_VERSION" >&2; exit 1 ;; esac ;;
esac
"#;

/// Everything that a test starts carries this variable.
const MARK: &str = "BESKAR7_TEST_PYTHON";

struct Workshop {
    place: TempDir,
}

impl Workshop {
    fn new() -> Result<Self> {
        let workshop = Self { place: tempfile::tempdir()? };
        std::fs::create_dir_all(workshop.at("bin"))?;
        let python = workshop.at("bin/python3");
        std::fs::write(&python, STAND_IN)?;
        std::fs::set_permissions(&python, std::fs::Permissions::from_mode(0o755))?;
        Ok(workshop)
    }

    fn at(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    /// `e2e tools python` with an empty cache and the stand-in for Python.
    fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_e2e"));
        command
            .args(["tools", "python"])
            .env("PATH", format!("{}:/usr/bin:/bin", self.at("bin").display()))
            .env("BESKAR7_CACHE", self.at("cache"))
            .env("STAND_IN_CALLS", self.at("calls"))
            .env("STAND_IN_VERSION", "3 12")
            .env("STAND_IN_SECONDS", "0")
            .env("STAND_IN_COMPLAINT", "")
            .env(MARK, self.place.path());
        command
    }

    fn calls(&self, what: &str) -> usize {
        let calls = std::fs::read_to_string(self.at("calls")).unwrap_or_default();
        calls.lines().filter(|line| *line == what).count()
    }
}

fn succeeded(output: &Output) -> Result<PathBuf> {
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()))
}

fn complaint(output: &Output) -> Result<String> {
    ensure!(!output.status.success(), "it went on");
    Ok(String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn the_environment_is_made_once_and_then_costs_nothing() -> Result<()> {
    let shop = Workshop::new()?;
    let made = succeeded(&shop.command().output()?)?;
    ensure!(made.starts_with(shop.at("cache")) && made.join("bin/python3").is_file(), "{}", made.display());
    let calls = std::fs::read_to_string(shop.at("calls"))?;

    std::fs::remove_file(shop.at("bin/python3"))?;
    assert_eq!(succeeded(&shop.command().output()?)?, made);
    assert_eq!(std::fs::read_to_string(shop.at("calls"))?, calls, "no Python is asked, nor needed");
    Ok(())
}

#[test]
fn an_environment_whose_python_is_gone_is_made_again() -> Result<()> {
    let shop = Workshop::new()?;
    let made = succeeded(&shop.command().output()?)?;
    std::fs::remove_file(made.join("bin/python3"))?;
    assert_eq!(succeeded(&shop.command().output()?)?, made);
    assert_eq!(shop.calls("-m pip"), 2);
    Ok(())
}

#[test]
fn two_that_ask_at_once_install_once() -> Result<()> {
    let shop = Workshop::new()?;
    let ask =
        || shop.command().env("STAND_IN_SECONDS", "1").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let (first, second) = (ask()?, ask()?);
    let (first, second) = (first.wait_with_output()?, second.wait_with_output()?);
    assert_eq!(succeeded(&first)?, succeeded(&second)?);
    assert_eq!(shop.calls("-m pip"), 1);
    Ok(())
}

#[tokio::test]
async fn an_installation_that_is_killed_takes_pip_along_and_the_next_one_starts_afresh() -> Result<()> {
    let shop = Workshop::new()?;
    let mut killed = shop.command().env("STAND_IN_SECONDS", "1000").stderr(Stdio::null()).spawn()?;
    wait::until_true("pip", Duration::from_secs(20), || async {
        Ok(if shop.calls("-m pip") == 1 { Ok(()) } else { Err("not yet asked for".to_owned()) })
    })
    .await?;
    kill_process(Pid::from_child(&killed), Signal::KILL)?;
    killed.wait()?;
    let mark = shop.place.path().display().to_string();
    wait::until_true("pip to be gone", Duration::from_secs(20), || async {
        let left = carrying(MARK, &mark);
        Ok(if left.is_empty() { Ok(()) } else { Err(format!("{left:?}")) })
    })
    .await?;
    succeeded(&shop.command().output()?)?;
    assert_eq!((shop.calls("-m venv"), shop.calls("-m pip")), (2, 2), "half of one is not a whole");
    Ok(())
}

#[test]
fn an_installation_that_fails_is_told_with_what_pip_said_and_is_tried_again() -> Result<()> {
    let shop = Workshop::new()?;
    let words = "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES";
    let told = complaint(&shop.command().env("STAND_IN_COMPLAINT", words).output()?)?;
    ensure!(told.contains("pip ended with exit code 1") && told.contains(words), "{told}");
    succeeded(&shop.command().output()?)?;
    assert_eq!(shop.calls("-m pip"), 2, "a failure is not taken for a result");
    Ok(())
}

#[test]
fn without_a_fit_python_it_says_what_to_install() -> Result<()> {
    let shop = Workshop::new()?;
    for (version, words) in [
        ("3 9", "the python3 here is 3.9, which is too old"),
        ("ModuleNotFoundError: No module named 'ensurepip'", "this python3 can't make environments"),
    ] {
        let told = complaint(&shop.command().env("STAND_IN_VERSION", version).output()?)?;
        ensure!(told.contains(words) && told.contains("apt-get install python3-venv"), "{told}");
    }
    std::fs::remove_file(shop.at("bin/python3"))?;
    let told = complaint(&shop.command().env("PATH", shop.at("bin")).output()?)?;
    ensure!(told.contains("there is no python3 on this machine"), "{told}");
    ensure!(told.contains("apt-get install python3-venv"), "{told}");
    Ok(())
}

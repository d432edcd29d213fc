//! The Python environment: made once, whoever asks; never taken for whole when it is not; and a clear word when
//! Python is missing, too old, or can't make environments.
//!
//! A stand-in for Python keeps this quick; the real one is used by `peers.rs`.
#![allow(clippy::unwrap_used, reason = "tests may panic")]

#[path = "tools/workshop.rs"]
mod workshop;

use std::process::Stdio;

use anyhow::{Result, ensure};
use workshop::{Workshop, complaint, succeeded};

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

fn workshop() -> Result<Workshop> {
    Workshop::with("python3", STAND_IN, "3 12")
}

#[test]
fn the_environment_is_made_once_and_then_costs_nothing() -> Result<()> {
    let shop = workshop()?;
    let made = succeeded(&shop.command(&["python"]).output()?)?;
    ensure!(made.starts_with(shop.at("cache")) && made.join("bin/python3").is_file(), "{}", made.display());
    let calls = std::fs::read_to_string(shop.at("calls"))?;

    std::fs::remove_file(shop.at("bin/python3"))?;
    assert_eq!(succeeded(&shop.command(&["python"]).output()?)?, made);
    assert_eq!(std::fs::read_to_string(shop.at("calls"))?, calls, "no Python is asked, nor needed");
    Ok(())
}

#[test]
fn an_environment_whose_python_is_gone_is_made_again() -> Result<()> {
    let shop = workshop()?;
    let made = succeeded(&shop.command(&["python"]).output()?)?;
    std::fs::remove_file(made.join("bin/python3"))?;
    assert_eq!(succeeded(&shop.command(&["python"]).output()?)?, made);
    assert_eq!(shop.calls("-m pip"), 2);
    Ok(())
}

#[test]
fn two_that_ask_at_once_install_once() -> Result<()> {
    let shop = workshop()?;
    let (first, second) = shop.asked_twice(&["python"])?;
    assert_eq!(succeeded(&first)?, succeeded(&second)?);
    assert_eq!(shop.calls("-m pip"), 1);
    Ok(())
}

#[tokio::test]
async fn an_installation_that_is_killed_takes_pip_along_and_the_next_one_starts_afresh() -> Result<()> {
    let shop = workshop()?;
    let asking = shop.command(&["python"]).env("STAND_IN_SECONDS", "1000").stderr(Stdio::null()).spawn()?;
    shop.kill_at("-m pip", asking).await?;
    succeeded(&shop.command(&["python"]).output()?)?;
    assert_eq!((shop.calls("-m venv"), shop.calls("-m pip")), (2, 2), "half of one is not a whole");
    Ok(())
}

#[test]
fn an_installation_that_fails_is_told_with_what_pip_said_and_is_tried_again() -> Result<()> {
    let shop = workshop()?;
    let words = "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES";
    let told = complaint(&shop.command(&["python"]).env("STAND_IN_COMPLAINT", words).output()?)?;
    ensure!(told.contains("pip ended with exit code 1") && told.contains(words), "{told}");
    succeeded(&shop.command(&["python"]).output()?)?;
    assert_eq!(shop.calls("-m pip"), 2, "a failure is not taken for a result");
    Ok(())
}

#[test]
fn without_a_fit_python_it_says_what_to_install() -> Result<()> {
    let shop = workshop()?;
    for (version, words) in [
        ("3 9", "the python3 here is 3.9, which is too old"),
        ("ModuleNotFoundError: No module named 'ensurepip'", "this python3 can't make environments"),
    ] {
        let told = complaint(&shop.command(&["python"]).env("STAND_IN_VERSION", version).output()?)?;
        ensure!(told.contains(words) && told.contains("apt-get install python3-venv"), "{told}");
    }
    std::fs::remove_file(shop.at("bin/python3"))?;
    let told = complaint(&shop.command(&["python"]).env("PATH", shop.at("bin")).output()?)?;
    ensure!(told.contains("there is no python3 on this machine"), "{told}");
    ensure!(told.contains("apt-get install python3-venv"), "{told}");
    Ok(())
}

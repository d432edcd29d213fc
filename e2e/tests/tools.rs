//! Building the components: once, whoever asks; never half; and a clear word
//! when Go is missing, too old, or fails.
//!
//! A stand-in for Go keeps this quick; the real one is used by every other
//! test of this crate.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests may panic")]

#[path = "tools/workshop.rs"]
mod workshop;

use std::path::Path;
use std::process::Stdio;

use anyhow::{Result, ensure};
use beskar7_e2e::tools::Tool;
use workshop::{Workshop, complaint, succeeded};

/// Answers as Go does, writes down that it was asked, and takes its time.
const STAND_IN: &str = r#"#!/bin/sh
echo "$1" >> "$STAND_IN_CALLS"
case "$1" in
env)
  case "$STAND_IN_VERSION" in go1*) echo "$STAND_IN_VERSION" ;; *) echo "go: $STAND_IN_VERSION" >&2; exit 1 ;; esac ;;
list) printf 'internal/abi\nmain\n' ;;
build)
  echo internal/abi >&2
  sleep "$STAND_IN_SECONDS"
  if [ -n "$STAND_IN_COMPLAINT" ]; then echo "$STAND_IN_COMPLAINT" >&2; exit 1; fi
  while [ $# -gt 1 ]; do
    if [ "$1" = -o ]; then printf 'a program' > "$2"; fi
    shift
  done ;;
esac
"#;

fn workshop() -> Result<Workshop> {
    Workshop::with("go", STAND_IN, "go1.99.0")
}

#[test]
fn a_component_is_built_once_and_then_costs_nothing() -> Result<()> {
    let shop = workshop()?;
    let built = succeeded(&shop.command(&["path", "etcd"]).output()?)?;
    assert_eq!(std::fs::read_to_string(&built)?, "a program");
    let folder = built.parent().and_then(Path::file_name).unwrap().to_string_lossy().into_owned();
    ensure!(folder.starts_with(&format!("etcd-{}-", Tool::Etcd.version()?)), "{folder}");
    let calls = std::fs::read_to_string(shop.at("calls"))?;

    std::fs::remove_file(shop.at("bin/go"))?;
    assert_eq!(succeeded(&shop.command(&["path", "etcd"]).output()?)?, built);
    assert_eq!(std::fs::read_to_string(shop.at("calls"))?, calls, "no Go is asked, nor needed");
    Ok(())
}

#[test]
fn two_that_ask_at_once_build_once() -> Result<()> {
    let shop = workshop()?;
    let (first, second) = shop.asked_twice(&["path", "etcd"])?;
    assert_eq!(succeeded(&first)?, succeeded(&second)?);
    assert_eq!(shop.calls("build"), 1);
    Ok(())
}

#[tokio::test]
async fn a_build_that_is_killed_takes_go_along_and_the_next_one_starts_afresh() -> Result<()> {
    let shop = workshop()?;
    let asking =
        shop.command(&["path", "etcd"]).env("STAND_IN_SECONDS", "1000").stderr(Stdio::null()).spawn()?;
    shop.kill_at("build", asking).await?;
    let built = succeeded(&shop.command(&["path", "etcd"]).output()?)?;
    assert_eq!(std::fs::read_to_string(built)?, "a program");
    Ok(())
}

#[test]
fn a_build_that_fails_is_told_with_what_go_said_and_leaves_no_program() -> Result<()> {
    let shop = workshop()?;
    let failed =
        shop.command(&["path", "kubectl"]).env("STAND_IN_COMPLAINT", "x.go:3: no such thing").output()?;
    let told = complaint(&failed)?;
    ensure!(told.contains("error: building kubectl: go build ended with exit code 1"), "{told}");
    ensure!(told.contains("    x.go:3: no such thing"), "{told}");
    succeeded(&shop.command(&["path", "kubectl"]).output()?)?;
    assert_eq!(shop.calls("build"), 2, "a failure is not taken for a result");
    Ok(())
}

#[test]
fn without_go_it_says_what_to_install_and_the_way_around() -> Result<()> {
    let shop = workshop()?;
    std::fs::remove_file(shop.at("bin/go"))?;
    let told = complaint(&shop.command(&["path", "etcd"]).env("PATH", shop.at("bin")).output()?)?;
    ensure!(told.contains("there is no Go on this machine"), "{told}");
    ensure!(told.contains("Install Go 1.") && told.contains("KUBEBUILDER_ASSETS"), "{told}");

    let shop = workshop()?;
    let told = complaint(&shop.command(&["path", "etcd"]).env("STAND_IN_VERSION", "go1.20.1").output()?)?;
    ensure!(told.contains("the Go here (go1.20.1) is too old for etcd: it needs 1."), "{told}");

    // With GOTOOLCHAIN=local it is Go itself that refuses.
    let words = "go.mod requires go >= 1.26.0 (running go 1.24.0; GOTOOLCHAIN=local)";
    let told = complaint(&shop.command(&["path", "etcd"]).env("STAND_IN_VERSION", words).output()?)?;
    ensure!(told.contains("the Go here does not build etcd") && told.contains(words), "{told}");
    ensure!(told.contains("Install Go 1."), "{told}");
    Ok(())
}

#[test]
fn programs_of_envtest_are_used_as_they_are() -> Result<()> {
    let shop = workshop()?;
    std::fs::create_dir_all(shop.at("assets"))?;
    for name in ["etcd", "kube-apiserver", "kubectl"] {
        std::fs::write(shop.at("assets").join(name), "somebody else's")?;
    }
    for name in ["etcd", "kube-apiserver", "kubectl"] {
        let path =
            succeeded(&shop.command(&["path", name]).env("KUBEBUILDER_ASSETS", shop.at("assets")).output()?)?;
        assert_eq!(path, shop.at("assets").join(name));
    }
    assert_eq!(shop.calls("build"), 0);
    // What is not among them is built.
    let mut rest = shop.command(&["path", "kube-controller-manager"]);
    let path = succeeded(&rest.env("KUBEBUILDER_ASSETS", shop.at("assets")).output()?)?;
    ensure!(path.starts_with(shop.at("cache")), "{}", path.display());
    Ok(())
}

//! The Go toolchain of this machine: whether there is one, whether it is new
//! enough, and how it is called.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::catalogue::{Module, Tool};
use super::progress::Progress;
use crate::process::Command;
use crate::workspace;

/// Asking Go about itself; with `GOTOOLCHAIN=auto` it may download another
/// toolchain first.
const ANSWER_LIMIT: Duration = Duration::from_secs(600);

pub(super) struct Go {
    program: PathBuf,
}

impl Go {
    /// The Go that builds `module`, or what to install instead of nothing.
    pub(super) fn find(module: &Module, progress: &mut dyn Progress) -> Result<Self> {
        let needed = module.go_version();
        let Some(program) = on_path("go") else {
            bail!(
                "there is no Go on this machine, and {} {} is built with it.\n{}",
                module.folder,
                module.version()?,
                advice(needed)
            );
        };
        let go = Self { program };
        let output =
            go.command(module, "env").arg("GOVERSION").run_blocking_with(ANSWER_LIMIT, &mut |_| {
                progress.now("waiting for Go, which may be fetching another toolchain");
            })?;
        let too_old = |found: &str| {
            format!(
                "the Go here ({found}) is too old for {}: it needs {needed}.\n{}",
                module.folder,
                advice(needed)
            )
        };
        match output.success() {
            Ok(version) if new_enough(version.trim(), needed) => Ok(go),
            Ok(version) => bail!(too_old(version.trim())),
            Err(error) => Err(error).with_context(|| {
                format!(
                    "the Go here does not build {}, which needs {needed}.\n{}\nIt said",
                    module.folder,
                    advice(needed)
                )
            }),
        }
    }

    /// A `go` command in the folder of a module, free of what the environment
    /// could do to it.
    pub(super) fn command(&self, module: &Module, verb: &str) -> Command {
        Command::new(format!("go {verb}"), &self.program)
            .arg(verb)
            .current_dir(workspace::root().join("e2e/tools").join(module.folder))
            .env("CGO_ENABLED", "0")
            .env("GOWORK", "off")
            .env_remove("GOOS")
            .env_remove("GOARCH")
    }
}

fn advice(needed: &str) -> String {
    let control_plane: Vec<&str> = Tool::CONTROL_PLANE.iter().map(|tool| tool.file_name()).collect();
    format!(
        "Install Go {needed} or newer (https://go.dev/dl/). Without it: programs found under their names in the \
         directory that KUBEBUILDER_ASSETS names are used as they are ({}, clusterctl), and BESKAR7_CACHE may name \
         a copy of the cache of another machine.",
        control_plane.join(", ")
    )
}

pub(super) fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|directory| directory.join(name)).find(|candidate| candidate.is_file())
}

/// Whether `go1.26.8` (with whatever a build appends) is at least `1.26.0`.
fn new_enough(found: &str, needed: &str) -> bool {
    let Some(found) = found.strip_prefix("go") else {
        // A development build says "devel …" and is taken at its word.
        return found.starts_with("devel");
    };
    numbers(found) >= numbers(needed)
}

fn numbers(version: &str) -> Vec<u32> {
    let end = version.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(version.len());
    version.get(..end).unwrap_or_default().split('.').map(|part| part.parse().unwrap_or(0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn go_versions_are_compared_as_numbers() {
        assert!(new_enough("go1.26.0", "1.26.0"));
        assert!(new_enough("go1.27.1", "1.26.0"));
        assert!(new_enough("go1.100.0", "1.26.9"));
        assert!(new_enough("go1.26.8 X:nodwarf5", "1.26.0"));
        assert!(new_enough("devel go1.28-abcdef", "1.26.0"));
        assert!(!new_enough("go1.25.9", "1.26.0"));
        assert!(!new_enough("", "1.26.0"));
    }

    #[test]
    fn the_advice_names_what_to_install_and_the_way_around() {
        let advice = advice("1.26.0");
        assert!(advice.contains("Install Go 1.26.0 or newer"));
        assert!(advice.contains("KUBEBUILDER_ASSETS") && advice.contains("kube-apiserver"));
    }
}

//! The directory of the demo: one demo at a time, an empty cluster each time,
//! and what a person needs at hand in a shell.

use std::fs::{File, TryLockError};
use std::io::{Read, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::{servers, story, tenant};
use crate::tools::{Tool, Tools};

/// The directory, held for as long as this value lives.
#[derive(Debug)]
pub(super) struct Desk {
    directory: PathBuf,
    _lock: File,
}

impl Desk {
    /// Takes the directory and clears what the last demo left.
    pub(super) fn take(directory: &Path) -> Result<Self> {
        create(directory)?;
        let directory =
            directory.canonicalize().with_context(|| format!("finding {}", directory.display()))?;
        let path = directory.join("lock");
        let file = File::options().create(true).truncate(false).read(true).write(true).open(&path);
        let mut lock = file.with_context(|| format!("opening {}", path.display()))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                lock.read_to_string(&mut holder).ok();
                bail!(
                    "a demo already runs in {} (process {}): use it, stop it with Ctrl-C, \
                     or give this one another --directory",
                    directory.display(),
                    holder.trim()
                );
            }
            Err(TryLockError::Error(error)) => {
                return Err(error).with_context(|| format!("locking {}", path.display()));
            }
        }
        lock.set_len(0)
            .and_then(|()| writeln!(lock, "{}", std::process::id()))
            .context("writing the lock")?;
        let desk = Self { directory, _lock: lock };
        match std::fs::remove_dir_all(desk.state()) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("clearing {}", desk.state().display()));
            }
            Ok(()) | Err(_) => {}
        }
        create(&desk.state())?;
        Ok(desk)
    }

    /// Where the control plane keeps everything.
    pub(super) fn state(&self) -> PathBuf {
        self.directory.join("run")
    }

    pub(super) fn logs(&self) -> PathBuf {
        self.state().join("logs")
    }

    /// Puts kubectl and clusterctl, and the file that leads to them, in reach.
    pub(super) fn lay_out(&self, tools: &Tools, kubeconfig: &Path, clusterctl_config: &Path) -> Result<()> {
        let bin = self.directory.join("bin");
        create(&bin)?;
        let kubectl = bin.join("kubectl");
        std::fs::remove_file(&kubectl).ok();
        symlink(tools.path(Tool::Kubectl)?, &kubectl).context("a link to kubectl")?;

        let clusterctl = bin.join("clusterctl");
        let real = quoted(tools.path(Tool::Clusterctl)?);
        let script = format!("#!/bin/sh\nexec {real} --config {} \"$@\"\n", quoted(clusterctl_config));
        write(&clusterctl, &script)?;
        std::fs::set_permissions(&clusterctl, std::fs::Permissions::from_mode(0o755))
            .context("making it a program")?;

        let variables = format!(
            "export KUBECONFIG={}\nexport KUBECACHEDIR={}\nexport PATH={}:\"$PATH\"\n",
            quoted(kubeconfig),
            quoted(&self.state().join("kubectl-cache")),
            quoted(&bin)
        );
        write(&self.directory.join("env"), &variables)
    }

    /// What a person may want to type, in another terminal.
    pub(super) fn what_next(&self, cluster: bool) -> String {
        let here = std::env::current_dir().unwrap_or_default();
        let seen = |path: PathBuf| path.strip_prefix(&here).map(Path::to_owned).unwrap_or(path);
        let environment = seen(self.directory.join("env"));
        // `. env` alone would be looked up in PATH.
        let environment = if environment.components().count() == 1 {
            Path::new(".").join(environment)
        } else {
            environment
        };
        let namespace = servers::NAMESPACE;
        let of_cluster = match cluster {
            true => format!(
                "    clusterctl describe cluster {cluster} -n {namespace}
    kubectl get machines,beskar7machines -n {namespace}
    kubectl scale machinedeployment -n {namespace} {cluster}-md-0 --replicas=3
    kubectl describe hostclaim -n {tenant}
    kubectl get secrets -n {namespace} -l beskar7.infrastructure.cluster.x-k8s.io/claim-id
",
                cluster = story::CLUSTER,
                tenant = tenant::NAMESPACE
            ),
            false => String::new(),
        };
        format!(
            "In another terminal:

    . {environment}
    kubectl get providers -A
    kubectl explain physicalhost.spec.redfishConnection
    kubectl get physicalhosts -n {namespace} -o wide
    kubectl describe physicalhost -n {namespace} dell-idrac
    kubectl get hardwaredata -n {namespace}
{of_cluster}
Logs: {logs}
",
            environment = environment.display(),
            logs = seen(self.logs()).display(),
        )
    }
}

/// A path as a shell reads it.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}

fn create(directory: &Path) -> Result<()> {
    std::fs::create_dir_all(directory).with_context(|| format!("making {}", directory.display()))
}

fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).with_context(|| format!("writing {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_demo_at_a_time_and_an_empty_cluster_each_time() {
        let place = tempfile::tempdir().unwrap();
        let first = Desk::take(place.path()).unwrap();
        std::fs::write(first.state().join("old"), "data").unwrap();
        let second = Desk::take(place.path()).unwrap_err().to_string();
        assert!(second.contains(&format!("(process {})", std::process::id())), "{second}");
        assert!(first.state().join("old").exists(), "a refused demo must not touch the running one");
        drop(first);
        assert!(!Desk::take(place.path()).unwrap().state().join("old").exists());
    }

    #[test]
    fn paths_survive_a_shell() {
        assert_eq!(quoted(Path::new("/it's here")), r"'/it'\''s here'");
    }
}

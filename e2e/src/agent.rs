//! The agent as it is shipped: in the ramdisk that the real builder makes of it, with this machine's kernel.
//!
//! `BESKAR7_AGENT` names its static program; `make agent-vms` builds it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use tempfile::TempDir;

use crate::isos::installed::Installed;
use crate::process::Command;
use crate::workspace;

/// An emulated timer on a busy machine does not pass the kernel's check.
const OPTIONS: &str = "console=ttyS0 no_timer_check panic=60";

/// It packs a program and a few hundred modules.
const LIMIT: Duration = Duration::from_secs(300);

/// What hosts start the agent from. It is gone when this is dropped.
#[derive(Debug)]
pub struct Ramdisk {
    directory: TempDir,
}

/// The agent's program, if there is one.
#[must_use]
pub fn program() -> Option<PathBuf> {
    std::env::var_os("BESKAR7_AGENT").map(PathBuf::from)
}

impl Ramdisk {
    /// Makes it of an agent.
    pub async fn make(installed: &Installed, agent: &Path) -> Result<Self> {
        let directory = tempfile::Builder::new().prefix("beskar7-agent-").tempdir();
        let directory = directory.context("a directory for the agent")?;
        let builder = Command::new("ramdisk", workspace::ramdisk_program())
            .arg("--agent")
            .arg(agent)
            .arg("--kernel")
            .arg(&installed.kernel)
            .arg("--modules")
            .arg(&installed.modules)
            .arg("--loader")
            .arg(&installed.systemd_boot)
            .args(["--options", OPTIONS, "--out"])
            .arg(directory.path());
        builder.run(LIMIT).await?.success().context("the agent's ramdisk")?;
        Ok(Self { directory })
    }

    /// The kernel, for network boot.
    pub fn kernel(&self) -> Result<Vec<u8>> {
        self.read("kernel")
    }

    /// The initramfs, for network boot.
    pub fn initramfs(&self) -> Result<Vec<u8>> {
        self.read("initramfs")
    }

    /// Both, for virtual media.
    pub fn iso(&self) -> Result<Vec<u8>> {
        self.read("agent.iso")
    }

    fn read(&self, name: &str) -> Result<Vec<u8>> {
        let path = self.directory.path().join(name);
        std::fs::read(&path).with_context(|| format!("reading {}", path.display()))
    }
}

//! What a laboratory is made of: what the distribution's packages have put on this machine, and what its kernel allows.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;

use crate::isos::installed::{Missing, file, program};
use crate::process::Command;

const LIMIT: Duration = Duration::from_secs(20);

/// Why there can be no laboratory here.
#[derive(Debug)]
pub enum Impossible {
    /// Something is not installed.
    Missing(Missing),
    /// The kernel, or who started us, does not allow it.
    Forbidden(String),
}

impl fmt::Display for Impossible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(missing) => missing.fmt(f),
            Self::Forbidden(why) => write!(f, "no network of its own can be made here: {why}"),
        }
    }
}

/// The programs and files of a laboratory.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "each is named after what it is")]
pub struct Installed {
    pub ip: PathBuf,
    pub unshare: PathBuf,
    pub nsenter: PathBuf,
    pub setpriv: PathBuf,
    pub dnsmasq: PathBuf,
    /// iPXE as a UEFI program that uses the firmware's own driver.
    pub snponly: PathBuf,
    /// iPXE for a BIOS, likewise.
    pub undionly: PathBuf,
}

impl Installed {
    /// Finds everything, or says what is missing first.
    pub fn find() -> Result<Self, Impossible> {
        let found = Self::find_files().map_err(Impossible::Missing)?;
        found.try_out()?;
        Ok(found)
    }

    fn find_files() -> Result<Self, Missing> {
        // The card's ROM, with which a BIOS boots from the network.
        file("/usr/lib/ipxe/qemu/efi-virtio.rom", "ipxe-qemu")?;
        Ok(Self {
            ip: program("ip", "iproute2")?,
            unshare: program("unshare", "util-linux")?,
            nsenter: program("nsenter", "util-linux")?,
            setpriv: program("setpriv", "util-linux")?,
            dnsmasq: program("dnsmasq", "dnsmasq-base")?,
            snponly: file("/usr/lib/ipxe/snponly.efi", "ipxe")?,
            undionly: file("/usr/lib/ipxe/undionly.kpxe", "ipxe")?,
        })
    }

    /// How a command begins that runs in a network of its own.
    #[must_use]
    pub fn in_new_network(&self, name: &str) -> Command {
        let command = Command::new(name, &self.unshare).arg("--net");
        // Only root may make a network, so who is not becomes root of a world of its own.
        let is_root = rustix::process::geteuid().is_root();
        if is_root { command } else { command.args(["--user", "--map-root-user"]) }
    }

    /// Tries whether bridges and taps can be made.
    fn try_out(&self) -> Result<(), Impossible> {
        let script = r#""$0" link add b7 type bridge && "$0" tuntap add dev b7tap mode tap"#;
        let tried = self.in_new_network("ip").args(["sh", "-c", script]).arg(&self.ip);
        let tried = tried.run_blocking(LIMIT).and_then(|output| output.success());
        tried.map(drop).map_err(|error| Impossible::Forbidden(format!("{error:#}").replace('\n', " ")))
    }
}

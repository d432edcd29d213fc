//! A network of its own, in which machines with real firmware boot from servers of ours.
//!
//! A test runs in a process with a network namespace of its own ([`alone`]): there are bridges, machines are connected
//! to them by taps, and [`Neighbour`]s are other computers on them, such as a site's DHCP server or a relay. Nothing of
//! it can be reached from outside, all ports are free, and everything is gone with the process.

mod alone;
mod dnsmasq;
pub mod installed;
mod neighbour;
mod segment;

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use tempfile::TempDir;

pub use self::alone::alone;
use self::installed::Installed;
pub use self::neighbour::Neighbour;
pub use self::segment::Segment;
use crate::process::Command;

/// `ip` does all that it does at once.
const LIMIT: Duration = Duration::from_secs(20);

/// The network. It is there once in a process: see [`alone`].
#[derive(Debug)]
pub struct Lab {
    installed: Installed,
    directory: TempDir,
}

impl Lab {
    /// In a namespace where nothing is up yet.
    async fn new(installed: Installed) -> Result<Self> {
        let directory = tempfile::Builder::new().prefix("beskar7-lab-").tempdir();
        let lab = Self { installed, directory: directory.context("a directory for a laboratory")? };
        lab.ip(&["link", "set", "lo", "up"]).await?;
        Ok(lab)
    }

    /// The programs and files that it needs.
    #[must_use]
    pub fn installed(&self) -> &Installed {
        &self.installed
    }

    /// Where logs are.
    #[must_use]
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Changes the network of this process.
    pub(crate) async fn ip(&self, arguments: &[&str]) -> Result<()> {
        let command = Command::new("ip", &self.installed.ip).args(arguments);
        command.run(LIMIT).await?.success().map(drop)
    }

    /// A way to a network that is behind a neighbour.
    pub async fn route(&self, network: &str, through: std::net::Ipv4Addr) -> Result<()> {
        self.ip(&["route", "add", network, "via", &through.to_string()]).await
    }
}

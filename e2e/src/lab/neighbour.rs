//! Another computer on a segment: a network namespace inside the laboratory's, in which programs run.

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::segment::{PREFIX, Segment};
use super::{LIMIT, Lab};
use crate::process::{Command, Process};
use crate::wait::{self, Seen};

/// Another computer. It is gone when this is dropped.
#[derive(Debug)]
pub struct Neighbour {
    name: String,
    /// Does nothing; its network is the computer's.
    holder: Process,
}

impl Lab {
    /// A computer that is connected to nothing yet.
    pub async fn neighbour(&self, name: &str) -> Result<Neighbour> {
        let holder = Command::new(name, &self.installed.unshare).args(["--net", "sleep", "infinity"]);
        let holder = holder.spawn(self.directory().join(format!("{name}.log")))?;
        let neighbour = Neighbour { name: name.to_owned(), holder };
        let own = network_of("self")?;
        wait::until("a neighbour's network", LIMIT, || async {
            if let Err(ended) = neighbour.holder.check() {
                return Ok(Seen::Never(ended));
            }
            let theirs = network_of(&neighbour.holder.pid().to_string())?;
            Ok(if theirs == own { Seen::NotYet("the same as ours".to_owned()) } else { Seen::Done(()) })
        })
        .await?;
        self.ip_inside(&neighbour, &["link", "set", "lo", "up"]).await?;
        Ok(neighbour)
    }

    /// Connects a neighbour to a segment.
    pub async fn join(&self, neighbour: &Neighbour, segment: &Segment, address: Ipv4Addr) -> Result<()> {
        let ours = format!("{}-{}", segment.name(), neighbour.name);
        let (pid, card) = (neighbour.holder.pid().to_string(), neighbour.card(segment));
        self.ip(&["link", "add", &ours, "type", "veth", "peer", "name", &card, "netns", &pid]).await?;
        self.connect(&ours, segment).await?;
        let address = format!("{address}/{PREFIX}");
        self.ip_inside(neighbour, &["address", "add", &address, "dev", &card]).await?;
        self.ip_inside(neighbour, &["link", "set", &card, "up"]).await
    }

    /// Has it hand on what is for others.
    pub async fn make_router(&self, neighbour: &Neighbour) -> Result<()> {
        let shell = self.command_inside(neighbour, "sh", Path::new("sh"));
        let forward = shell.args(["-c", "echo 1 >/proc/sys/net/ipv4/ip_forward"]);
        forward.run(LIMIT).await?.success().map(drop)
    }

    /// A program that runs on it.
    pub(super) fn command_inside(&self, neighbour: &Neighbour, name: &str, program: &Path) -> Command {
        let network = format!("--net=/proc/{}/ns/net", neighbour.holder.pid());
        Command::new(name, &self.installed.nsenter).arg(network).arg("--").arg(program)
    }

    async fn ip_inside(&self, neighbour: &Neighbour, arguments: &[&str]) -> Result<()> {
        let command = self.command_inside(neighbour, "ip", &self.installed.ip).args(arguments);
        command.run(LIMIT).await?.success().map(drop)
    }
}

impl Neighbour {
    /// The name of its network card on a segment.
    #[must_use]
    pub fn card(&self, segment: &Segment) -> String {
        format!("to-{}", segment.name())
    }
}

/// What tells one network from another.
fn network_of(process: &str) -> Result<PathBuf> {
    let path = format!("/proc/{process}/ns/net");
    std::fs::read_link(&path).with_context(|| format!("reading {path}"))
}

//! A network segment: a bridge, and the taps by which machines are connected to it.

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, Result};

use super::Lab;
use crate::vm::Line;

/// How many bits of an address are the network's.
pub const PREFIX: u8 = 24;

/// A bridge.
#[derive(Debug)]
pub struct Segment {
    name: String,
    taps: AtomicU32,
}

impl Lab {
    /// A segment. With an address, this process is on it, too.
    pub async fn segment(&self, name: &str, address: Option<Ipv4Addr>) -> Result<Segment> {
        // Without these a bridge stays silent for half a minute: firmware would have given up.
        let bridge = ["link", "add", name, "type", "bridge", "stp_state", "0", "forward_delay", "0"];
        self.ip(&bridge).await?;
        if let Some(address) = address {
            self.ip(&["address", "add", &format!("{address}/{PREFIX}"), "dev", name]).await?;
        }
        self.ip(&["link", "set", name, "up"]).await?;
        Ok(Segment { name: name.to_owned(), taps: AtomicU32::new(0) })
    }

    /// A line on a segment, for one machine.
    pub async fn line(&self, segment: &Segment) -> Result<Line> {
        let number = segment.taps.fetch_add(1, Ordering::Relaxed);
        let tap = format!("{}-tap{number}", segment.name);
        self.ip(&["tuntap", "add", "dev", &tap, "mode", "tap"]).await?;
        self.connect(&tap, segment).await.with_context(|| format!("the tap {tap}"))?;
        Ok(Line::Tap(tap))
    }

    /// Connects a device of this process's network to a segment.
    pub(super) async fn connect(&self, device: &str, segment: &Segment) -> Result<()> {
        self.ip(&["link", "set", device, "master", &segment.name, "up"]).await
    }
}

impl Segment {
    /// The name of its bridge.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

//! dnsmasq on a neighbour: a site's own DHCP server, or a relay.

use std::net::Ipv4Addr;
use std::ops::RangeInclusive;

use anyhow::Result;

use super::{LIMIT, Lab, Neighbour, Segment};
use crate::process::{Process, tail};
use crate::wait::{self, Seen};

impl Lab {
    /// A site's DHCP server, which gives addresses to whoever asks and knows nothing of booting.
    pub async fn site_dhcp(
        &self,
        neighbour: &Neighbour,
        segment: &Segment,
        addresses: RangeInclusive<Ipv4Addr>,
    ) -> Result<Process> {
        let range = format!("--dhcp-range={},{},255.255.255.0,1h", addresses.start(), addresses.end());
        let interface = format!("--interface={}", neighbour.card(segment));
        self.dnsmasq(neighbour, &[range, interface], "DHCP, IP range").await
    }

    /// A relay between a segment, where it has the address `here`, and a server elsewhere.
    pub async fn dhcp_relay(
        &self,
        neighbour: &Neighbour,
        here: Ipv4Addr,
        server: Ipv4Addr,
    ) -> Result<Process> {
        self.dnsmasq(neighbour, &[format!("--dhcp-relay={here},{server}")], "DHCP relay").await
    }

    async fn dnsmasq(&self, neighbour: &Neighbour, settings: &[String], ready: &str) -> Result<Process> {
        let log = self.directory().join("dnsmasq.log");
        let leases = self.directory().join("leases");
        let command = self.command_inside(neighbour, "dnsmasq", &self.installed().dnsmasq);
        // In the foreground, as whoever we are, without this machine's own configuration, and without DNS.
        let command = command.args(["--no-daemon", "--conf-file=/dev/null", "--port=0", "--log-dhcp"]);
        let command = command.arg(format!("--dhcp-leasefile={}", leases.display())).args(settings);
        let process = command.spawn(&log)?;
        wait::until("dnsmasq to listen", LIMIT, || async {
            if let Err(ended) = process.check() {
                return Ok(Seen::Never(ended));
            }
            let said = tail(&log, 50);
            Ok(if said.contains(ready) { Seen::Done(()) } else { Seen::NotYet(said) })
        })
        .await?;
        Ok(process)
    }
}

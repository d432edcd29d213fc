//! What the agent on a machine and the boot server say to each other, as JSON over HTTP.
//!
//! The agent asks for an order, carries it out, reports all the while, and asks for the next one. It decides nothing that
//! the server could decide, and keeps nothing: after a power cut it asks again.
//!
//! All paths are below the URL that it is given on its kernel's command line (`beskar7.url`), which ends in `/`.
#![cfg_attr(test, allow(clippy::unwrap_used, reason = "tests may panic"))]

pub mod hardware;
pub mod order;
pub mod report;

/// Words on the kernel's command line.
pub mod command_line {
    /// Where the boot server is, for this machine: `<boot URL>/c/<capability>/`.
    pub const URL: &str = "beskar7.url";
    /// The MAC address of the interface to use; without it, each that has a link is tried.
    pub const INTERFACE: &str = "beskar7.mac";
    /// A fixed address: `<address>/<prefix>[,<gateway>[,<DNS server>…]]`; without it, DHCP is asked.
    pub const ADDRESS: &str = "beskar7.ip";
}

/// Below the machine's URL.
pub mod paths {
    /// GET: the next [`crate::order::Order`]; 204 where there is none yet.
    pub const ORDER: &str = "agent/order";
    /// POST: a [`crate::report::Report`]. 410 where the order it is about is not wanted any more.
    pub const REPORT: &str = "agent/report";
    /// GET: whether anybody is there, and by its `Date` what time it is; outside of the machine's URL, for who was not
    /// verified yet.
    pub const HEALTH: &str = "../../healthz";
}

/// In the ramdisk that the agent is the first program of.
pub mod ramdisk {
    /// The certificates, in PEM, of the CAs that the server's certificate is verified by, where it has one.
    pub const CA: &str = "etc/beskar7/ca.pem";
}

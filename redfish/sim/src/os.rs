//! The hook for what a booted operating system does.
//!
//! Without one nothing happens after a boot; with one a test or the demo puts a node, an installer or
//! an agent behind each machine. It is ended when its machine goes down.

use std::net::{IpAddr, Ipv4Addr};
use std::pin::Pin;
use std::sync::{Arc, Weak};

use crate::host::Host;
use crate::machine::boot::BootSource;
use crate::machine::power::ResetType;

/// What [`BootedOs::booted`] returns.
pub type OsFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

/// What runs on the machines.
pub trait BootedOs: Send + Sync {
    /// An operating system has started; the future is its life, and is dropped when power goes.
    fn booted(&self, what: Booted) -> OsFuture;
}

/// A machine on which an operating system has started.
#[derive(Debug, Clone)]
pub struct Booted {
    /// The BMC's address.
    pub address: Ipv4Addr,
    /// The profile's name.
    pub profile: &'static str,
    /// The machine's UUID, as its SMBIOS has it.
    pub uuid: String,
    /// Its serial number.
    pub serial: String,
    /// The MAC addresses of its NICs.
    pub macs: Vec<String>,
    /// What it was started from.
    pub source: BootSource,
    /// What was in its drives when it started: the medium it came from, and any other, such as one with its
    /// configuration.
    pub media: Vec<Medium>,
    /// What the system can do to its machine.
    pub machine: OsHandle,
}

/// An image in a drive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Medium {
    /// The slot's id.
    pub slot: String,
    /// The image's URL, from which its bytes can be read as the machine would read them.
    pub image: String,
}

/// What an operating system can do to the machine that it runs on.
#[derive(Debug, Clone)]
pub struct OsHandle {
    host: Weak<Host>,
}

impl OsHandle {
    pub(crate) fn new(host: &Arc<Host>) -> Self {
        Self { host: Arc::downgrade(host) }
    }

    /// Shuts down. The caller's own future is dropped by it.
    pub fn power_off(&self) {
        self.reset(ResetType::GracefulShutdown);
    }

    /// Restarts. The caller's own future is dropped by it.
    pub fn restart(&self) {
        self.reset(ResetType::GracefulRestart);
    }

    /// Puts something bootable on the disk, or wipes it.
    pub fn install(&self, what: Option<String>) {
        if let Some(host) = self.host.upgrade() {
            host.with(|bmc, _| bmc.machine.install(what));
        }
    }

    /// Tells the BMC the system's addresses.
    pub fn tell_addresses(&self, addresses: Vec<IpAddr>) {
        if let Some(host) = self.host.upgrade() {
            host.with(|bmc, _| bmc.machine.tell_addresses(addresses));
        }
    }

    fn reset(&self, kind: ResetType) {
        if let Some(host) = self.host.upgrade() {
            host.with(|bmc, now| bmc.machine.reset(now, "os", kind));
        }
    }
}

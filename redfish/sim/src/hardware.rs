//! The hook for machines that are not simulated: virtual ones with real firmware, behind a simulated BMC.
//!
//! Without one the simulator's own machines are behind the BMCs. See [`crate::machine::outside`] for what is asked.

use std::net::Ipv4Addr;
use std::sync::{Arc, Weak};

use crate::host::Host;
pub use crate::machine::outside::{Order, Report};

/// Machines that are not simulated.
pub trait Hardware: Send + Sync {
    /// Takes an order for the machine behind the BMC at an address, and returns at once: the BMC answers nobody
    /// before. They come in the order in which they are to be carried out. What comes of one is told to `machine`,
    /// but not from inside of this.
    fn order(&self, address: Ipv4Addr, order: Order, machine: HardwareHandle);
}

/// The BMC, as the hardware behind it sees it.
#[derive(Debug, Clone)]
pub struct HardwareHandle {
    host: Weak<Host>,
}

impl HardwareHandle {
    pub(crate) fn new(host: &Arc<Host>) -> Self {
        Self { host: Arc::downgrade(host) }
    }

    /// Tells how far a start is.
    pub fn report(&self, attempt: u64, report: Report) {
        if let Some(host) = self.host.upgrade() {
            host.with(|bmc, now| bmc.machine.report(now, attempt, report));
        }
    }
}

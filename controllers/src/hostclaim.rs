//! The HostClaim controller: finds a host for a tenant, has it booted and turned on and off, and gives it back. It never
//! talks to a BMC, and nothing of one is in what it says.

mod look;
mod reconcile;
mod wakes;

pub use self::{
    reconcile::{Context, Shared},
    wakes::Wakes,
};

/// Its name in logs and metrics.
pub const NAME: &str = "hostclaim";
/// Its kind.
pub(crate) const KIND: &str = "HostClaim";

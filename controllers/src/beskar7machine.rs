//! The Beskar7Machine controller: finds a host for a Machine, has it booted, and gives it back. It never talks to a BMC:
//! it writes what it wants into the host, and the PhysicalHost controller makes it so.

mod around;
mod look;
mod node;
mod reconcile;
mod wake;

pub(crate) use self::around::Around;
pub use self::{
    reconcile::{Context, Shared},
    wake::Wakes,
};

/// Its name in logs and metrics.
pub const NAME: &str = "beskar7machine";
/// Its kind.
pub(crate) const KIND: &str = "Beskar7Machine";

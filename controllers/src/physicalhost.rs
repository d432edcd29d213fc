//! The PhysicalHost controller: observe → decide (in `beskar7-core`) → report → act. The only one that talks to BMCs.

mod act;
mod bmcs;
mod consumers;
mod error;
mod inventory;
mod marks;
mod media;
mod observe;
mod reconcile;
mod resources;
mod sighting;
#[cfg(test)]
mod tests;
mod trail;
mod trouble;
mod wakes;

pub use self::{
    error::ReconcileError,
    reconcile::{Context, Means},
    wakes::Wakes,
};
use crate::watch::Key;

/// Its name in logs and metrics.
pub const NAME: &str = "physicalhost";

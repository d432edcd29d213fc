//! The Beskar7Cluster controller: observe → decide (in `beskar7-core`) → report → act. It finds the control-plane
//! endpoint of a cluster, and keeps a host for it where that is the only way.

mod control_plane;
mod error;
mod marks;
mod observe;
mod reconcile;
mod report;
#[cfg(test)]
mod tests;
mod wakes;

pub use self::{error::ReconcileError, reconcile::Context, wakes::Wakes};

/// Its name in logs and metrics.
pub const NAME: &str = "beskar7cluster";

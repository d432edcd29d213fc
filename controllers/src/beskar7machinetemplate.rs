//! The Beskar7MachineTemplate controller: keeps `status.capacity` and `status.nodeInfo` current, by which the cluster
//! autoscaler grows a set of machines that has none. It writes nothing else, and has no finalizer.

mod reconcile;
mod wakes;

pub use self::{reconcile::Context, wakes::Wakes};

/// Its name in logs and metrics.
pub const NAME: &str = "beskar7machinetemplate";

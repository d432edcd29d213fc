//! The controller of HostBootConfigurations: whether every artifact that one names answers, and is what it should be. What
//! is ready is served; a machine is turned on only for what is ready.

mod reconcile;
mod wakes;

pub use self::{reconcile::Context, wakes::Wakes};

/// Its name in logs and metrics.
const NAME: &str = "hostbootconfiguration";

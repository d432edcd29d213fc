//! The HostDeployPolicy controller: says how many hosts a policy opens, how many of them are held under it, and whether
//! it can be read. It writes nothing else, and has no finalizer; what policies allow is asked of them elsewhere.

mod reconcile;
mod wakes;

pub use self::{reconcile::Context, wakes::Wakes};

/// Its name in logs and metrics.
pub const NAME: &str = "hostdeploypolicy";

//! The controller of DHCPReservations: says whose host is answered, and whose is not. What a host was seen to ask is
//! written by the boot server.

mod reconcile;
mod wakes;

pub use self::{reconcile::Context, wakes::Wakes};

/// Its name in logs and metrics.
const NAME: &str = "dhcpreservation";

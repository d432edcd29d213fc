//! What follows for a Beskar7Cluster: where its control plane is reached, which host is kept for that, which zones it
//! has, and what is said of it.

mod decide;
mod endpoint;
mod events;
mod known;
mod missing;
mod owner;
mod pool;
mod reservation;
#[cfg(test)]
mod samples;
mod wake;
mod zones;

pub use self::{
    decide::{Decision, Observed, Requeue, Step, asks_for_control_plane, decide},
    missing::{ControlPlane, HostWish, Unread},
    owner::{Owner, left_alone, owner_name},
    reservation::reservation,
    wake::{concerned_by_host, concerned_by_machine},
};

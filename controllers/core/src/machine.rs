//! What follows for a Beskar7Machine: whether it may look for a host, what it wants of one, what its host is told to
//! boot, and what is said of it. How it gets its host is [`crate::claim`].

mod boot;
mod bootstrap;
mod gate;
pub mod node_labels;
pub mod node_link;
pub mod parameters;
#[cfg(test)]
mod samples;
mod standing;
mod wanting;

pub(crate) use self::boot::{NEEDS_SERVER, parameters_by};
pub use self::{
    boot::{Form, Order, order},
    bootstrap::{BootstrapData, Kind, bootstrap_secret},
    gate::{Owner, Surroundings, obstacle, on_hold},
    standing::{Course, Decision, decide, provider_id},
    wanting::{Kept, place, reserved_for, wanting},
};

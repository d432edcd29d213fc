//! What follows for a PhysicalHost: where it stands, what is to be done with its machine, what is said of it.

pub mod awaiting;
pub mod belongings;
pub mod boot_parameters;
pub mod cleaning;
pub mod connection;
pub mod contact;
mod decide;
pub mod discovery;
pub mod errand;
mod events;
pub mod heard;
pub mod hold;
mod installing;
pub mod moving;
pub mod plan;
pub mod restart;
#[cfg(test)]
pub(crate) mod samples;
mod standing;
mod trouble;
pub mod wanted;

pub use self::decide::{
    Decision, Emptied, Failure, Observed, Pace, Requeue, decide, decide_paused, left_alone, may_be_asked,
    paused, wants_addresses,
};
pub use self::trouble::{agents_words, trouble};

//! What follows for a PhysicalHost.
//!
//! Today: whether its connection settings are complete. Nothing here has talked to a BMC.

pub mod connection;
mod decide;
pub mod hold;
pub mod plan;

pub use self::decide::{
    Decision, Event, Observed, Requeue, Severity, decide, decide_paused, left_alone, paused,
};

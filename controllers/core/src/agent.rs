//! The agent on a machine, seen from here: what it is told to do next, and what follows from what it says.
//!
//! All of it is worked out of the host as it is now. The agent may ask any replica, and ask again after a restart: the same
//! order has the same name for as long as the machine was armed once.

mod assignment;
mod identity;
mod inspected;
mod orders;
mod reports;
mod said;
mod unseen;

pub use self::{
    assignment::{Assignment, Work},
    inspected::inspection,
    orders::{Next, NotReady, next},
    reports::{Heard, Known, hear},
    said::{Said, Stage},
    unseen::controllers,
};

//! The agent's day: ask for an order, carry it out, report all the while, ask for the next one.

mod memory;
mod notes;
mod orders;
mod works;

pub use self::{
    orders::{Down, Pauses, Work, WorkError},
    works::Works,
};

//! What a fuzzer calls: everything that reads what a machine sent by DHCP or TFTP, without a network.
//!
//! These functions panic where a promise is broken, which is how a fuzzer notices. They are compiled only with the
//! feature `fuzzing`, which nothing that ships has.
#![allow(clippy::panic, clippy::indexing_slicing, reason = "a broken promise is to be noticed")]

mod dhcp;
mod tftp;

pub use self::{dhcp::dhcp, tftp::tftp};

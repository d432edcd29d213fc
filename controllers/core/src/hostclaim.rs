//! What follows for a HostClaim: which hosts it may have and wants, what its host is told, and what is said of it. How it
//! gets its host is [`crate::claim`].

mod image;
#[cfg(test)]
mod samples;
mod standing;
mod wanting;

pub use self::{
    image::{Image, drift, image, instructions},
    standing::{Course, Decision, decide},
    wanting::{not_authorized, on_hold, wanting},
};

//! What follows for a HostClaim: which hosts it may have and wants, what its host is told, and what is said of it. How it
//! gets its host is [`crate::claim`].

mod configuration;
mod image;
mod restart;
#[cfg(test)]
mod samples;
mod standing;
mod wanting;

pub use self::{
    configuration::{Part, Source, Synced, names_configuration, sources},
    image::{Image, booted, image, instructions, order, wants_another},
    restart::asked,
    standing::{Course, Decision, Made, decide},
    wanting::{not_authorized, on_hold, wanting},
};

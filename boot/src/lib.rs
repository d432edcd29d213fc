//! What hosts boot from, over HTTP: their media, changed on the way where kernel parameters have to be added, and their
//! configuration.
//!
//! It knows nothing of the API server: what it serves is handed to it.
#![cfg_attr(
    test,
    allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests may panic")
)]

pub mod artifacts;
pub mod capability;
mod datagrams;
pub mod delivery;
pub mod dhcp;
pub mod form;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
pub mod ipxe;
pub mod open_files;
pub mod overlay;
mod places;
pub mod ranges;
pub mod server;
pub mod source;
pub mod tftp;
pub mod upstream;
pub mod volume;

//! Booting from the network: what is made for a host because of its claim, when that is ready, and what its machine is
//! told when it asks.
//!
//! **A machine boots from the network once.** It is told to for as long as it boots for its claim and nothing shows that it
//! did; from then on it starts from its disk, however often it is turned off and on. One that is not told for a claim that
//! holds it now is told nothing.

mod answer;
mod mac;
mod readiness;
mod resources;
mod rivals;
mod standing;
mod what;

pub(crate) use self::what::{bootable, is_web};
pub use self::{
    answer::{Told, told},
    mac::boot_mac,
    readiness::readiness,
    resources::{Agent, CAPABILITY, Resources, made_ready_with, needs_resources, resources},
    rivals::{Shared, address_of, answered_before, gives_its_address, rank, shared},
    standing::{Checked, Found, reservation_standing, standing},
    what::{ROOT, What, architecture, starts_by_itself, what},
};

//! Drivers: the kernel's modules for the devices that are there, with what they need, in order.
//!
//! Which module belongs to which device is decided without a kernel, from the tables that `depmod` writes.

mod aliases;
mod dependencies;
mod devices;
mod drivers;
mod pattern;
mod wishes;

pub use self::{
    aliases::matching,
    dependencies::{Missing, Modules},
    devices::modaliases,
    drivers::{Drivers, insert},
    wishes::wishes,
};

/// A module's name, as its users mean it: whether a file is called with `-` or `_` makes no difference.
fn normal(name: &str) -> String {
    name.replace('-', "_")
}

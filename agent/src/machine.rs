//! What an init does for a machine: file systems, drivers, the console, going down.

mod console;
pub mod modules;
mod mounts;
mod power;

pub use self::{
    console::console,
    mounts::{Mount, MountError, firmware_variables, mount, necessary},
    power::go_down,
};

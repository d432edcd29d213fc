//! The init of a small ramdisk: inspects a machine, wipes its disks, writes an image.
//!
//! It runs on the machine itself and talks to the boot server only, in the words of `agent/protocol`. It blocks where it
//! waits: one order is carried out at a time, and nothing else is to be done.
#![cfg_attr(
    test,
    allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests may panic")
)]

pub mod boot_entry;
pub mod by_hand;
pub mod cleaning;
pub mod command_line;
pub mod disks;
pub mod fetching;
mod fields;
#[cfg(test)]
mod fixture;
pub mod image;
pub mod init;
pub mod inspection;
pub mod installation;
pub mod journal;
#[cfg(test)]
mod loopback;
pub mod machine;
pub mod network;
pub mod partitions;
pub mod server;
mod sysfs;
pub mod target;
pub mod tasks;
pub mod telling;
#[cfg(test)]
mod testing;
pub mod work;

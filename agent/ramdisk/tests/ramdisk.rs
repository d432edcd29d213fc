//! The program `ramdisk`: what it makes of what it is given, and whether that boots.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests may panic")]
#![allow(clippy::print_stderr, reason = "a test says how long a boot took")]

#[path = "ramdisk/booted.rs"]
mod booted;
#[path = "ramdisk/made.rs"]
mod made;
#[path = "ramdisk/overlaid.rs"]
mod overlaid;
mod support;
#[path = "ramdisk/workshop.rs"]
mod workshop;

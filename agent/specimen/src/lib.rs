//! A small system that tests boot and install: a distribution's kernel, busybox, and a shell script as the first process.
//!
//! It is an initramfs, or an image of a disk that UEFI firmware starts. What the script does, each test says. Nothing of it
//! is shipped.
#![cfg_attr(test, allow(clippy::unwrap_used, reason = "tests may panic"))]

pub mod disk;
pub mod initramfs;

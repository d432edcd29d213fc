//! Real firmware: ISOs that are made here boot in QEMU under OVMF and SeaBIOS.
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "tests may panic, and say how long a boot took")]

#[path = "firmware/behind_a_bmc.rs"]
mod behind_a_bmc;
#[path = "firmware/boot.rs"]
mod boot;
#[path = "firmware/by_itself.rs"]
mod by_itself;
#[path = "firmware/desk.rs"]
mod desk;
#[path = "firmware/making.rs"]
mod making;
#[path = "firmware/overlaid.rs"]
mod overlaid;
#[path = "firmware/volumes.rs"]
mod volumes;

//! Real firmware boots from the network, from servers of ours, each test in a laboratory of its own.
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "tests may panic, and say how long a boot took")]

#[path = "network_boot/behind_a_bmc.rs"]
mod behind_a_bmc;
#[path = "network_boot/beside_another_server.rs"]
mod beside_another_server;
#[path = "network_boot/boot.rs"]
mod boot;
#[path = "network_boot/by_reservation.rs"]
mod by_reservation;
#[path = "network_boot/by_the_manager.rs"]
mod by_the_manager;
#[path = "network_boot/claim.rs"]
mod claim;
#[path = "network_boot/desk.rs"]
mod desk;
#[path = "network_boot/from_disk.rs"]
mod from_disk;
#[path = "network_boot/plane.rs"]
mod plane;
#[path = "network_boot/register.rs"]
mod register;
#[path = "network_boot/servers.rs"]
mod servers;
#[path = "network_boot/through_a_relay.rs"]
mod through_a_relay;

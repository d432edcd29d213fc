//! Disk images, with nothing played: what people apply makes the manager boot the agent under real firmware, and what the
//! agent has written starts and calls home. And a machine that nobody knows, which the same agent inspects.
//!
//! `BESKAR7_AGENT` names the agent's static program; `make agent-vms` builds it, and runs all of these.
#![allow(clippy::print_stderr, reason = "a test says how long a machine took")]

#[path = "disk_images/by_virtual_media.rs"]
mod by_virtual_media;
#[path = "disk_images/discovered.rs"]
mod discovered;
#[path = "disk_images/disks.rs"]
mod disks;
#[path = "disk_images/from_network.rs"]
mod from_network;
#[path = "disk_images/site.rs"]
mod site;
#[path = "disk_images/system.rs"]
mod system;
#[path = "disk_images/tools.rs"]
mod tools;

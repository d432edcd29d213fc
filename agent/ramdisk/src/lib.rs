//! Makes what the agent runs from: an initramfs of the agent and a kernel's modules, and an ISO with both and a boot
//! loader, for virtual media.
//!
//! The kernel is any distribution's. The same inputs give the same bytes, and no root is needed. It makes nothing else
//! than this one ramdisk: what the agent does in it is in `agent`.
#![cfg_attr(
    test,
    allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests may panic")
)]

pub mod agent;
pub mod cpio;
pub mod initramfs;
pub mod iso;
pub mod kernel;
pub mod modules;
pub mod sizes;

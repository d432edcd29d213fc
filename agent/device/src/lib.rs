//! The few commands to devices that the kernel takes by pointer only.
//!
//! This is the one place of the workspace where `unsafe` is allowed, at the functions that make a system call and
//! nowhere else. What is sent and what comes back is put together and read by plain functions, with tests.
#![cfg_attr(
    test,
    allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests may panic")
)]

pub mod ata;
pub mod block;
pub mod nvme;
pub mod packet;

use nix::errno::Errno;

/// Why a device did not do what it was told.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DeviceError {
    /// The kernel does not know this command for this device, or could not hand it over.
    #[error("{command}: {errno}")]
    Kernel {
        /// Which command.
        command: &'static str,
        /// What the kernel says.
        errno: Errno,
    },
    /// The device answered, and did not do it.
    #[error("the disk refuses {command}: {reason}")]
    Refused {
        /// Which command.
        command: &'static str,
        /// What the device says.
        reason: String,
    },
}

impl DeviceError {
    fn kernel(command: &'static str) -> impl Fn(Errno) -> Self {
        move |errno| Self::Kernel { command, errno }
    }
}

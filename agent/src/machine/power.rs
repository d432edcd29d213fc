//! The machine goes down.

use rustix::fs::sync;
use rustix::system::{RebootCommand, reboot};

use crate::work::Down;

/// Writes everything to the disks, and restarts the machine or turns it off. It returns only where that can't be done,
/// with the reason.
#[must_use]
pub fn go_down(down: Down) -> String {
    sync();
    let command = match down {
        Down::Reboot => RebootCommand::Restart,
        Down::PowerOff => RebootCommand::PowerOff,
    };
    match reboot(command) {
        Ok(()) => "the kernel did not go down".to_owned(),
        Err(error) => format!("the kernel does not go down: {error}"),
    }
}

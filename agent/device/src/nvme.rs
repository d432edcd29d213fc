//! How NVMe disks erase themselves: Format NVM and Sanitize.
//!
//! Format erases one namespace (some controllers: all of them) and is done when the command ends. Sanitize erases the
//! whole subsystem, goes on by itself after a power cut, and is asked how far it is.

mod answer;
mod command;

use std::os::fd::{AsFd, AsRawFd, RawFd};

pub use self::answer::{Abilities, SanitizeState};
pub use self::command::{Erase, Sanitize};
use self::{
    answer::Namespace,
    command::{AdminCommand, PAGE, SANITIZE_LOG},
};
use crate::DeviceError;

mod calls {
    //! What the kernel's `linux/nvme_ioctl.h` names.
    use nix::{ioctl_none, ioctl_readwrite};

    use super::command::AdminCommand;

    ioctl_none!(
        /// NVME_IOCTL_ID.
        namespace_id,
        b'N',
        0x40
    );
    ioctl_readwrite!(
        /// NVME_IOCTL_ADMIN_CMD.
        admin,
        b'N',
        0x41,
        AdminCommand
    );
}

/// By which commands a disk can erase itself.
///
/// # Errors
/// It is no NVMe disk, or does not answer.
pub fn abilities(device: &impl AsFd) -> Result<Abilities, DeviceError> {
    let mut page = [0; PAGE];
    admin(device, "Identify Controller", AdminCommand::identify_controller(), Some(&mut page))?;
    Ok(Abilities::read(&page))
}

/// Formats a namespace as it is formatted, and erases what was in it. This takes seconds to hours.
///
/// # Errors
/// The disk refuses, or gives up.
pub fn format(device: &impl AsFd, erase: Erase) -> Result<(), DeviceError> {
    let id = namespace_id(device.as_fd().as_raw_fd())
        .map_err(DeviceError::kernel("asking for the namespace's id"))?;
    let mut page = [0; PAGE];
    admin(device, "Identify Namespace", AdminCommand::identify_namespace(id), Some(&mut page))?;
    admin(device, "Format NVM", AdminCommand::format(id, Namespace::read(&page), erase), None)
}

/// Begins to erase everything behind the controller.
///
/// # Errors
/// The disk refuses.
pub fn sanitize(device: &impl AsFd, how: Sanitize) -> Result<(), DeviceError> {
    admin(device, "Sanitize", AdminCommand::sanitize(how), None)
}

/// How far the last sanitize is.
///
/// # Errors
/// The disk keeps no such log.
pub fn sanitize_state(device: &impl AsFd) -> Result<SanitizeState, DeviceError> {
    let mut log = [0; SANITIZE_LOG];
    admin(device, "Get Log Page (Sanitize Status)", AdminCommand::sanitize_log(), Some(&mut log))?;
    Ok(SanitizeState::read(&log))
}

/// Hands a command over, and waits for its end.
fn admin(
    device: &impl AsFd,
    name: &'static str,
    command: AdminCommand,
    data: Option<&mut [u8]>,
) -> Result<(), DeviceError> {
    let status = submit(device.as_fd().as_raw_fd(), command, data).map_err(DeviceError::kernel(name))?;
    match answer::refusal(status) {
        None => Ok(()),
        Some(reason) => Err(DeviceError::Refused { command: name, reason }),
    }
}

#[allow(unsafe_code, reason = "an ioctl")]
fn namespace_id(device: RawFd) -> nix::Result<u32> {
    // SAFETY: NVME_IOCTL_ID takes no argument; a descriptor that is something else gets an error.
    unsafe { calls::namespace_id(device) }.map(i32::cast_unsigned)
}

#[allow(unsafe_code, reason = "an ioctl with pointers")]
fn submit(device: RawFd, mut command: AdminCommand, data: Option<&mut [u8]>) -> nix::Result<i32> {
    // The only place where a command gets a buffer: its address and its length belong together.
    if let Some(data) = data {
        command.addr = data.as_mut_ptr().expose_provenance() as u64;
        command.data_len = u32::try_from(data.len()).unwrap_or(0);
    }
    // SAFETY: the structure is the kernel's, and outlives the call. The kernel writes at most `data_len` bytes to `addr`,
    // which is a buffer of that length that is borrowed until the call is over, or none of length zero.
    unsafe { calls::admin(device, &raw mut command) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_nvme_disk_knows_none_of_it() {
        let file = tempfile::tempfile().unwrap();
        for outcome in [
            abilities(&file).map(drop),
            format(&file, Erase::UserData),
            sanitize(&file, Sanitize::Block),
            sanitize_state(&file).map(drop),
        ] {
            assert!(matches!(outcome, Err(DeviceError::Kernel { .. })), "{outcome:?}");
        }
    }
}

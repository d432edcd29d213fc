//! How ATA disks erase themselves: the security feature set.
//!
//! A disk erases itself only after it was given a password. It forgets the password when it is done. If power goes before
//! that, it comes back locked, and nothing can be read or written until it gets the password again. That is why ours is
//! always the same, [`PASSWORD`], and no secret: whoever finds a disk locked by us can unlock it.
//!
//! The commands go through SG_IO as ATA PASS-THROUGH (16), which works behind SATA and behind SAS controllers.

mod answer;
mod command;
mod identify;

use std::{
    os::fd::{AsFd, AsRawFd, RawFd},
    time::Duration,
};

pub use self::command::PASSWORD;
pub use self::identify::Security;
use self::{
    answer::Outcome,
    command::{AtaCommand, BLOCK, Transfer},
};
use crate::DeviceError;

/// The kernel's `struct sg_io_hdr`.
#[derive(Debug)]
#[repr(C)]
struct ScsiRequest {
    interface_id: i32,
    direction: i32,
    command_length: u8,
    sense_capacity: u8,
    vectors: u16,
    data_length: u32,
    data: *mut u8,
    command: *const u8,
    sense: *mut u8,
    timeout_ms: u32,
    flags: u32,
    pack_id: i32,
    user: *mut u8,
    status: u8,
    masked_status: u8,
    message_status: u8,
    sense_length: u8,
    host_status: u16,
    driver_status: u16,
    residual: i32,
    duration: u32,
    info: u32,
}

mod calls {
    //! What `scsi/sg.h` names.
    nix::ioctl_readwrite_bad!(
        /// SG_IO.
        sg_io,
        0x2285,
        super::ScsiRequest
    );
}

/// What a disk's security is like.
///
/// # Errors
/// It is no ATA disk, or does not answer.
pub fn security(device: &impl AsFd) -> Result<Security, DeviceError> {
    let mut block = [0; BLOCK];
    send(device, &AtaCommand::identify(), &mut block)?;
    Ok(Security::read(&block))
}

/// Gives a disk our password. It is locked when it is turned on the next time.
///
/// # Errors
/// The disk refuses.
pub fn set_password(device: &impl AsFd) -> Result<(), DeviceError> {
    send(device, &AtaCommand::set_password(), &mut command::password_block(0, 0))
}

/// Has a disk with our password erase all it has. This takes minutes to days; `limit` is how long it is waited for.
///
/// # Errors
/// The disk refuses, or gives up.
pub fn erase(device: &impl AsFd, enhanced: bool, limit: Duration) -> Result<(), DeviceError> {
    send(device, &AtaCommand::erase_prepare(), &mut [])?;
    send(device, &AtaCommand::erase(limit), &mut command::erase_block(enhanced))
}

/// Unlocks a disk that has our password.
///
/// # Errors
/// It has another one, or was asked too often: it must be turned off first.
pub fn unlock(device: &impl AsFd) -> Result<(), DeviceError> {
    send(device, &AtaCommand::unlock(), &mut command::password_block(0, 0))
}

/// Takes our password from an unlocked disk.
///
/// # Errors
/// It has another one.
pub fn disable_password(device: &impl AsFd) -> Result<(), DeviceError> {
    send(device, &AtaCommand::disable_password(), &mut command::password_block(0, 0))
}

/// Hands a command over, and waits for its end.
fn send(device: &impl AsFd, command: &AtaCommand, data: &mut [u8]) -> Result<(), DeviceError> {
    let outcome =
        submit(device.as_fd().as_raw_fd(), command, data).map_err(DeviceError::kernel(command.name))?;
    match outcome.refusal() {
        None => Ok(()),
        Some(reason) => Err(DeviceError::Refused { command: command.name, reason }),
    }
}

#[allow(unsafe_code, reason = "an ioctl with pointers")]
fn submit(device: RawFd, command: &AtaCommand, data: &mut [u8]) -> nix::Result<Outcome> {
    let cdb = command.cdb();
    let mut sense = [0_u8; 64];
    let mut request = ScsiRequest {
        interface_id: i32::from(b'S'),
        direction: match command.transfer {
            Transfer::Nothing => -1,
            Transfer::ToDisk => -2,
            Transfer::FromDisk => -3,
        },
        command_length: cdb.len() as u8,
        sense_capacity: sense.len() as u8,
        vectors: 0,
        data_length: u32::try_from(data.len()).unwrap_or(0),
        data: data.as_mut_ptr(),
        command: cdb.as_ptr(),
        sense: sense.as_mut_ptr(),
        timeout_ms: u32::try_from(command.limit.as_millis()).unwrap_or(u32::MAX),
        flags: 0,
        pack_id: 0,
        user: std::ptr::null_mut(),
        status: 0,
        masked_status: 0,
        message_status: 0,
        sense_length: 0,
        host_status: 0,
        driver_status: 0,
        residual: 0,
        duration: 0,
        info: 0,
    };
    // SAFETY: the structure is the kernel's, and outlives the call. Command, sense and data are buffers of the lengths
    // that stand beside them, and borrowed or owned until the call is over.
    unsafe { calls::sg_io(device, &raw mut request) }?;
    let length = usize::from(request.sense_length).min(sense.len());
    Ok(Outcome {
        status: request.status,
        host_status: request.host_status,
        sense: sense.iter().take(length).copied().collect(),
    })
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;

    #[test]
    #[cfg(target_pointer_width = "64")]
    fn the_structure_is_the_kernels() {
        assert_eq!(size_of::<ScsiRequest>(), 88);
        for (name, offset, expected) in [
            ("data_length", offset_of!(ScsiRequest, data_length), 12),
            ("data", offset_of!(ScsiRequest, data), 16),
            ("sense", offset_of!(ScsiRequest, sense), 32),
            ("timeout", offset_of!(ScsiRequest, timeout_ms), 40),
            ("status", offset_of!(ScsiRequest, status), 64),
            ("sense_length", offset_of!(ScsiRequest, sense_length), 67),
            ("host_status", offset_of!(ScsiRequest, host_status), 68),
            ("info", offset_of!(ScsiRequest, info), 80),
        ] {
            assert_eq!(offset, expected, "{name}");
        }
    }

    #[test]
    fn what_is_no_ata_disk_knows_none_of_it() {
        let file = tempfile::tempfile().unwrap();
        for outcome in [
            security(&file).map(drop),
            set_password(&file),
            erase(&file, false, Duration::from_secs(1)),
            unlock(&file),
            disable_password(&file),
        ] {
            assert!(matches!(outcome, Err(DeviceError::Kernel { .. })), "{outcome:?}");
        }
    }
}

//! Commands that all block devices know.

use std::os::fd::{AsFd, AsRawFd, RawFd};

use crate::DeviceError;

mod calls {
    //! What the kernel's `linux/fs.h` names.
    use nix::{ioctl_none, ioctl_write_ptr_bad, request_code_none};

    ioctl_none!(
        /// BLKRRPART.
        reread,
        0x12,
        95
    );
    ioctl_write_ptr_bad!(
        /// BLKDISCARD: where, and how many bytes.
        discard,
        request_code_none!(0x12, 119),
        [u64; 2]
    );
}

/// Has the kernel read the partition table again (BLKRRPART).
///
/// # Errors
/// One of its partitions is in use, or it can have none.
pub fn reread_partitions(device: &impl AsFd) -> Result<(), DeviceError> {
    reread(device.as_fd().as_raw_fd()).map_err(DeviceError::kernel("reading the partition table again"))
}

#[allow(unsafe_code, reason = "an ioctl")]
fn reread(device: RawFd) -> nix::Result<()> {
    // SAFETY: BLKRRPART takes no argument; a descriptor that is something else gets an error.
    unsafe { calls::reread(device) }.map(drop)
}

/// Tells a disk that these bytes are not needed any more (BLKDISCARD). What is read there afterwards is the disk's
/// affair: zeros, or what was there before.
///
/// # Errors
/// The disk knows no such command, or the place is not one of whole sectors.
pub fn discard(device: &impl AsFd, start: u64, length: u64) -> Result<(), DeviceError> {
    discard_range(device.as_fd().as_raw_fd(), [start, length]).map_err(DeviceError::kernel("discarding"))
}

#[allow(unsafe_code, reason = "an ioctl with a pointer")]
fn discard_range(device: RawFd, range: [u64; 2]) -> nix::Result<()> {
    // SAFETY: BLKDISCARD reads two 64-bit numbers from the pointer, which are here for as long as the call lasts.
    unsafe { calls::discard(device, &raw const range) }.map(drop)
}

#[cfg(test)]
mod tests {
    use nix::errno::Errno;

    use super::*;

    #[test]
    fn what_is_no_block_device_knows_none_of_it() {
        let file = tempfile::tempfile().unwrap();
        for outcome in [reread_partitions(&file), discard(&file, 0, 512)] {
            assert!(matches!(outcome, Err(DeviceError::Kernel { errno: Errno::ENOTTY, .. })), "{outcome:?}");
        }
    }
}

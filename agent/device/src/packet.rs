//! What is asked of sockets that receive whole frames.

use std::os::fd::{AsFd, AsRawFd, RawFd};

use nix::{errno::Errno, libc};

use crate::DeviceError;

/// Has an interface take frames to this address as well, for as long as the socket is open. It is a packet socket.
///
/// # Errors
/// There is no such interface, or it is no packet socket.
pub fn join(socket: &impl AsFd, interface: u32, address: [u8; 6]) -> Result<(), DeviceError> {
    add_membership(socket.as_fd().as_raw_fd(), &membership(interface, address))
        .map_err(DeviceError::kernel("joining a multicast group"))
}

fn membership(interface: u32, address: [u8; 6]) -> libc::packet_mreq {
    let mut padded = [0; 8];
    for (to, from) in padded.iter_mut().zip(address) {
        *to = from;
    }
    libc::packet_mreq {
        mr_ifindex: interface.cast_signed(),
        mr_type: libc::PACKET_MR_MULTICAST as u16,
        mr_alen: 6,
        mr_address: padded,
    }
}

#[allow(unsafe_code, reason = "a socket option that no library has")]
fn add_membership(socket: RawFd, wanted: &libc::packet_mreq) -> nix::Result<()> {
    let length = size_of::<libc::packet_mreq>() as libc::socklen_t;
    let wanted: *const libc::packet_mreq = wanted;
    // SAFETY: the kernel reads `length` bytes from a structure of that length, which outlives the call.
    let outcome = unsafe {
        libc::setsockopt(socket, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, wanted.cast(), length)
    };
    Errno::result(outcome).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_membership_is_laid_out_as_the_kernel_reads_it() {
        let wanted = membership(7, [1, 0x80, 0xc2, 0, 0, 0x0e]);
        assert_eq!((wanted.mr_ifindex, wanted.mr_type, wanted.mr_alen), (7, 0, 6));
        assert_eq!(wanted.mr_address, [1, 0x80, 0xc2, 0, 0, 0x0e, 0, 0]);
        assert_eq!(size_of::<libc::packet_mreq>(), 16);
    }

    #[test]
    fn what_is_no_packet_socket_can_not_join() {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        assert!(matches!(join(&socket, 1, [1, 0, 0, 0, 0, 0]), Err(DeviceError::Kernel { .. })));
    }
}

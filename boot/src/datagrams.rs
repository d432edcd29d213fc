//! UDP that knows which of this machine's addresses and interfaces was asked, and answers from there. Firmware drops an
//! answer that comes from an address which it did not ask, and a socket that listens at every address does not say by
//! itself which one it was.

mod bind;

use std::{
    io::{self, IoSlice, IoSliceMut},
    net::{Ipv4Addr, SocketAddrV4, UdpSocket as Bound},
    os::fd::AsRawFd as _,
};

use nix::{
    cmsg_space, libc,
    sys::socket::{ControlMessage, ControlMessageOwned, MsgFlags, SockaddrIn, recvmsg, sendmsg},
};
use tokio::{io::Interest, net::UdpSocket};

pub use self::bind::BindError;
pub(crate) use self::bind::{Place, bind};

/// Where on this machine a datagram arrived, or leaves from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Local {
    /// The interface's number; 0 leaves the choice to the routes.
    pub interface: i32,
    /// The address that was asked; where everybody was, the interface's own.
    pub address: Ipv4Addr,
}

/// What is known of a datagram beside its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Received {
    /// How much of the buffer it fills. What is longer than the buffer is cut.
    pub length: usize,
    /// Who sent it.
    pub from: SocketAddrV4,
    /// Where it arrived.
    pub at: Local,
}

/// A socket to receive from and to send with.
#[derive(Debug)]
pub(crate) struct Datagrams {
    socket: UdpSocket,
}

impl Datagrams {
    /// Begins to watch a socket. Called within the runtime.
    pub fn new(bound: Bound) -> io::Result<Self> {
        Ok(Self { socket: UdpSocket::from_std(bound)? })
    }

    /// The next datagram.
    pub async fn receive(&self, buffer: &mut [u8]) -> io::Result<Received> {
        let mut about = cmsg_space!(libc::in_pktinfo);
        self.socket.async_io(Interest::READABLE, || self.take(buffer, &mut about)).await
    }

    fn take(&self, buffer: &mut [u8], about: &mut [u8]) -> io::Result<Received> {
        let mut into = [IoSliceMut::new(buffer)];
        let fd = self.socket.as_raw_fd();
        let message = recvmsg::<SockaddrIn>(fd, &mut into, Some(about), MsgFlags::MSG_DONTWAIT)?;
        let mut at = None;
        for more in message.cmsgs()? {
            if let ControlMessageOwned::Ipv4PacketInfo(info) = more {
                let address = Ipv4Addr::from(info.ipi_spec_dst.s_addr.to_ne_bytes());
                at = Some(Local { interface: info.ipi_ifindex, address });
            }
        }
        let nothing = || io::Error::other("the kernel did not say who sent a datagram, or where it arrived");
        let from = message.address.ok_or_else(nothing)?;
        let at = at.ok_or_else(nothing)?;
        Ok(Received { length: message.bytes, from: SocketAddrV4::from(from), at })
    }

    /// Sends at once, or fails: where the queue is full, too.
    pub fn send_now(&self, bytes: &[u8], to: SocketAddrV4, from: Local) -> io::Result<()> {
        let info = libc::in_pktinfo {
            ipi_ifindex: from.interface,
            ipi_spec_dst: libc::in_addr { s_addr: u32::from_ne_bytes(from.address.octets()) },
            ipi_addr: libc::in_addr { s_addr: 0 },
        };
        let about = [ControlMessage::Ipv4PacketInfo(&info)];
        let parts = [IoSlice::new(bytes)];
        let to = SockaddrIn::from(to);
        sendmsg(self.socket.as_raw_fd(), &parts, &about, MsgFlags::MSG_DONTWAIT, Some(&to))?;
        Ok(())
    }

    /// Sends when there is room.
    pub async fn send(&self, bytes: &[u8], to: SocketAddrV4, from: Local) -> io::Result<()> {
        self.socket.async_io(Interest::WRITABLE, || self.send_now(bytes, to, from)).await
    }
}

#[cfg(test)]
#[path = "datagrams_tests.rs"]
mod tests;

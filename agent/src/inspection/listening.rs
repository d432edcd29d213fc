//! Listening on all interfaces at once.

use std::{
    collections::BTreeMap,
    num::NonZeroU32,
    os::fd::{AsFd, AsRawFd as _, OwnedFd},
    time::{Duration, Instant},
};

use beskar7_agent_device::packet;
use beskar7_agent_protocol::hardware::Neighbour;
use nix::{
    errno::Errno,
    sys::socket::{LinkAddr, recvfrom},
};
use rustix::net::{AddressFamily, Protocol, SocketFlags, SocketType, socket_with, sockopt};

use super::{Wire, lldp};

/// An interface that may hear something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// The kernel's name for it.
    pub name: String,
    /// The kernel's number for it.
    pub index: u32,
}

/// The wires of this machine.
#[derive(Debug, Clone, Copy)]
pub struct Listening {
    limit: Duration,
}

impl Listening {
    /// Long enough for one message of each switch, which comes every thirty seconds.
    pub const USUAL: Duration = Duration::from_secs(31);

    /// Listens for at most this long.
    #[must_use]
    pub const fn new(limit: Duration) -> Self {
        Self { limit }
    }
}

impl Wire for Listening {
    fn listen(
        &self,
        interfaces: &[Interface],
        is_unwanted: &(dyn Fn() -> bool + Sync),
    ) -> Result<BTreeMap<String, Neighbour>, String> {
        let mut heard = BTreeMap::new();
        if interfaces.is_empty() {
            return Ok(heard);
        }
        let socket = open(interfaces)?;
        let end = Instant::now() + self.limit;
        while heard.len() < interfaces.len() && Instant::now() < end && !is_unwanted() {
            let Some((index, message)) = receive(&socket)? else { continue };
            let interface = interfaces.iter().find(|interface| interface.index == index);
            if let Some((interface, neighbour)) = interface.zip(lldp::read(&message)) {
                heard.insert(interface.name.clone(), neighbour);
            }
        }
        Ok(heard)
    }
}

/// A socket that gets what switches send, on all interfaces.
fn open(interfaces: &[Interface]) -> Result<OwnedFd, String> {
    /// How soon it is seen that time is over.
    const PATIENCE: Duration = Duration::from_millis(250);
    let failed = |error: &dyn std::fmt::Display| format!("a socket for LLDP can't be had: {error}");
    let protocol = NonZeroU32::new(u32::from(lldp::PROTOCOL.to_be())).map(Protocol::from_raw);
    let socket = socket_with(AddressFamily::PACKET, SocketType::DGRAM, SocketFlags::CLOEXEC, protocol)
        .map_err(|error| failed(&error))?;
    sockopt::set_socket_timeout(&socket, sockopt::Timeout::Recv, Some(PATIENCE))
        .map_err(|error| failed(&error))?;
    for interface in interfaces {
        packet::join(&socket, interface.index, lldp::GROUP)
            .map_err(|error| failed(&format_args!("{}: {error}", interface.name)))?;
    }
    Ok(socket)
}

/// The next message and the interface that it came by. None where nothing came for a while, or it is our own.
fn receive(socket: &impl AsFd) -> Result<Option<(u32, Vec<u8>)>, String> {
    /// A frame that was sent, not received.
    const OUTGOING: u8 = 4;
    let mut buffer = vec![0; 2048];
    match recvfrom::<LinkAddr>(socket.as_fd().as_raw_fd(), &mut buffer) {
        Ok((length, from)) => {
            buffer.truncate(length);
            let from = from.filter(|from| from.pkttype() != OUTGOING);
            Ok(from.and_then(|from| Some((u32::try_from(from.ifindex()).ok()?, buffer))))
        }
        Err(Errno::EAGAIN | Errno::EINTR | Errno::ENETDOWN) => Ok(None),
        Err(error) => Err(format!("listening to LLDP ended: {error}")),
    }
}

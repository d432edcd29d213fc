//! Where DHCP listens.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr, UdpSocket},
};

use ipnet::Ipv4Net;

use super::answer::{Door, Mode, PeerPorts};
use crate::datagrams::{BindError, Place, bind as bind_place};

/// How DHCP is served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// What is answered at all.
    pub mode: Mode,
    /// The interfaces that are listened on; without any, all of them.
    pub interfaces: Vec<String>,
    /// The directory of iPXE's binaries, by HTTP, with a slash behind it.
    pub binaries: String,
    /// The address that is named as the server's, where it is not the interface's: one that relays know, and that moves.
    pub advertise: Option<Ipv4Addr>,
    /// The networks that are answered: of machines that have an address already, and of relays. Without any, those of the
    /// interface at which a message arrives.
    pub networks: Vec<Ipv4Net>,
    /// The port of DHCP.
    pub port: u16,
    /// Where machines ask a second time, beside another server.
    pub proxy_port: u16,
    /// Where answers are listened for.
    pub peers: PeerPorts,
}

impl Default for Settings {
    /// Beside the site's own server, on all interfaces, at the ports that everybody knows.
    fn default() -> Self {
        Self {
            mode: Mode::Proxy,
            interfaces: Vec::new(),
            binaries: String::new(),
            advertise: None,
            networks: Vec::new(),
            port: 67,
            proxy_port: 4011,
            peers: PeerPorts::default(),
        }
    }
}

/// What DHCP listens with.
#[derive(Debug)]
pub struct Sockets(pub(super) Vec<(Door, UdpSocket)>);

impl Sockets {
    /// The first one that listens at this door: for who left the choice of a port to the system.
    ///
    /// # Errors
    /// The system does not say.
    pub fn address(&self, door: Door) -> io::Result<SocketAddr> {
        let found = self.0.iter().find(|(at, _)| *at == door);
        let (_, socket) = found.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
        socket.local_addr()
    }
}

/// Listens at both ports, on every interface that is named or on all.
///
/// # Errors
/// A port can't be had; the text says what to do.
pub fn bind(settings: &Settings) -> Result<Sockets, BindError> {
    let interfaces: Vec<Option<String>> = match settings.interfaces.as_slice() {
        [] => vec![None],
        named => named.iter().cloned().map(Some).collect(),
    };
    let mut sockets = Vec::new();
    for interface in interfaces {
        for (door, port) in [(Door::Server, settings.port), (Door::Proxy, settings.proxy_port)] {
            let address = Ipv4Addr::UNSPECIFIED;
            let place = Place { what: "DHCP", address, port, interface: interface.clone() };
            sockets.push((door, bind_place(&place)?));
        }
    }
    Ok(Sockets(sockets))
}

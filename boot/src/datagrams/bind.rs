//! Sockets, and what to do where there is none to be had.

use std::{
    ffi::OsString,
    net::{Ipv4Addr, SocketAddrV4, UdpSocket},
    os::fd::AsRawFd as _,
};

use nix::{
    errno::Errno,
    net::if_::if_nametoindex,
    sys::socket::{
        AddressFamily, SockFlag, SockType, SockaddrIn, bind as bind_socket, setsockopt, socket, sockopt,
    },
};

/// How many bytes may wait to be read.
const QUEUE: usize = 4 << 20;

/// Where something listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// What listens there, for people.
    pub what: &'static str,
    pub address: Ipv4Addr,
    pub port: u16,
    /// The one interface; without it, all of them.
    pub interface: Option<String>,
}

/// Why nothing listens at a port, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} can't listen at UDP port {port} of {place}: {why}{}", self.advice())]
pub struct BindError {
    what: &'static str,
    port: u16,
    place: String,
    why: Errno,
}

impl BindError {
    fn new(place: &Place, why: Errno) -> Self {
        let at = match &place.interface {
            Some(interface) => format!("interface {interface}"),
            None if place.address.is_unspecified() => "every interface".to_owned(),
            None => place.address.to_string(),
        };
        Self { what: place.what, port: place.port, place: at, why }
    }

    fn advice(&self) -> &'static str {
        // Not an enumeration of ours: the system knows more than a hundred.
        if self.why == Errno::EACCES || self.why == Errno::EPERM {
            ". Ports below 1024 need the capability NET_BIND_SERVICE"
        } else if self.why == Errno::EADDRINUSE {
            ". Another server listens there: stop it, or name interfaces that it leaves alone"
        } else if self.why == Errno::ENODEV || self.why == Errno::ENXIO {
            ". There is no such interface"
        } else if self.why == Errno::EADDRNOTAVAIL {
            ". This machine does not have that address"
        } else {
            ""
        }
    }
}

/// Listens there.
pub(crate) fn bind(place: &Place) -> Result<UdpSocket, BindError> {
    open(place).map_err(|why| BindError::new(place, why))
}

/// The port is not shared (`SO_REUSEADDR`): of two servers there, one would hear nothing, and nobody would be told.
fn open(place: &Place) -> Result<UdpSocket, Errno> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let opened = socket(AddressFamily::Inet, SockType::Datagram, flags, None)?;
    setsockopt(&opened, sockopt::Ipv4PacketInfo, &true)?;
    setsockopt(&opened, sockopt::Broadcast, &true)?;
    // Racks are turned on at once. The system may give less: then some of them ask twice.
    let _less = setsockopt(&opened, sockopt::RcvBuf, &QUEUE);
    if let Some(interface) = &place.interface {
        // A name that is too long would be cut, and might then be another one's.
        if_nametoindex(interface.as_str())?;
        // What arrives elsewhere does not even come here, and somebody else may serve the same port there. An address would
        // not do: who has none yet asks everybody, and that is not sent to it.
        setsockopt(&opened, sockopt::BindToDevice, &OsString::from(interface))?;
    }
    let address = SockaddrIn::from(SocketAddrV4::new(place.address, place.port));
    bind_socket(opened.as_raw_fd(), &address)?;
    Ok(UdpSocket::from(opened))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(port: u16, interface: Option<&str>) -> Place {
        Place {
            what: "DHCP",
            address: Ipv4Addr::UNSPECIFIED,
            port,
            interface: interface.map(ToOwned::to_owned),
        }
    }

    #[test]
    fn who_can_not_listen_says_where_why_and_what_to_do() {
        let first = bind(&place(0, None)).unwrap();
        let taken = first.local_addr().unwrap().port();
        let elsewhere = Place { address: Ipv4Addr::new(198, 51, 100, 1), ..place(0, None) };
        for (place, words) in [
            (place(taken, None), [taken.to_string().as_str(), "every interface", "Another server"]),
            (place(67, Some("no-such-0")), ["67", "interface no-such-0", "no such interface"]),
            (place(67, Some(&"long".repeat(9))), ["67", "interface longlong", "no such interface"]),
            (elsewhere, ["port 0", "198.51.100.1", "does not have that address"]),
        ] {
            let said = bind(&place).unwrap_err().to_string();
            assert!(words.iter().all(|word| said.contains(word)), "{said}");
        }
        let denied = BindError::new(&place(67, None), Errno::EACCES).to_string();
        assert!(denied.contains("DHCP") && denied.contains("NET_BIND_SERVICE"), "{denied}");
    }

    #[test]
    fn an_interface_s_port_is_not_shared() {
        let first = bind(&place(0, Some("lo"))).unwrap();
        let same = place(first.local_addr().unwrap().port(), Some("lo"));
        assert!(bind(&same).unwrap_err().to_string().contains("Another server"));
    }
}

//! Carries a conversation with DHCP servers out.

use std::io;
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::time::{Duration, Instant};

use socket2::{Domain, Protocol, Socket, Type};

use super::super::Interface;
use super::exchange::{Exchange, Lease, Next};
use super::message::Answer;

const CLIENT_PORT: u16 = 68;
const SERVER_PORT: u16 = 67;
/// No answer is longer: it comes in one datagram on an ordinary network.
const LONGEST_ANSWER: usize = 1500;

/// Why there is no address.
#[derive(Debug, thiserror::Error)]
pub enum DhcpError {
    /// Nobody answers.
    #[error(
        "no DHCP server answers on {0}: connect it to a network with one, or give a fixed address (beskar7.ip)"
    )]
    Silent(String),
    /// The address is not ours any more.
    #[error("the DHCP server takes the address of {0} back")]
    Refused(String),
    /// The system can't.
    #[error("DHCP on {0}: {1}")]
    System(String, io::Error),
}

/// Asks for an address.
///
/// # Errors
/// There is none to be had.
pub fn lease(interface: &Interface) -> Result<Lease, DhcpError> {
    converse(interface, Exchange::begin(interface.mac, fastrand::u32(..)))
}

/// Asks to go on with an address.
///
/// # Errors
/// Nobody answers, or it is taken back.
pub fn renew(interface: &Interface, lease: &Lease) -> Result<Lease, DhcpError> {
    converse(interface, Exchange::renew(interface.mac, fastrand::u32(..), lease))
}

fn converse(interface: &Interface, begun: (Exchange, Next)) -> Result<Lease, DhcpError> {
    let system = |error| DhcpError::System(interface.name.clone(), error);
    let socket = open(&interface.name).map_err(system)?;
    let (mut exchange, mut next) = begun;
    let mut until = Instant::now();
    loop {
        match next {
            Next::Send { message, to, wait } => {
                // What can't be sent now (the link went away, there is no way to the server) may be later.
                let sent = socket.send_to(&message, SocketAddrV4::new(to, SERVER_PORT));
                until = Instant::now() + around(wait);
                if let Err(error) = sent.map(drop).or_else(may_pass) {
                    return Err(system(error));
                }
            }
            Next::Wait => {}
            Next::Leased(lease) => return Ok(lease),
            Next::Refused => return Err(DhcpError::Refused(interface.name.clone())),
            Next::Silent => return Err(DhcpError::Silent(interface.name.clone())),
        }
        next = match hear(&socket, until).map_err(system)? {
            Some(bytes) => Answer::parse(&bytes).map_or(Next::Wait, |answer| exchange.hear(&answer)),
            None => exchange.time_is_over(),
        };
    }
}

/// A socket that hears what is sent to everybody on one interface, before that has an address.
fn open(interface: &str) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
    socket.set_reuse_address(true)?;
    socket.set_broadcast(true)?;
    socket.bind_device(Some(interface.as_bytes()))?;
    socket.bind(&SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, CLIENT_PORT).into())?;
    Ok(socket.into())
}

/// A little more or less each time: a rack is turned on at once.
fn around(wait: Duration) -> Duration {
    wait.mul_f64(0.8 + 0.4 * fastrand::f64())
}

/// The next datagram; nothing where none came until then.
fn hear(socket: &UdpSocket, until: Instant) -> io::Result<Option<Vec<u8>>> {
    let mut buffer = vec![0; LONGEST_ANSWER];
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Ok(None);
    }
    socket.set_read_timeout(Some(left))?;
    match socket.recv(&mut buffer) {
        Ok(length) => {
            buffer.truncate(length);
            Ok(Some(buffer))
        }
        Err(error) => may_pass(error).map(|()| None),
    }
}

/// What is no reason to give up: nothing came in time, or the network is not there just now.
fn may_pass(error: io::Error) -> io::Result<()> {
    use io::ErrorKind::{
        ConnectionRefused, HostUnreachable, Interrupted, NetworkDown, NetworkUnreachable, TimedOut,
        WouldBlock,
    };
    let passes = [
        ConnectionRefused,
        HostUnreachable,
        Interrupted,
        NetworkDown,
        NetworkUnreachable,
        TimedOut,
        WouldBlock,
    ];
    if passes.contains(&error.kind()) { Ok(()) } else { Err(error) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_passes_is_waited_for_and_what_does_not_is_told() {
        for kind in [io::ErrorKind::NetworkUnreachable, io::ErrorKind::WouldBlock] {
            assert!(may_pass(kind.into()).is_ok());
        }
        assert!(may_pass(io::ErrorKind::PermissionDenied.into()).is_err());
        let (least, most) = (Duration::from_millis(800), Duration::from_millis(1200));
        assert!((0..100).all(|_| (least..=most).contains(&around(Duration::from_secs(1)))));
    }
}

//! What a request is answered with, and where that goes.

use std::net::{Ipv4Addr, SocketAddrV4};

use super::{
    client::Client,
    kind::{Kind, Says},
    loading::Loading,
    options::{
        BOOT_SERVER, CLIENT, HOST_NAME, LEASE_TIME, LONGEST_MESSAGE, MESSAGE_TYPE, NAME_SERVERS, RELAY_AGENT,
        REQUESTED_ADDRESS, ROUTER, SERVER, SUBNET_MASK, TIME_SERVERS, UUID,
    },
    packet::{Operation, Packet},
    reservation::{Addressing, Reservation},
};

/// What every client takes, what a network takes in one piece, and what IP and UDP need of it.
const USUAL_MESSAGE: usize = 576;
const LONGEST_FRAME: usize = 1500;
const HEADERS: usize = 28;
/// A client that can't receive what is addressed to it alone.
const TO_EVERYBODY: u16 = 0x8000;

/// What is answered at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Addresses to those who have one reserved, and what to boot to all who are known.
    Reservations,
    /// What to boot, beside the site's own server.
    Proxy,
}

/// Where answers are listened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeerPorts {
    /// By clients.
    pub client: u16,
    /// By relays.
    pub relay: u16,
}

impl Default for PeerPorts {
    /// As it is everywhere; tests have others.
    fn default() -> Self {
        Self { client: 68, relay: 67 }
    }
}

/// What a server says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Server<'a> {
    /// Its address, on the network that was asked from.
    pub address: Ipv4Addr,
    /// What it answers.
    pub mode: Mode,
    /// The directory of iPXE's binaries, by HTTP, with a slash behind it.
    pub binaries: &'a str,
    /// Where it is heard.
    pub peers: PeerPorts,
}

/// At which of a server's two ports something arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Door {
    /// The one of DHCP.
    Server,
    /// Where machines ask a second time that were told of a boot server beside another DHCP server.
    Proxy,
}

/// How a request came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrived {
    /// At which port.
    pub door: Door,
    /// Who sent it, as the network says.
    pub from: SocketAddrV4,
}

/// An answer, and where it goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// The answer.
    pub packet: Packet,
    /// Where it goes.
    pub to: SocketAddrV4,
}

/// What an answer says of addresses.
enum Given<'a> {
    /// An address, and all that belongs to it.
    Address(&'a Addressing),
    /// What belongs to an address, to who has it already.
    Rest(&'a Addressing),
    /// Nothing: that is for somebody else to say.
    Nothing,
}

/// What a request of a machine that is known is answered with, if it is.
#[must_use]
pub fn reply(request: &Packet, arrived: Arrived, known: &Reservation, server: &Server<'_>) -> Option<Reply> {
    let kind = Kind::of(request)?;
    if request.operation != Operation::Request || request.mac != known.mac {
        return None;
    }
    let addressing = known.addressing.as_ref().filter(|_| server.mode == Mode::Reservations);
    let (says, given) = match (kind, arrived.door, addressing) {
        (Kind::Discover, Door::Server, Some(addressing)) => (Says::Offer, Given::Address(addressing)),
        (Kind::Discover, Door::Server, None) => (Says::Offer, Given::Nothing),
        (Kind::Request, Door::Server, Some(addressing)) => match chosen(request, addressing, server)? {
            Chosen::Reserved => (Says::Acknowledge, Given::Address(addressing)),
            Chosen::Another => return Some(refusal(request, arrived, server)),
        },
        (Kind::Inform, Door::Server, Some(addressing)) => (Says::Acknowledge, Given::Rest(addressing)),
        (Kind::Inform, Door::Server, None) | (Kind::Request | Kind::Inform, Door::Proxy, _) => {
            (Says::Acknowledge, Given::Nothing)
        }
        // Who gives the address acknowledges it.
        (Kind::Request, Door::Server, None)
        | (Kind::Discover, Door::Proxy, _)
        | (Kind::Decline | Kind::Release, Door::Server | Door::Proxy, _) => return None,
    };
    let loading = Loading::of(&Client::of(request), &known.boot, server);
    // Without an address there must be something to boot: all else is the site's own server's.
    if matches!(given, Given::Nothing) && loading.is_none() {
        return None;
    }
    let mut packet = begun(request, says, server);
    match given {
        Given::Address(addressing) => {
            packet.yours = addressing.address;
            let seconds = u32::try_from(addressing.lease.as_secs()).unwrap_or(u32::MAX);
            packet.options.push((LEASE_TIME, seconds.to_be_bytes().to_vec()));
            packet.options.extend(address_options(addressing));
        }
        Given::Rest(addressing) => packet.options.extend(address_options(addressing)),
        Given::Nothing => {}
    }
    if let Some(loading) = loading {
        packet.next_server = server.address;
        loading.put_into(&mut packet);
    }
    Some(finish(packet, request, arrived, server))
}

/// What a client says that it was offered.
enum Chosen {
    /// What is reserved for it.
    Reserved,
    /// Something else, which it can't have.
    Another,
}

/// Nothing, where it has chosen another server.
fn chosen(request: &Packet, addressing: &Addressing, server: &Server<'_>) -> Option<Chosen> {
    if request.option(SERVER).is_some_and(|named| named != server.address.octets()) {
        return None;
    }
    let wanted = match request.option(REQUESTED_ADDRESS) {
        Some(wanted) => wanted == addressing.address.octets(),
        None => request.client == addressing.address,
    };
    Some(if wanted { Chosen::Reserved } else { Chosen::Another })
}

/// Everybody hears it: at the address that the client believes to have, nobody might.
fn refusal(request: &Packet, arrived: Arrived, server: &Server<'_>) -> Reply {
    let begun = begun(request, Says::Refuse, server);
    let packet = Packet { flags: begun.flags | TO_EVERYBODY, client: Ipv4Addr::UNSPECIFIED, ..begun };
    finish(packet, request, arrived, server)
}

fn begun(request: &Packet, says: Says, server: &Server<'_>) -> Packet {
    Packet {
        operation: Operation::Reply,
        hops: 0,
        transaction: request.transaction,
        seconds: 0,
        flags: request.flags,
        client: request.client,
        yours: Ipv4Addr::UNSPECIFIED,
        next_server: Ipv4Addr::UNSPECIFIED,
        relay: request.relay,
        mac: request.mac,
        file: String::new(),
        options: vec![(MESSAGE_TYPE, vec![says.number()]), (SERVER, server.address.octets().to_vec())],
    }
}

fn address_options(given: &Addressing) -> Vec<(u8, Vec<u8>)> {
    let bits = u32::MAX.checked_shl(32 - u32::from(given.prefix.min(32))).unwrap_or_default();
    let all = |addresses: &[Ipv4Addr]| addresses.iter().flat_map(Ipv4Addr::octets).collect::<Vec<u8>>();
    let mut options = vec![(SUBNET_MASK, bits.to_be_bytes().to_vec())];
    options.extend(given.gateway.map(|gateway| (ROUTER, gateway.octets().to_vec())));
    options.extend((!given.name_servers.is_empty()).then(|| (NAME_SERVERS, all(&given.name_servers))));
    options.extend((!given.time_servers.is_empty()).then(|| (TIME_SERVERS, all(&given.time_servers))));
    options.extend(given.host_name.as_ref().map(|name| (HOST_NAME, name.clone().into_bytes())));
    options
}

/// What is the same for every answer, and where it goes. What the relay wrote stands last.
fn finish(mut packet: Packet, request: &Packet, arrived: Arrived, server: &Server<'_>) -> Reply {
    let echoed = |code: u8| request.option(code).map(|value| (code, value.to_vec()));
    packet.options.extend([UUID, CLIENT].into_iter().filter_map(echoed));
    let relay_agent = echoed(RELAY_AGENT);
    shorten(&mut packet, longest(request), relay_agent.as_ref().map_or(0, |(_, value)| value.len() + 2));
    packet.options.extend(relay_agent);
    let to = destination(&packet, arrived, server.peers);
    Reply { packet, to }
}

/// How long an answer may be.
fn longest(request: &Packet) -> usize {
    let said = request.option(LONGEST_MESSAGE).and_then(|value| value.first_chunk::<2>());
    let said = said.map_or(USUAL_MESSAGE, |said| usize::from(u16::from_be_bytes(*said)));
    said.clamp(USUAL_MESSAGE, LONGEST_FRAME) - HEADERS
}

/// Leaves out what can be done without, from the least of it, until the rest has room.
fn shorten(packet: &mut Packet, longest: usize, reserved: usize) {
    for spare in [TIME_SERVERS, HOST_NAME, NAME_SERVERS, CLIENT, UUID, BOOT_SERVER] {
        if packet.bytes().len() + reserved <= longest {
            return;
        }
        packet.options.retain(|(code, _)| *code != spare);
    }
}

/// To the relay that it came through; to where the client can be reached; or to everybody.
fn destination(packet: &Packet, arrived: Arrived, peers: PeerPorts) -> SocketAddrV4 {
    if !packet.relay.is_unspecified() {
        return SocketAddrV4::new(packet.relay, peers.relay);
    }
    if arrived.door == Door::Proxy && !arrived.from.ip().is_unspecified() {
        return arrived.from;
    }
    if !packet.client.is_unspecified() {
        return SocketAddrV4::new(packet.client, peers.client);
    }
    SocketAddrV4::new(Ipv4Addr::BROADCAST, peers.client)
}

#[cfg(test)]
#[path = "answer_tests.rs"]
pub(in crate::dhcp) mod tests;

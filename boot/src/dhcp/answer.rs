//! What a request is answered with, and where that goes.

use std::net::{Ipv4Addr, SocketAddrV4};

use super::{
    client::{Architecture, Client, Loader},
    options::{
        BOOT_FILE, BOOT_SERVER, HOST_NAME, IPXE, LEASE_TIME, LONGEST_MESSAGE, MESSAGE_TYPE, NAME_SERVERS,
        RELAY_AGENT, REQUESTED_ADDRESS, ROUTER, SERVER, SUBNET_MASK, TIME_SERVERS, UUID, VENDOR,
        VENDOR_CLASS,
    },
    packet::{LONGEST_FILE, Operation, Packet},
    reservation::{Addressing, Boot, Reservation},
};

const DISCOVER: u8 = 1;
const OFFER: u8 = 2;
const REQUEST: u8 = 3;
const ACK: u8 = 5;
const NAK: u8 = 6;
const INFORM: u8 = 8;

const SERVER_PORT: u16 = 67;
const CLIENT_PORT: u16 = 68;
/// Where machines ask a second time that were told of a boot server beside another DHCP server.
pub(super) const PROXY_PORT: u16 = 4011;

/// PXE's own discovery is skipped: the name of the file is all.
const BOOT_THE_FILE: [u8; 4] = [6, 1, 8, 255];
/// iPXE does not wait for a server beside this one.
const NO_PROXY: [u8; 3] = [176, 1, 1];
/// What every client takes, and what IP and UDP need of it.
const USUAL_MESSAGE: usize = 576;
const HEADERS: usize = 28;

/// What is answered at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Addresses to those who have one reserved, and what to boot to all who are known.
    Reservations,
    /// What to boot, beside the site's own server.
    Proxy,
}

/// What a server says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// Its address, on the network that was asked from.
    pub address: Ipv4Addr,
    /// What it answers.
    pub mode: Mode,
    /// The directory of iPXE's binaries, by HTTP, with a slash behind it.
    pub binaries: String,
}

/// How a request came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrived {
    /// The port that it was sent to.
    pub port: u16,
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

/// What a request of a machine that is known is answered with, if it is.
#[must_use]
pub fn reply(request: &Packet, arrived: Arrived, known: &Reservation, server: &Server) -> Option<Reply> {
    let kind = *request.option(MESSAGE_TYPE)?.first()?;
    let client = Client::of(request);
    if request.operation != Operation::Request || request.mac != known.mac {
        return None;
    }
    let addressing = known.addressing.as_ref().filter(|_| server.mode == Mode::Reservations);
    let (kind, given) = match (kind, addressing, arrived.port == PROXY_PORT) {
        (REQUEST, _, true) => (ACK, None),
        (DISCOVER, addressing, false) => (OFFER, addressing),
        (REQUEST, Some(addressing), false) => match chosen(request, addressing, server)? {
            Chosen::Reserved => (ACK, Some(addressing)),
            Chosen::Another => return Some(refusal(request, arrived, server)),
        },
        (INFORM, Some(_), false) => (ACK, None),
        (_, _, _) => return None,
    };
    let boot = boot_options(&client, &known.boot, server);
    // Without an address there must be something to boot: all else is the site's own server's.
    if given.is_none() && boot.is_none() {
        return None;
    }
    let mut packet = begun(request, kind, server);
    if let Some(given) = given {
        packet.yours = given.address;
        packet.options.extend(address_options(given));
    }
    if let Some(boot) = boot {
        packet.next_server = server.address;
        boot.put_into(&mut packet);
    }
    Some(finish(packet, request, arrived))
}

/// What a client says that it was offered.
enum Chosen {
    /// What is reserved for it.
    Reserved,
    /// Something else, which it can't have.
    Another,
}

/// Nothing, where it has chosen another server.
fn chosen(request: &Packet, addressing: &Addressing, server: &Server) -> Option<Chosen> {
    if request.option(SERVER).is_some_and(|named| named != server.address.octets()) {
        return None;
    }
    let wanted = match request.option(REQUESTED_ADDRESS) {
        Some(wanted) => wanted == addressing.address.octets(),
        None => request.client == addressing.address,
    };
    Some(if wanted { Chosen::Reserved } else { Chosen::Another })
}

fn refusal(request: &Packet, arrived: Arrived, server: &Server) -> Reply {
    finish(begun(request, NAK, server), request, arrived)
}

fn begun(request: &Packet, kind: u8, server: &Server) -> Packet {
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
        options: vec![(MESSAGE_TYPE, vec![kind]), (SERVER, server.address.octets().to_vec())],
    }
}

fn address_options(given: &Addressing) -> Vec<(u8, Vec<u8>)> {
    let seconds = u32::try_from(given.lease.as_secs()).unwrap_or(u32::MAX);
    let bits = u32::MAX.checked_shl(32 - u32::from(given.prefix.min(32))).unwrap_or_default();
    let all = |addresses: &[Ipv4Addr]| addresses.iter().flat_map(Ipv4Addr::octets).collect::<Vec<u8>>();
    let mut options =
        vec![(LEASE_TIME, seconds.to_be_bytes().to_vec()), (SUBNET_MASK, bits.to_be_bytes().to_vec())];
    options.extend(given.gateway.map(|gateway| (ROUTER, gateway.octets().to_vec())));
    options.extend((!given.name_servers.is_empty()).then(|| (NAME_SERVERS, all(&given.name_servers))));
    options.extend((!given.time_servers.is_empty()).then(|| (TIME_SERVERS, all(&given.time_servers))));
    options.extend(given.host_name.as_ref().map(|name| (HOST_NAME, name.clone().into_bytes())));
    options
}

/// What a loader is told to boot.
struct BootOptions {
    /// A name that TFTP knows, or a URL.
    file: String,
    more: Vec<(u8, Vec<u8>)>,
}

impl BootOptions {
    /// Firmware reads the one or the other place.
    fn put_into(self, packet: &mut Packet) {
        packet.options.extend(self.more);
        packet.options.push((BOOT_FILE, self.file.clone().into_bytes()));
        if self.file.len() <= LONGEST_FILE {
            packet.file = self.file;
        }
    }
}

fn boot_options(client: &Client, boot: &Boot, server: &Server) -> Option<BootOptions> {
    let Boot::Script(script) = boot else { return None };
    let class = |name: &[u8]| (VENDOR_CLASS, name.to_vec());
    let by_name = |more: Vec<(u8, Vec<u8>)>| {
        let file = binary(client.architecture?).to_owned();
        let named = server.address.to_string().into_bytes();
        Some(BootOptions { file, more: more.into_iter().chain([(BOOT_SERVER, named)]).collect() })
    };
    match client.loader {
        Loader::System => None,
        Loader::Ipxe { http: true } => Some(BootOptions {
            file: script.clone(),
            more: vec![class(b"PXEClient"), (IPXE, NO_PROXY.to_vec())],
        }),
        // One that was burnt into a card long ago: it fetches one that can.
        Loader::Ipxe { http: false } => {
            let file = format!("tftp://{}/{}", server.address, binary(client.architecture?));
            Some(BootOptions { file, more: vec![class(b"PXEClient"), (IPXE, NO_PROXY.to_vec())] })
        }
        Loader::Pxe => by_name(vec![class(b"PXEClient"), (VENDOR, BOOT_THE_FILE.to_vec())]),
        Loader::Http => {
            let file = format!("{}{}", server.binaries, binary(client.architecture?));
            Some(BootOptions { file, more: vec![class(b"HTTPClient")] })
        }
    }
}

/// The file in which a package has iPXE for an architecture. On UEFI, the one that uses the firmware's own driver.
const fn binary(architecture: Architecture) -> &'static str {
    match architecture {
        Architecture::Bios => "undionly.kpxe",
        Architecture::X64 => "snponly.efi",
        Architecture::Arm64 => "snponly-arm64.efi",
    }
}

/// What is the same for every answer, and where it goes. What the relay wrote stands last.
fn finish(mut packet: Packet, request: &Packet, arrived: Arrived) -> Reply {
    packet.options.extend(request.option(UUID).map(|uuid| (UUID, uuid.to_vec())));
    let relay_agent = request.option(RELAY_AGENT).map(|value| (RELAY_AGENT, value.to_vec()));
    shorten(&mut packet, longest(request), relay_agent.as_ref().map_or(0, |(_, value)| value.len() + 2));
    packet.options.extend(relay_agent);
    let to = destination(&packet, arrived);
    Reply { packet, to }
}

/// How long an answer may be.
fn longest(request: &Packet) -> usize {
    let said = request.option(LONGEST_MESSAGE).and_then(|value| value.first_chunk::<2>());
    said.map_or(USUAL_MESSAGE, |said| usize::from(u16::from_be_bytes(*said))).max(USUAL_MESSAGE) - HEADERS
}

/// Leaves out what can be done without, from the least of it, until the rest has room.
fn shorten(packet: &mut Packet, longest: usize, reserved: usize) {
    for spare in [TIME_SERVERS, HOST_NAME, NAME_SERVERS, UUID, BOOT_SERVER] {
        if packet.bytes().len() + reserved <= longest {
            return;
        }
        packet.options.retain(|(code, _)| *code != spare);
    }
}

/// To the relay that it came through; to where the client can be reached; or to everybody.
fn destination(packet: &Packet, arrived: Arrived) -> SocketAddrV4 {
    if !packet.relay.is_unspecified() {
        return SocketAddrV4::new(packet.relay, SERVER_PORT);
    }
    if arrived.port == PROXY_PORT {
        return arrived.from;
    }
    if !packet.client.is_unspecified() {
        return SocketAddrV4::new(packet.client, CLIENT_PORT);
    }
    SocketAddrV4::new(Ipv4Addr::BROADCAST, CLIENT_PORT)
}

#[cfg(test)]
#[path = "answer_tests.rs"]
mod tests;

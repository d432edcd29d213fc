//! Any bytes as a DHCP message, and its answer.

use std::{
    net::{Ipv4Addr, SocketAddrV4},
    time::Duration,
};

use crate::dhcp::{
    Addressing, Arrived, Boot, Door, Mac, Mode, Operation, Packet, PeerPorts, Reply, Reservation, Server,
    reply,
};

const SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const RESERVED: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 77);
/// What every client takes, and what a network takes in one piece, without IP's and UDP's headers.
const USUAL: usize = 576 - 28;
const MOST: usize = 1500 - 28;

/// Reads bytes as a message, and answers it in every way.
pub fn dhcp(bytes: &[u8]) {
    let Ok(request) = Packet::parse(bytes) else { return };
    let again = request.bytes();
    if let Ok(again) = Packet::parse(&again) {
        assert_eq!(again.options, request.options);
    } else {
        assert!(again.len() > 1500, "what was read can be written and read again");
    }
    for mode in [Mode::Reservations, Mode::Proxy] {
        for door in [Door::Server, Door::Proxy] {
            for known in reservations(request.mac) {
                let from = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 99), 68);
                let server = Server {
                    address: SERVER,
                    mode,
                    binaries: "http://10.0.0.1/ipxe/",
                    peers: PeerPorts::default(),
                };
                if let Some(reply) = reply(&request, Arrived { door, from }, &known, &server) {
                    keeps_promises(&request, &reply, &known, (mode, door));
                }
            }
        }
    }
}

fn reservations(mac: Mac) -> impl Iterator<Item = Reservation> {
    let url = "http://10.0.0.1:8080/c/0123456789abcdef0123456789abcdef01234567/boot";
    let script = |program: Option<String>| Boot::Script { script: url.to_owned(), program };
    let addressing = Addressing {
        address: RESERVED,
        prefix: 24,
        gateway: Some(Ipv4Addr::new(10, 0, 0, 254)),
        name_servers: vec![SERVER; 3],
        time_servers: vec![SERVER; 60],
        host_name: Some("n".repeat(63)),
        lease: Duration::MAX,
    };
    [Boot::Disk, script(None), script(Some(url.to_owned()))].into_iter().flat_map(move |boot| {
        let without = Reservation { mac, addressing: None, boot };
        [Reservation { addressing: Some(addressing.clone()), ..without.clone() }, without]
    })
}

fn keeps_promises(request: &Packet, reply: &Reply, known: &Reservation, (mode, door): (Mode, Door)) {
    let Reply { packet, to } = reply;
    assert_eq!((request.operation, packet.operation), (Operation::Request, Operation::Reply));
    assert_eq!((packet.transaction, packet.mac), (request.transaction, request.mac));
    assert_eq!(packet.option(54), Some(&SERVER.octets()[..]));
    assert!(!to.ip().is_unspecified() && to.port() != 0, "{to}");
    assert_eq!(packet.option(82), request.option(82));
    if request.option(82).is_some() {
        assert_eq!(packet.options.last().map(|(code, _)| *code), Some(82));
    }
    gives_only_what_is_reserved(request, packet, known, (mode, door));
    has_room(request, packet);
}

fn gives_only_what_is_reserved(request: &Packet, packet: &Packet, known: &Reservation, at: (Mode, Door)) {
    let gives = !packet.yours.is_unspecified();
    if gives {
        assert_eq!((packet.yours, at), (RESERVED, (Mode::Reservations, Door::Server)));
        assert!(known.addressing.is_some());
    }
    assert_eq!(gives, packet.option(51).is_some(), "an address has an end, and nothing else has");
    let names_another = request.option(54).is_some_and(|named| named != SERVER.octets());
    if request.option(53) == Some(&[3]) && names_another {
        assert_eq!(at.1, Door::Proxy, "that was for another server");
    }
    if known.boot == Boot::Disk {
        assert_eq!((packet.option(67), packet.file.as_str()), (None, ""), "it boots from its disk");
    }
}

/// What the relay wrote is its own affair: it takes that off again.
fn has_room(request: &Packet, packet: &Packet) {
    let bytes = packet.bytes();
    assert!(bytes.len() >= 300);
    let mut own = packet.clone();
    own.options.retain(|(code, _)| *code != 82);
    let most = if request.option(57).is_some() { MOST } else { USUAL };
    assert!(own.bytes().len() <= most, "{} bytes", own.bytes().len());
    if let Ok(read) = Packet::parse(&bytes) {
        assert_eq!(&read, packet);
    } else {
        assert!(bytes.len() > 1500);
    }
}

//! Tables over requests and what they are answered with.

use std::time::Duration;

use super::{
    super::{
        Boot,
        options::{ARCHITECTURE, BOOT_FILE, VENDOR_CLASS},
        packet::tests::{MAC, asking},
    },
    *,
};

pub(in crate::dhcp) const SERVER_ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
pub(in crate::dhcp) const RESERVED: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 77);
pub(in crate::dhcp) const SCRIPT: &str =
    "http://10.0.0.1:8080/c/0123456789abcdef0123456789abcdef01234567/ipxe";

pub(in crate::dhcp) const DISCOVER: u8 = 1;
const OFFER: u8 = 2;
const REQUEST: u8 = 3;
const DECLINE: u8 = 4;
const ACK: u8 = 5;
const NAK: u8 = 6;
const RELEASE: u8 = 7;
const INFORM: u8 = 8;

pub(in crate::dhcp) fn server(mode: Mode) -> Server<'static> {
    Server {
        address: SERVER_ADDRESS,
        mode,
        binaries: "http://10.0.0.1:8080/ipxe/",
        peers: PeerPorts::default(),
    }
}

pub(in crate::dhcp) fn known(addressing: bool, boot: Boot) -> Reservation {
    let given = Addressing {
        address: RESERVED,
        prefix: 24,
        gateway: Some(Ipv4Addr::new(10, 0, 0, 254)),
        name_servers: vec![Ipv4Addr::new(10, 0, 0, 2), Ipv4Addr::new(10, 0, 0, 3)],
        time_servers: vec![Ipv4Addr::new(10, 0, 0, 4)],
        host_name: Some("r7".to_owned()),
        lease: Duration::from_secs(3600),
    };
    Reservation { mac: MAC, addressing: addressing.then_some(given), boot }
}

pub(in crate::dhcp) fn script() -> Boot {
    Boot::Script { script: SCRIPT.to_owned(), program: None }
}

fn at(door: Door) -> Arrived {
    Arrived { door, from: SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 99), 4011) }
}

pub(in crate::dhcp) const PXE_X64: [(u8, &[u8]); 2] =
    [(VENDOR_CLASS, b"PXEClient:Arch:00007:UNDI:003016"), (ARCHITECTURE, &[0, 7])];

pub(in crate::dhcp) fn with<'a>(more: &[(u8, &'a [u8])]) -> Vec<(u8, &'a [u8])> {
    PXE_X64.into_iter().chain(more.iter().copied()).collect()
}

pub(in crate::dhcp) fn answered(
    kind: u8,
    options: &[(u8, &[u8])],
    known: &Reservation,
    mode: Mode,
) -> Option<Packet> {
    reply(&asking(kind, options), at(Door::Server), known, &server(mode)).map(|reply| reply.packet)
}

#[test]
fn a_reserved_address_is_offered_and_given_with_all_that_belongs_to_it() {
    for (kind, expected) in [(DISCOVER, OFFER), (REQUEST, ACK)] {
        let options: &[(u8, &[u8])] = &[(SERVER, &[10, 0, 0, 1]), (REQUESTED_ADDRESS, &[10, 0, 0, 77])];
        let packet = answered(kind, options, &known(true, Boot::Disk), Mode::Reservations).unwrap();
        assert_eq!((packet.yours, packet.transaction, packet.flags), (RESERVED, 0x1234_5678, 0x8000));
        for (code, value) in [
            (MESSAGE_TYPE, &[expected][..]),
            (SERVER, &[10, 0, 0, 1]),
            (LEASE_TIME, &[0, 0, 14, 16]),
            (SUBNET_MASK, &[255, 255, 255, 0]),
            (ROUTER, &[10, 0, 0, 254]),
            (NAME_SERVERS, &[10, 0, 0, 2, 10, 0, 0, 3]),
            (TIME_SERVERS, &[10, 0, 0, 4]),
            (HOST_NAME, b"r7"),
        ] {
            assert_eq!(packet.option(code), Some(value), "{code}");
        }
        assert_eq!((packet.option(BOOT_FILE), packet.next_server), (None, Ipv4Addr::UNSPECIFIED));
    }
}

#[test]
fn only_what_is_reserved_is_given_and_nobody_speaks_for_another_server() {
    let ask = |options: &[(u8, &[u8])], mode| {
        let packet = answered(REQUEST, options, &known(true, script()), mode)?;
        packet.option(MESSAGE_TYPE).map(|kind| kind[0])
    };
    let ours: (u8, &[u8]) = (SERVER, &[10, 0, 0, 1]);
    let wanted: (u8, &[u8]) = (REQUESTED_ADDRESS, &[10, 0, 0, 77]);
    assert_eq!(ask(&[ours, wanted], Mode::Reservations), Some(ACK));
    assert_eq!(ask(&[wanted], Mode::Reservations), Some(ACK), "after a restart it asks everybody");
    assert_eq!(ask(&[ours, (REQUESTED_ADDRESS, &[10, 0, 0, 9])], Mode::Reservations), Some(NAK));
    assert_eq!(ask(&[], Mode::Reservations), Some(NAK));
    assert_eq!(ask(&[(SERVER, &[10, 0, 0, 53]), wanted], Mode::Reservations), None, "another server's");
    assert_eq!(ask(&with(&[ours, wanted]), Mode::Proxy), None, "the site's server gives addresses");
    // A lease is renewed by who has it.
    let renewing = Packet { client: RESERVED, ..asking(REQUEST, &[]) };
    let renewed =
        reply(&renewing, at(Door::Server), &known(true, Boot::Disk), &server(Mode::Reservations)).unwrap();
    assert_eq!((renewed.packet.yours, renewed.to), (RESERVED, SocketAddrV4::new(RESERVED, 68)));
}

#[test]
fn beside_another_server_the_second_question_is_answered_where_it_was_asked() {
    let ask =
        |door| reply(&asking(REQUEST, &with(&[])), at(door), &known(false, script()), &server(Mode::Proxy));
    let answer = ask(Door::Proxy).unwrap();
    assert_eq!(answer.packet.option(MESSAGE_TYPE), Some(&[ACK][..]));
    assert_eq!(answer.to, SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 99), 4011));
    assert_eq!(ask(Door::Server), None, "that one is for who gives addresses");
    let looking =
        reply(&asking(DISCOVER, &with(&[])), at(Door::Proxy), &known(false, script()), &server(Mode::Proxy));
    assert_eq!(looking, None);
}

#[test]
fn through_a_relay_it_goes_back_to_the_relay_with_what_that_wrote_last() {
    let relay = Ipv4Addr::new(10, 9, 0, 1);
    let uuid = [0; 17];
    let request = Packet {
        relay,
        client: RESERVED,
        ..asking(DISCOVER, &with(&[(RELAY_AGENT, b"\x01\x04port"), (UUID, &uuid)]))
    };
    let answer =
        reply(&request, at(Door::Server), &known(true, script()), &server(Mode::Reservations)).unwrap();
    assert_eq!((answer.to, answer.packet.relay), (SocketAddrV4::new(relay, 67), relay));
    assert_eq!(answer.packet.options.last(), Some(&(RELAY_AGENT, b"\x01\x04port".to_vec())));
    assert_eq!(answer.packet.option(UUID), Some(&uuid[..]));
    let direct =
        reply(&asking(DISCOVER, &[]), at(Door::Server), &known(true, script()), &server(Mode::Reservations));
    assert_eq!(direct.unwrap().to, SocketAddrV4::new(Ipv4Addr::BROADCAST, 68));
}

#[test]
fn an_answer_is_no_longer_than_who_asks_can_take() {
    let mut reservation = known(true, script());
    if let Some(given) = &mut reservation.addressing {
        given.time_servers = vec![SERVER_ADDRESS; 40];
        given.host_name = Some("n".repeat(200));
    }
    let short = answered(DISCOVER, &with(&[]), &reservation, Mode::Reservations).unwrap();
    assert!(short.bytes().len() <= USUAL_MESSAGE - HEADERS, "{}", short.bytes().len());
    assert_eq!(short.option(TIME_SERVERS), None);
    assert!(short.option(BOOT_FILE).is_some() && short.option(SUBNET_MASK).is_some());
    let long =
        answered(DISCOVER, &with(&[(LONGEST_MESSAGE, &[5, 192])]), &reservation, Mode::Reservations).unwrap();
    assert!(long.option(TIME_SERVERS).is_some() && long.option(HOST_NAME).is_some());
    if let Some(given) = &mut reservation.addressing {
        given.time_servers = vec![SERVER_ADDRESS; 400];
    }
    let huge = with(&[(LONGEST_MESSAGE, &[255, 255])]);
    let framed = answered(DISCOVER, &huge, &reservation, Mode::Reservations).unwrap();
    assert!(framed.bytes().len() <= LONGEST_FRAME - HEADERS, "{}", framed.bytes().len());
    let lying = answered(DISCOVER, &with(&[(LONGEST_MESSAGE, &[0, 9])]), &reservation, Mode::Reservations);
    assert!(lying.is_some(), "nobody takes less than the least");
}

#[test]
fn what_is_not_for_us_is_not_answered() {
    let (reserved, server) = (known(true, script()), server(Mode::Reservations));
    let ask = |request: &Packet| reply(request, at(Door::Server), &reserved, &server);
    let another = Packet { mac: super::super::Mac([1; 6]), ..asking(DISCOVER, &[]) };
    let answer = Packet { operation: Operation::Reply, ..asking(OFFER, &[]) };
    let untyped = Packet { options: Vec::new(), ..asking(DISCOVER, &[]) };
    for (request, what) in [
        (another, "another machine"),
        (answer, "an answer"),
        (untyped, "BOOTP"),
        (asking(DECLINE, &[]), "DECLINE"),
        (asking(RELEASE, &[]), "RELEASE"),
        (asking(99, &[]), "nothing that there is"),
    ] {
        assert_eq!(ask(&request), None, "{what}");
    }
}

#[test]
fn who_has_an_address_is_told_the_rest_and_everybody_else_only_what_to_boot() {
    let informing = |client, options: &[(u8, &[u8])]| Packet { client, ..asking(INFORM, options) };
    let plain = informing(RESERVED, &[]);
    let booting = informing(RESERVED, &with(&[]));
    for (request, door, addressing, expected) in [
        (&plain, Door::Server, true, Some((true, false))),
        (&booting, Door::Server, true, Some((true, true))),
        (&plain, Door::Server, false, None),
        (&booting, Door::Server, false, Some((false, true))),
        (&booting, Door::Proxy, true, Some((false, true))),
        (&plain, Door::Proxy, true, None),
    ] {
        let answer = reply(request, at(door), &known(addressing, script()), &server(Mode::Reservations));
        let told = answer.map(|answer| {
            let packet = &answer.packet;
            assert_eq!(packet.option(MESSAGE_TYPE), Some(&[ACK][..]));
            assert_eq!((packet.yours, packet.option(LEASE_TIME)), (Ipv4Addr::UNSPECIFIED, None));
            let expected = SocketAddrV4::new(RESERVED, 68);
            assert_eq!(answer.to, if door == Door::Proxy { at(door).from } else { expected });
            (packet.option(NAME_SERVERS).is_some(), packet.option(BOOT_FILE).is_some())
        });
        assert_eq!(told, expected, "{door:?} {addressing} {:?}", request.options);
    }
}

#[test]
fn who_is_refused_hears_it_wherever_it_is() {
    let wrong = Ipv4Addr::new(10, 0, 0, 9);
    let relay = Ipv4Addr::new(10, 9, 0, 1);
    let everybody = SocketAddrV4::new(Ipv4Addr::BROADCAST, 68);
    for (relay, to) in [(Ipv4Addr::UNSPECIFIED, everybody), (relay, SocketAddrV4::new(relay, 67))] {
        let request = Packet { client: wrong, relay, flags: 0, ..asking(REQUEST, &[]) };
        let answer =
            reply(&request, at(Door::Server), &known(true, script()), &server(Mode::Reservations)).unwrap();
        assert_eq!(answer.packet.option(MESSAGE_TYPE), Some(&[NAK][..]));
        assert_eq!((answer.to, answer.packet.client), (to, Ipv4Addr::UNSPECIFIED));
        assert_eq!(answer.packet.flags, TO_EVERYBODY, "the relay tells everybody, too");
    }
}

#[test]
fn what_a_client_calls_itself_is_said_again() {
    let options = with(&[(CLIENT, b"\x01abcdef")]);
    for kind in [DISCOVER, INFORM] {
        let packet = answered(kind, &options, &known(true, script()), Mode::Reservations).unwrap();
        assert_eq!(packet.option(CLIENT), Some(&b"\x01abcdef"[..]));
    }
    // At the second port, too, one may ask that has no address.
    let nowhere = Arrived { door: Door::Proxy, from: SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 68) };
    let request = asking(REQUEST, &options);
    let answer = reply(&request, nowhere, &known(false, script()), &server(Mode::Proxy)).unwrap();
    assert_eq!(answer.to, SocketAddrV4::new(Ipv4Addr::BROADCAST, 68));
}

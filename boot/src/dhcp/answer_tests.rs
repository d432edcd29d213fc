//! Tables over requests and what they are answered with.

use std::time::Duration;

use super::{
    super::{
        options::{ARCHITECTURE, USER_CLASS},
        packet::tests::{MAC, asking},
    },
    *,
};

const SERVER_ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const RESERVED: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 77);
const SCRIPT: &str = "http://10.0.0.1:8080/c/0123456789abcdef0123456789abcdef01234567/ipxe";

fn server(mode: Mode) -> Server {
    Server { address: SERVER_ADDRESS, mode, binaries: "http://10.0.0.1:8080/ipxe/".to_owned() }
}

fn known(addressing: bool, boot: Boot) -> Reservation {
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

fn script() -> Boot {
    Boot::Script(SCRIPT.to_owned())
}

fn at(port: u16) -> Arrived {
    Arrived { port, from: SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 99), 4011) }
}

const PXE_X64: [(u8, &[u8]); 2] =
    [(VENDOR_CLASS, b"PXEClient:Arch:00007:UNDI:003016"), (ARCHITECTURE, &[0, 7])];

fn with<'a>(more: &[(u8, &'a [u8])]) -> Vec<(u8, &'a [u8])> {
    PXE_X64.into_iter().chain(more.iter().copied()).collect()
}

fn answered(kind: u8, options: &[(u8, &[u8])], known: &Reservation, mode: Mode) -> Option<Packet> {
    reply(&asking(kind, options), at(SERVER_PORT), known, &server(mode)).map(|reply| reply.packet)
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
        reply(&renewing, at(SERVER_PORT), &known(true, Boot::Disk), &server(Mode::Reservations)).unwrap();
    assert_eq!((renewed.packet.yours, renewed.to), (RESERVED, SocketAddrV4::new(RESERVED, CLIENT_PORT)));
}

#[test]
fn every_loader_is_told_to_boot_in_its_own_words() {
    let file = |options: &[(u8, &[u8])], boot: Boot| {
        let packet = answered(DISCOVER, options, &known(false, boot), Mode::Proxy)?;
        assert_eq!((packet.yours, packet.next_server), (Ipv4Addr::UNSPECIFIED, SERVER_ADDRESS));
        let class = packet.option(VENDOR_CLASS).map(|class| String::from_utf8(class.to_vec()).unwrap());
        Some((class?, String::from_utf8(packet.option(BOOT_FILE)?.to_vec()).unwrap()))
    };
    let class = |class: &'static [u8], architecture: &'static [u8]| {
        vec![(VENDOR_CLASS, class), (ARCHITECTURE, architecture)]
    };
    let ipxe = |features: &'static [u8]| with(&[(USER_CLASS, b"iPXE"), (IPXE, features)]);
    for (options, expected) in [
        (class(b"PXEClient:Arch:00000", &[0, 0]), ("PXEClient", "undionly.kpxe")),
        (class(b"PXEClient:Arch:00007", &[0, 7]), ("PXEClient", "snponly.efi")),
        (class(b"PXEClient:Arch:00011", &[0, 11]), ("PXEClient", "snponly-arm64.efi")),
        (class(b"HTTPClient:Arch:00016", &[0, 16]), ("HTTPClient", "http://10.0.0.1:8080/ipxe/snponly.efi")),
        (
            class(b"HTTPClient:Arch:00019", &[0, 19]),
            ("HTTPClient", "http://10.0.0.1:8080/ipxe/snponly-arm64.efi"),
        ),
        (ipxe(&[19, 1, 1]), ("PXEClient", SCRIPT)),
        (ipxe(&[36, 1, 1]), ("PXEClient", "tftp://10.0.0.1/snponly.efi")),
    ] {
        let expected = (expected.0.to_owned(), expected.1.to_owned());
        assert_eq!(file(&options, script()), Some(expected), "{options:?}");
        assert_eq!(file(&options, Boot::Disk), None, "what is installed boots from its disk: {options:?}");
    }
    for options in [vec![], class(b"PXEClient:Arch:00027", &[0, 27]), vec![(VENDOR_CLASS, &b"PXEClient"[..])]]
    {
        assert_eq!(file(&options, script()), None, "there is nothing for it: {options:?}");
    }
}

#[test]
fn firmware_finds_what_it_reads() {
    let packet = answered(DISCOVER, &with(&[]), &known(true, script()), Mode::Reservations).unwrap();
    assert_eq!(
        (packet.yours, packet.next_server, packet.file.as_str()),
        (RESERVED, SERVER_ADDRESS, "snponly.efi")
    );
    assert_eq!(packet.option(VENDOR), Some(&[6, 1, 8, 255][..]));
    assert_eq!(packet.option(BOOT_SERVER), Some(&b"10.0.0.1"[..]));
    // A URL that is too long for the place of old stands in the option alone.
    let long = Boot::Script(format!("http://boot/{}", "x".repeat(150)));
    let options = with(&[(USER_CLASS, b"iPXE"), (IPXE, &[19, 1, 1])]);
    let packet = answered(DISCOVER, &options, &known(true, long), Mode::Reservations).unwrap();
    assert_eq!((packet.file.as_str(), packet.option(BOOT_FILE).map(<[u8]>::len)), ("", Some(162)));
    assert_eq!(packet.option(IPXE), Some(&[176, 1, 1][..]));
}

#[test]
fn beside_another_server_the_second_question_is_answered_where_it_was_asked() {
    let ask =
        |port| reply(&asking(REQUEST, &with(&[])), at(port), &known(false, script()), &server(Mode::Proxy));
    let answer = ask(PROXY_PORT).unwrap();
    assert_eq!(answer.packet.option(MESSAGE_TYPE), Some(&[ACK][..]));
    assert_eq!(answer.to, SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 99), 4011));
    assert_eq!(ask(SERVER_PORT), None, "that one is for who gives addresses");
    let looking =
        reply(&asking(DISCOVER, &with(&[])), at(PROXY_PORT), &known(false, script()), &server(Mode::Proxy));
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
        reply(&request, at(SERVER_PORT), &known(true, script()), &server(Mode::Reservations)).unwrap();
    assert_eq!((answer.to, answer.packet.relay), (SocketAddrV4::new(relay, SERVER_PORT), relay));
    assert_eq!(answer.packet.options.last(), Some(&(RELAY_AGENT, b"\x01\x04port".to_vec())));
    assert_eq!(answer.packet.option(UUID), Some(&uuid[..]));
    let direct =
        reply(&asking(DISCOVER, &[]), at(SERVER_PORT), &known(true, script()), &server(Mode::Reservations));
    assert_eq!(direct.unwrap().to, SocketAddrV4::new(Ipv4Addr::BROADCAST, CLIENT_PORT));
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
    let lying = answered(DISCOVER, &with(&[(LONGEST_MESSAGE, &[0, 9])]), &reservation, Mode::Reservations);
    assert!(lying.is_some(), "nobody takes less than the least");
}

#[test]
fn what_is_not_for_us_is_not_answered() {
    let (reserved, server) = (known(true, script()), server(Mode::Reservations));
    let ask = |request: &Packet| reply(request, at(SERVER_PORT), &reserved, &server);
    let another = Packet { mac: super::super::Mac([1; 6]), ..asking(DISCOVER, &[]) };
    let answer = Packet { operation: Operation::Reply, ..asking(OFFER, &[]) };
    let untyped = Packet { options: Vec::new(), ..asking(DISCOVER, &[]) };
    for (request, what) in [
        (another, "another machine"),
        (answer, "an answer"),
        (untyped, "BOOTP"),
        (asking(4, &[]), "DECLINE"),
        (asking(7, &[]), "RELEASE"),
        (asking(99, &[]), "nothing that there is"),
    ] {
        assert_eq!(ask(&request), None, "{what}");
    }
    let informed = ask(&asking(INFORM, &with(&[]))).unwrap().packet;
    assert_eq!((informed.yours, informed.option(LEASE_TIME)), (Ipv4Addr::UNSPECIFIED, None));
}

use super::*;

fn tlv(kind: u8, value: &[u8]) -> Vec<u8> {
    let head = (u16::from(kind) << 9) | u16::try_from(value.len()).unwrap();
    [&head.to_be_bytes(), value].concat()
}

fn message(chassis: &[u8], port: &[u8], others: &[Vec<u8>]) -> Vec<u8> {
    [tlv(1, chassis), tlv(2, port), tlv(3, &[0, 120]), others.concat(), tlv(0, &[])].concat()
}

const CHASSIS: &[u8] = b"\x04\x00\x1c\x73\xaa\xbb\xcc";
const PORT: &[u8] = b"\x05Ethernet12";

#[test]
fn a_switch_tells_its_name_and_its_port() {
    let others =
        [tlv(4, b"rack 7, unit 3\n"), tlv(5, b"leaf-3.example\0"), tlv(127, b"\0\x80\xc2\x01\0\x01")];
    let expected = Neighbour {
        chassis: "00:1c:73:aa:bb:cc".into(),
        port: "Ethernet12".into(),
        system_name: Some("leaf-3.example".into()),
        port_description: Some("rack 7, unit 3".into()),
    };
    assert_eq!(read(&message(CHASSIS, PORT, &others)), Some(expected));
}

#[test]
fn ids_are_written_by_their_kind() {
    let six = [&[5, 2][..], &Ipv6Addr::LOCALHOST.octets()].concat();
    for (chassis, port, expected) in [
        (
            CHASSIS,
            b"\x03\x00\x1c\x73\xaa\xbb\xcd".as_slice(),
            Some(("00:1c:73:aa:bb:cc", "00:1c:73:aa:bb:cd")),
        ),
        (b"\x05\x01\x0a\x00\x00\x01", b"\x07local", Some(("10.0.0.1", "local"))),
        (&six, b"\x04\x01\x0a\x00\x00\x02", Some(("::1", "10.0.0.2"))),
        (b"\x07\x1b[31mswitch", b"\x01alias", Some(("[31mswitch", "alias"))),
        (b"\x05\x10\x01\x02", PORT, Some(("01:02", "Ethernet12"))),
        (b"\x04\x00\x1c", PORT, None),
        (b"\x04\x00\x1c\x73\xaa\xbb\xcc\xdd", PORT, None),
        (b"\x05\x01\x0a", PORT, None),
        (b"\x05", PORT, None),
        (b"\x07", PORT, None),
        (b"", PORT, None),
    ] {
        let found = read(&message(chassis, port, &[]));
        let found = found.as_ref().map(|found| (found.chassis.as_str(), found.port.as_str()));
        assert_eq!(found, expected, "{chassis:?} {port:?}");
    }
}

#[test]
fn what_is_malformed_is_none() {
    let (chassis, port, lifetime) = (tlv(1, CHASSIS), tlv(2, PORT), tlv(3, &[0, 120]));
    for (name, bytes) in [
        ("nothing", vec![]),
        ("another order", [port.clone(), chassis.clone(), lifetime.clone(), tlv(0, &[])].concat()),
        ("no lifetime", [chassis.clone(), port.clone(), tlv(0, &[])].concat()),
        ("a goodbye", [chassis.clone(), port.clone(), tlv(3, &[0, 0]), tlv(0, &[])].concat()),
        ("a short lifetime", [chassis.clone(), port.clone(), tlv(3, &[1]), tlv(0, &[])].concat()),
        (
            "a field that is longer than the frame",
            [chassis.clone(), port.clone(), lifetime.clone(), vec![0x0a, 0xff, 1]].concat(),
        ),
        ("half a head", [chassis.clone(), port.clone(), lifetime.clone(), vec![0x0a]].concat()),
    ] {
        assert_eq!(read(&bytes), None, "{name}");
    }
    let whole = [chassis, port, lifetime].concat();
    for length in 0..whole.len() {
        assert_eq!(read(&whole[..length]), None, "{length}");
    }
}

#[test]
fn what_is_behind_the_end_does_not_matter() {
    // Short frames are filled up by the network card.
    let filled = [message(CHASSIS, PORT, &[]), vec![0xff; 20]].concat();
    assert!(read(&filled).is_some());
    let unended = [tlv(1, CHASSIS), tlv(2, PORT), tlv(3, &[0, 120]), tlv(5, b"leaf")].concat();
    assert_eq!(read(&unended).unwrap().system_name.as_deref(), Some("leaf"));
}

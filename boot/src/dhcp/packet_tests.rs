//! Messages are read as they are written, and what is none is refused.

use super::{super::options::MESSAGE_TYPE, *};

pub(in crate::dhcp) const MAC: Mac = Mac([0x52, 0x54, 0, 0xab, 0, 1]);

/// A machine that looks for a server, with more.
pub(in crate::dhcp) fn discover(options: &[(u8, &[u8])]) -> Packet {
    asking(1, options)
}

/// A message of this type, with more.
pub(in crate::dhcp) fn asking(kind: u8, options: &[(u8, &[u8])]) -> Packet {
    let more = options.iter().map(|(code, value)| (*code, value.to_vec()));
    Packet {
        operation: Operation::Request,
        hops: 0,
        transaction: 0x1234_5678,
        seconds: 4,
        flags: 0x8000,
        client: Ipv4Addr::UNSPECIFIED,
        yours: Ipv4Addr::UNSPECIFIED,
        next_server: Ipv4Addr::UNSPECIFIED,
        relay: Ipv4Addr::UNSPECIFIED,
        mac: MAC,
        file: String::new(),
        options: std::iter::once((MESSAGE_TYPE, vec![kind])).chain(more).collect(),
    }
}

#[test]
fn what_is_written_is_read_again() {
    let long = vec![7; 600];
    let packet = Packet {
        operation: Operation::Reply,
        hops: 2,
        client: Ipv4Addr::new(10, 0, 0, 1),
        yours: Ipv4Addr::new(10, 0, 0, 2),
        next_server: Ipv4Addr::new(10, 0, 0, 3),
        relay: Ipv4Addr::new(10, 0, 0, 4),
        file: "snponly.efi".to_owned(),
        ..discover(&[(67, b"http://b/x"), (43, &long), (80, b"")])
    };
    let bytes = packet.bytes();
    assert_eq!(Packet::parse(&bytes).unwrap(), packet);
    assert_eq!(packet.option(43), Some(long.as_slice()), "in three parts");
    assert_eq!(bytes.windows(2).filter(|pair| *pair == [43, 255]).count(), 2);
    assert_eq!(discover(&[]).bytes().len(), LEAST);
}

#[test]
fn a_name_that_is_too_long_for_its_place_is_cut_there_and_nowhere_else() {
    let packet = Packet { file: "f".repeat(200), ..discover(&[]) };
    let read = Packet::parse(&packet.bytes()).unwrap();
    assert_eq!(read.file.len(), LONGEST_FILE);
    assert_eq!(read.option(MESSAGE_TYPE), Some(&[1][..]));
}

#[test]
fn options_may_stand_in_the_places_of_names() {
    let mut bytes = discover(&[(OVERLOAD, &[3])]).bytes();
    bytes[FILE.start..FILE.start + 4].copy_from_slice(&[60, 1, b'x', END]);
    bytes[NAME.start..NAME.start + 5].copy_from_slice(&[PAD, 77, 1, b'y', END]);
    let read = Packet::parse(&bytes).unwrap();
    assert_eq!(
        (read.option(60), read.option(77), read.file.as_str()),
        (Some(&b"x"[..]), Some(&b"y"[..]), "")
    );
}

#[test]
fn what_is_no_message_is_refused() {
    let whole = discover(&[]).bytes();
    let changed = |at: usize, to: u8| {
        let mut bytes = whole.clone();
        bytes[at] = to;
        bytes
    };
    for (bytes, expected) in [
        (Vec::new(), PacketError::Length),
        (whole[..FIXED - 1].to_vec(), PacketError::Length),
        (vec![0; MOST + 1], PacketError::Length),
        (whole[..FIXED + 2].to_vec(), PacketError::Cookie),
        (changed(0, 3), PacketError::Cookie),
        (changed(FIXED, 0), PacketError::Cookie),
        (changed(1, 6), PacketError::Hardware),
        (changed(2, 16), PacketError::Hardware),
        (changed(FIXED + 5, 200), PacketError::Option),
        (whole[..FIXED + 5].to_vec(), PacketError::Option),
    ] {
        assert_eq!(Packet::parse(&bytes), Err(expected), "{} bytes", bytes.len());
    }
    // Without an end, what is there counts.
    assert!(Packet::parse(&whole[..FIXED + 7]).is_ok());
}

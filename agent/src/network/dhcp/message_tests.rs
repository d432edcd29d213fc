//! Questions are written, answers are read, and what is none is nothing.

use super::*;

pub(in crate::network::dhcp) const US: Mac = Mac([0x52, 0x54, 0, 0xab, 0, 1]);

/// An answer of this type to us, as a server writes it.
pub(in crate::network::dhcp) fn answer(
    kind: u8,
    transaction: u32,
    address: [u8; 4],
    more: &[(u8, &[u8])],
) -> Vec<u8> {
    let mut bytes = vec![2, 1, 6, 0];
    bytes.extend(transaction.to_be_bytes());
    bytes.resize(16, 0);
    bytes.extend(address);
    bytes.resize(MAC.start, 0);
    bytes.extend(US.0);
    bytes.resize(FIXED, 0);
    bytes.extend(COOKIE);
    for (code, value) in [(MESSAGE_TYPE, &[kind][..])].iter().chain(more) {
        bytes.extend([*code, u8::try_from(value.len()).unwrap()]);
        bytes.extend(*value);
    }
    bytes.push(END);
    bytes
}

fn address(last: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, last)
}

#[test]
fn a_question_says_who_asks_and_for_what() {
    let (server, ours) = (address(1), address(5));
    for (question, kind, broadcast, client, options) in [
        (Question::Discover, 1, 0x80, [0; 4], vec![]),
        (
            Question::Take { address: ours, server },
            3,
            0x80,
            [0; 4],
            vec![50, 4, 10, 0, 0, 5, 54, 4, 10, 0, 0, 1],
        ),
        (Question::Keep { address: ours }, 3, 0, [10, 0, 0, 5], vec![]),
    ] {
        let bytes = Asked { question, mac: US, transaction: 0x0102_0304, seconds: 7 }.bytes();
        assert_eq!(bytes[..12], [1, 1, 6, 0, 1, 2, 3, 4, 0, 7, broadcast, 0], "{question:?}");
        assert_eq!((&bytes[12..16], &bytes[MAC]), (&client[..], &US.0[..]), "{question:?}");
        let rest = [&COOKIE[..], &[53, 1, kind], &options, &[55, 7, 1, 121, 3, 6, 51, 54, 58, 255]].concat();
        assert_eq!(bytes[FIXED..FIXED + rest.len()], rest, "{question:?}");
        assert_eq!(bytes.len(), LEAST);
        // The options that firmware is known by.
        let mut read = Options::default();
        read.read(&bytes[FIXED + 4..]).unwrap();
        assert_eq!([60, 93, 94, 97].map(|code| read.get(code)), [None; 4]);
    }
}

#[test]
fn an_answer_is_read_with_all_that_it_gives() {
    let all: &[(u8, &[u8])] = &[
        (SUBNET_MASK, &[255, 255, 252, 0]),
        (ROUTERS, &[10, 0, 0, 1, 10, 0, 0, 2]),
        (NAME_SERVERS, &[10, 0, 0, 3]),
        (NAME_SERVERS, &[10, 0, 0, 4]),
        (LEASE_TIME, &[0, 0, 14, 16]),
        (RENEWAL_TIME, &[0, 0, 0, 60]),
        (SERVER, &[10, 0, 0, 1]),
    ];
    let read = Answer::parse(&answer(5, 9, [10, 0, 0, 5], all)).unwrap();
    let expected = Answer {
        kind: Kind::Acknowledged,
        transaction: 9,
        mac: US,
        address: address(5),
        prefix: Some(22),
        server: Some(address(1)),
        lease: Some(3600),
        renewal: Some(60),
        routes: vec![Route::default_through(address(1))],
        name_servers: vec![address(3), address(4)],
    };
    assert_eq!(read, expected);
}

#[test]
fn networks_count_more_than_a_gateway() {
    let value = [&[24, 192, 168, 7, 10, 0, 0, 1][..], &[0, 10, 0, 0, 2], &[32, 169, 254, 0, 1, 0, 0, 0, 0]];
    let value = value.concat();
    let options: &[(u8, &[u8])] = &[(ROUTERS, &[10, 0, 0, 9]), (CLASSLESS_ROUTES, &value)];
    let read = Answer::parse(&answer(2, 9, [10, 0, 0, 5], options)).unwrap();
    assert_eq!(
        read.routes,
        [
            Route { to: Ipv4Addr::new(192, 168, 7, 0), prefix: 24, through: Some(address(1)) },
            Route::default_through(address(2)),
            Route { to: Ipv4Addr::new(169, 254, 0, 1), prefix: 32, through: None },
        ]
    );
}

#[test]
fn options_may_stand_in_the_places_of_names() {
    let mut bytes = answer(2, 9, [10, 0, 0, 5], &[(OVERLOAD, &[3])]);
    bytes[FILE.start..FILE.start + 7].copy_from_slice(&[SERVER, 4, 10, 0, 0, 1, END]);
    bytes[NAME.start..NAME.start + 8].copy_from_slice(&[PAD, SUBNET_MASK, 4, 255, 255, 0, 0, END]);
    let read = Answer::parse(&bytes).unwrap();
    assert_eq!((read.server, read.prefix), (Some(address(1)), Some(16)));
}

#[test]
fn what_is_no_answer_is_nothing() {
    let whole = answer(2, 9, [10, 0, 0, 5], &[]);
    let changed = |at: usize, to: u8| {
        let mut bytes = whole.clone();
        bytes[at] = to;
        bytes
    };
    let short: &[u8] = &[33, 1, 2, 3, 4, 5];
    for bytes in [
        Vec::new(),
        whole[..FIXED].to_vec(),
        changed(0, 1),
        changed(2, 16),
        changed(FIXED, 0),
        changed(FIXED + 5, 200),
        answer(1, 9, [10, 0, 0, 5], &[]),
        answer(2, 9, [10, 0, 0, 5], &[(CLASSLESS_ROUTES, short)]),
    ] {
        assert_eq!(Answer::parse(&bytes), None, "{bytes:?}");
    }
}

//! Every loader finds what it reads, and nothing that it would misunderstand.

use std::net::Ipv4Addr;

use super::{
    super::{
        answer::{
            Mode,
            tests::{DISCOVER, RESERVED, SCRIPT, SERVER_ADDRESS, answered, known, script, with},
        },
        options::{ARCHITECTURE, USER_CLASS},
    },
    *,
};

const PROGRAM: &str = "http://10.0.0.1:8080/c/0123456789abcdef0123456789abcdef01234567/linux.efi";

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
    for (options, expected) in [
        (class(b"HTTPClient:Arch:00016", &[0, 16]), ("HTTPClient", PROGRAM)),
        (class(b"HTTPClient:Arch:00027", &[0, 27]), ("HTTPClient", PROGRAM)),
        (class(b"PXEClient:Arch:00007", &[0, 7]), ("PXEClient", "snponly.efi")),
        (ipxe(&[19, 1, 1]), ("PXEClient", SCRIPT)),
        (ipxe(&[]), ("PXEClient", "tftp://10.0.0.1/snponly.efi")),
    ] {
        let boot = Boot::Script { script: SCRIPT.to_owned(), program: Some(PROGRAM.to_owned()) };
        let expected = (expected.0.to_owned(), expected.1.to_owned());
        assert_eq!(
            file(&options, boot),
            Some(expected),
            "only one that boots by HTTP starts it: {options:?}"
        );
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
    let long = Boot::Script { script: format!("http://boot/{}", "x".repeat(150)), program: None };
    let options = with(&[(USER_CLASS, b"iPXE"), (IPXE, &[19, 1, 1])]);
    let packet = answered(DISCOVER, &options, &known(true, long), Mode::Reservations).unwrap();
    assert_eq!((packet.file.as_str(), packet.option(BOOT_FILE).map(<[u8]>::len)), ("", Some(162)));
    assert_eq!((packet.option(IPXE), packet.option(VENDOR)), (Some(&[176, 1, 1][..]), None));
    let options: [(u8, &[u8]); 2] = [(VENDOR_CLASS, b"HTTPClient:Arch:00016"), (ARCHITECTURE, &[0, 16])];
    let packet = answered(DISCOVER, &options, &known(true, script()), Mode::Reservations).unwrap();
    assert_eq!((packet.option(VENDOR), packet.option(IPXE)), (None, None), "only PXE reads these");
}

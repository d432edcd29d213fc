//! What can be written to a disk, and what can't.

use serde_json::{Value, json};

use super::*;

const HEX: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

fn details(details: Value) -> Option<ImageDetails> {
    Some(serde_json::from_value(details).unwrap())
}

#[test]
fn an_image_behind_a_url_can_be_written() {
    let hints = RootDeviceHints { model: Some("m".to_owned()), ..RootDeviceHints::default() };
    let given = details(json!({"format": "qcow2", "checksum": HEX, "checksumType": "sha256"}));
    let found = install("https://x/y", given.as_ref(), Some(&hints)).unwrap();
    assert_eq!((found.image.as_str(), found.format), ("https://x/y", Some(ImageFormat::Qcow2)));
    assert_eq!((found.checksum.as_deref(), found.checksum_type), (Some(HEX), ChecksumType::Sha256));
    assert_eq!(found.root_device_hints, Some(hints));
    assert!(install("http://x/y.raw.zst#sha256=00", None, None).is_ok(), "its first bytes tell what it is");
    for format in ["raw", "qcow2", "oci"] {
        let found = install("oci://x/y:1", details(json!({ "format": format })).as_ref(), None).unwrap();
        assert!(is_in_registry(&found.image), "{format}");
    }
}

#[test]
fn what_can_not_be_written_is_refused() {
    for (url, given, told) in [
        ("oci://x/y:1", json!({"checksum": "0123456789abcdef0123456789abcdef"}), "@sha256:"),
        ("ftp://x/y.raw", json!({}), "http://"),
        ("file:///y.raw", json!({}), "http://"),
        ("http://x/y", json!({"format": "iso"}), "raw or qcow2"),
        ("http://x/y", json!({"format": "oci"}), "oci://"),
        ("http://x/y#sha256=00", json!({"checksum": HEX}), "remove one"),
        ("http://x/y", json!({"checksum": "00"}), "64 (sha256)"),
        ("http://x/y", json!({"checksum": HEX, "checksumType": "md5"}), "checksumType"),
    ] {
        let why = install(url, details(given.clone()).as_ref(), None).unwrap_err();
        assert!(why.contains(told), "{url} {given}: {why}");
    }
}

#[test]
fn the_agent_boots_in_the_way_that_there_is() {
    let on = |agent| Delivery::On { url_length: 80, agent };
    let image = || install("http://x/y.raw", None, None).unwrap();
    for (agent, method) in
        [(AgentBoot::VirtualMedia, BootMethod::VirtualMedia), (AgentBoot::Network, BootMethod::Ipxe)]
    {
        let found = boot(image(), Some(ConfigVolume::Cidata), BootMode::Legacy, on(agent)).unwrap();
        assert_eq!((found.method, found.boot_mode), (method, BootMode::Legacy));
        assert_eq!(found.kernel_args, ["beskar7.url={{agentURL}}"]);
        assert_eq!((found.kernel, found.image), (None, None), "which agent it is, the manager knows");
    }
    for delivery in [on(AgentBoot::None), Delivery::Off] {
        let why = boot(image(), None, BootMode::UEFI, delivery).unwrap_err();
        assert!(why.contains("--agent-iso") && why.contains("--agent-kernel"), "{why}");
    }
}

#[test]
fn a_system_finds_its_configuration_where_it_looks_for_it() {
    use ConfigVolume::{Cidata, Config2};
    for (family, ignition, asked, expected) in [
        (None, false, None, Ok((Cidata, Reads::NoIgnition))),
        (None, false, Some(Cidata), Ok((Cidata, Reads::NoIgnition))),
        (None, false, Some(Config2), Ok((Config2, Reads::Anything))),
        (None, true, None, Ok((Config2, Reads::Ignition))),
        (Some(OsFamily::Other), true, Some(Cidata), Err("config-2")),
        (Some(OsFamily::Ubuntu), false, None, Ok((Cidata, Reads::CloudConfig))),
        (Some(OsFamily::Rhel), false, Some(Config2), Ok((Config2, Reads::CloudConfig))),
        (Some(OsFamily::Flatcar), false, None, Ok((Config2, Reads::Ignition))),
        (Some(OsFamily::FedoraCoreos), true, Some(Cidata), Err("config-2")),
        (Some(OsFamily::Talos), false, None, Ok((Cidata, Reads::Own))),
        (Some(OsFamily::Talos), false, Some(Config2), Err("nocloud")),
        (Some(OsFamily::LeapMicro), false, None, Err("cloud-init")),
    ] {
        match (volume(family, ignition, asked), expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{family:?} {asked:?}"),
            (Err(why), Err(told)) => assert!(why.contains(told), "{family:?} {asked:?}: {why}"),
            (found, expected) => panic!("{family:?} {asked:?}: {found:?}, and not {expected:?}"),
        }
    }
}

#[test]
fn a_checksum_is_told_by_its_length() {
    let of = |digits: usize| "A".repeat(digits);
    for (digits, expected) in
        [(32, ChecksumType::Md5), (64, ChecksumType::Sha256), (128, ChecksumType::Sha512)]
    {
        let digest = Checksum::Digest(expected, "a".repeat(digits));
        assert_eq!(checksum(&of(digits), ChecksumType::Auto), Ok(digest.clone()));
        assert_eq!(checksum(&of(digits), expected), Ok(digest));
    }
    let file = "http://x/SHA256SUMS";
    assert_eq!(checksum(file, ChecksumType::Sha512), Ok(Checksum::File(file.to_owned())));
    for (text, asked) in [
        (of(40), ChecksumType::Auto),
        (String::new(), ChecksumType::Auto),
        ("g".repeat(64), ChecksumType::Auto),
        (of(64), ChecksumType::Sha512),
    ] {
        assert!(checksum(&text, asked).is_err(), "{text}");
    }
}

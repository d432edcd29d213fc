//! What kind of image it is, and what a host is told because of it.

use serde_json::{Value, json};

use super::{
    super::samples::{claim, host},
    *,
};

const ISO: &str = "http://images/os.iso";

fn with(spec: Value) -> HostClaim {
    claim(json!({ "spec": spec }))
}

#[test]
fn the_format_tells_and_else_the_ending() {
    for (given, expected) in [
        (json!({"url": ISO}), "iso"),
        (json!({"url": "https://images/OS.ISO?x=1.raw"}), "iso"),
        (json!({"url": "http://images/os", "format": "iso"}), "iso"),
        (json!({"url": "http://images/os.iso", "format": "raw"}), "disks"),
        (json!({"url": "http://images/os.qcow2", "checksum": "http://images/os.md5"}), "disks"),
        (json!({"url": "http://images/os.raw.zst"}), "disks"),
        (json!({"url": "http://images/os.img"}), "disks"),
        (json!({"url": "oci://images/os:1.0"}), "disks"),
        (json!({"url": "http://images/os"}), "format"),
        (json!({"url": "http://images/v1.2"}), "format"),
        (json!({"url": ISO, "checksum": "0123456789abcdef0123456789abcdef"}), "checksum"),
    ] {
        let found = match image(&with(json!({ "image": given }))) {
            Image::None => "none".to_owned(),
            Image::Iso(_) => "iso".to_owned(),
            Image::NotUsable(why) => why.to_owned(),
        };
        assert!(found.contains(expected), "{given}: {found}");
    }
    assert_eq!(image(&with(json!({}))), Image::None);
}

#[test]
fn a_host_boots_when_the_claim_is_online_and_has_an_image() {
    for (spec, iso, online) in [
        (json!({}), None, false),
        (json!({"image": {"url": ISO}}), None, false),
        (json!({"online": true}), None, true),
        (json!({"image": {"url": ISO}, "online": true}), Some(ISO), true),
        (json!({"image": {"url": "http://images/os.qcow2"}, "online": true}), None, true),
        (json!({"image": {"url": ISO}, "online": true, "userData": {"name": "u"}}), None, true),
        (json!({"image": {"url": ISO}, "online": true, "ignitionRef": {"name": "u"}}), None, true),
    ] {
        for held in [None, Some(&host(json!({})))] {
            let told = instructions(&with(spec.clone()), held);
            assert_eq!((told.boot_iso_source.as_deref(), told.online), (iso, Some(online)), "{spec}");
            assert_eq!(told.boot.is_some(), iso.is_some());
        }
    }
}

#[test]
fn what_was_begun_is_not_changed_and_that_is_said() {
    let begun = host(json!({
        "metadata": {"annotations": {"beskar7.infrastructure.cluster.x-k8s.io/provisioned": "id"}},
        "spec": {"bootIsoSource": ISO, "boot": {"method": "VirtualMedia"}},
    }));
    for (spec, differs) in [
        (json!({"image": {"url": ISO}, "online": true}), false),
        (json!({"image": {"url": ISO}}), false),
        (json!({"image": {"url": "http://images/new.iso"}, "online": true}), true),
        (json!({"online": true}), true),
    ] {
        let claim = with(spec.clone());
        let told = instructions(&claim, Some(&begun));
        assert_eq!(told.boot_iso_source.as_deref(), Some(ISO), "{spec}");
        assert_eq!(told.online, Some(claim.spec.online), "that it runs is another matter");
        assert_eq!(drift(&claim, &begun).is_some(), differs, "{spec}");
    }
    assert_eq!(drift(&with(json!({})), &host(json!({"spec": {"bootIsoSource": ISO}}))), None, "not begun");
}

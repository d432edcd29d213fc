//! What is written down of images, and what it says of them later.

use beskar7_api::boot::{BootMethod, DiskInstall};
use serde_json::{Value, json};

use super::*;

const URL: &str = "http://images/os.img";
const DIGEST: &str = "0123456789abcdef0123456789abcdef";

fn disk(details: Value) -> ImageMark {
    let details: ImageDetails = serde_json::from_value(details).unwrap();
    ImageMark { name: URL.to_owned(), given: Some(Given::of(&details)) }
}

#[test]
fn what_is_written_is_read_again_for_its_claim_and_by_no_other() {
    let other = "fedcba9876543210fedcba9876543210";
    for (mark, text) in [
        (ImageMark::named("http://images/os.iso".into()), "id http://images/os.iso".to_owned()),
        (ImageMark::named("http://x/k http://x/i".into()), "id http://x/k http://x/i".to_owned()),
        (disk(json!({})), format!("id/-/- {URL}")),
        (disk(json!({"format": "qcow2"})), format!("id/qcow2/- {URL}")),
        (disk(json!({"format": "oci"})), format!("id/oci/- {URL}")),
        (disk(json!({"format": "raw", "checksum": DIGEST})), format!("id/raw/- {URL} {DIGEST}")),
        (
            disk(json!({"checksum": "http://i/sums with spaces"})),
            format!("id/-/- {URL} http://i/sums with spaces"),
        ),
        (
            disk(json!({"checksum": "http://i/sums", "checksumType": "sha512"})),
            format!("id/-/sha512 {URL} http://i/sums"),
        ),
    ] {
        assert_eq!(mark.written("id"), text);
        assert_eq!(ImageMark::parse(&text, "id"), Some(mark));
        assert_eq!(ImageMark::parse(&text, other), None, "{text}");
    }
    for text in ["", "id", "id/raw x", "id/raw/-/x y", "id/tar/- y", "id/raw/crc y", "/raw/- y", "id/raw/-"] {
        assert_eq!(ImageMark::parse(text, "id"), None, "{text}");
    }
}

/// As it was read before a format and a checksum were written down: that is what decides when a manager is rolled back.
fn read_by_an_older_version<'a>(text: &'a str, claim: &str) -> Option<&'a str> {
    let (of, url) = text.split_once(' ')?;
    (of == claim).then_some(url)
}

#[test]
fn an_older_version_knows_every_image_but_what_goes_to_a_disk_and_lets_that_run() {
    let iso = ImageMark::named("http://images/os.iso".to_owned()).written("id");
    assert_eq!(read_by_an_older_version(&iso, "id"), Some("http://images/os.iso"));
    for details in [json!({}), json!({"format": "raw", "checksum": DIGEST})] {
        assert_eq!(
            read_by_an_older_version(&disk(details).written("id"), "id"),
            None,
            "nobody knows what runs"
        );
    }
}

#[test]
fn another_checksum_or_format_is_another_image_and_one_that_was_not_given_is_not() {
    let other = DIGEST.replace('0', "1");
    let (upper, sha256) = (DIGEST.to_uppercase(), DIGEST.repeat(2));
    let file = "http://images/sums";
    for (was, is, expected) in [
        (json!({}), json!({}), Compared::Same),
        (json!({"checksum": DIGEST}), json!({"checksum": upper}), Compared::Same),
        (json!({"checksum": DIGEST}), json!({"checksum": DIGEST, "checksumType": "md5"}), Compared::Same),
        (json!({"checksumType": "md5"}), json!({}), Compared::Same),
        (json!({"checksum": DIGEST}), json!({"checksum": other}), Compared::Another),
        (json!({"checksum": DIGEST}), json!({"checksum": sha256}), Compared::Another),
        (json!({"checksum": DIGEST}), json!({"checksum": file}), Compared::Another),
        (json!({"checksum": file}), json!({"checksum": "http://images/sums2"}), Compared::Another),
        (json!({"format": "raw"}), json!({"format": "qcow2"}), Compared::Another),
        (json!({"format": "raw"}), json!({"format": "qcow2", "checksum": DIGEST}), Compared::Another),
        (json!({"checksum": file}), json!({"checksum": file, "checksumType": "md5"}), Compared::MoreOrLess),
        (json!({}), json!({"checksum": DIGEST}), Compared::MoreOrLess),
        (json!({"checksum": DIGEST}), json!({}), Compared::MoreOrLess),
        (json!({}), json!({"format": "raw"}), Compared::MoreOrLess),
        (json!({"format": "raw"}), json!({"checksum": DIGEST}), Compared::MoreOrLess),
    ] {
        for (was, is) in [(&was, &is), (&is, &was)] {
            assert_eq!(disk(was.clone()).compared_to(&disk(is.clone())), expected, "{was} {is}");
            // An older version did not write it down.
            assert_eq!(ImageMark::named(URL.to_owned()).compared_to(&disk(is.clone())), Compared::Same);
            let elsewhere = ImageMark { name: "http://images/new.img".to_owned(), ..disk(is.clone()) };
            assert_eq!(disk(was.clone()).compared_to(&elsewhere), Compared::Another);
        }
    }
    let not_on_a_disk = ImageMark::named(URL.to_owned());
    assert_eq!(disk(json!({})).compared_to(&not_on_a_disk), Compared::Another);
}

#[test]
fn what_a_host_is_told_to_boot_is_what_its_claim_asked_for() {
    let details = json!({"format": "qcow2", "checksum": "http://images/sums", "checksumType": "sha256"});
    let mut told = details.clone();
    crate::claim::samples::merge(&mut told, json!({"image": URL}));
    let install: DiskInstall = serde_json::from_value(told).unwrap();
    let boot = HostBoot { method: BootMethod::Ipxe, install: Some(install), ..HostBoot::default() };
    assert_eq!(ImageMark::of(None, Some(&boot)), Some(disk(details)));
    let iso = HostBoot { method: BootMethod::VirtualMedia, ..HostBoot::default() };
    assert_eq!(
        ImageMark::of(Some("http://i/x.iso"), Some(&iso)),
        Some(ImageMark::named("http://i/x.iso".into()))
    );
    assert_eq!(ImageMark::of(None, Some(&iso)), None);
}

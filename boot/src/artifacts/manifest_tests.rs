use serde_json::{Value, json};

use super::*;

const DIGEST: &str = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

/// An index's entry, known by its size.
fn entry(size: u64, more: &Value) -> Value {
    let mut entry = json!({ "mediaType": "x", "digest": DIGEST, "size": size });
    entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    entry
}

fn platform(size: u64, os: &str, architecture: &str) -> Value {
    entry(size, &json!({ "platform": { "os": os, "architecture": architecture } }))
}

fn chosen(entries: &[Value], wanted: Architecture) -> Result<u64, String> {
    let index = json!({ "schemaVersion": 2, "manifests": entries });
    match parse(index.to_string().as_bytes()).unwrap() {
        Parsed::Index(entries) => choose(&entries, wanted).map(|entry| entry.size),
        Parsed::Manifest(manifest) => panic!("{manifest:?}"),
    }
}

#[test]
fn the_manifest_for_an_architecture_is_found() {
    let both = vec![platform(1, "linux", "amd64"), platform(2, "linux", "arm64")];
    let attested = vec![platform(1, "unknown", "unknown"), platform(2, "linux", "amd64")];
    let windows = vec![platform(1, "windows", "amd64")];
    let variants = vec![
        entry(1, &json!({ "platform": { "os": "linux", "architecture": "arm64", "variant": "v8" } })),
        platform(2, "linux", "arm64"),
    ];
    let garden = |size, cname: &str| {
        entry(
            size,
            &json!({
                "annotations": { "architecture": "amd64", "cname": cname },
                "platform": { "os": "gardenlinux", "architecture": "amd64" },
            }),
        )
    };
    let annotated = vec![
        entry(1, &json!({ "annotations": { "architecture": "arm64" } })),
        entry(2, &json!({ "annotations": { "architecture": "amd64" } })),
    ];
    for (entries, wanted, expected) in [
        (both.clone(), Architecture::Amd64, Ok(1)),
        (both.clone(), Architecture::Arm64, Ok(2)),
        (attested, Architecture::Amd64, Ok(2)),
        (variants, Architecture::Arm64, Ok(1)),
        (vec![platform(1, "linux", "aarch64")], Architecture::Arm64, Ok(1)),
        (vec![platform(1, "", "amd64")], Architecture::Amd64, Ok(1)),
        (vec![entry(1, &json!({}))], Architecture::Arm64, Ok(1)),
        (vec![entry(1, &json!({ "platform": null, "annotations": null }))], Architecture::Arm64, Ok(1)),
        (annotated.clone(), Architecture::Amd64, Ok(2)),
        (vec![garden(1, "kvm-amd64"), garden(2, "metal_pxe-amd64")], Architecture::Amd64, Ok(2)),
        (vec![garden(1, "metal_pxe-amd64")], Architecture::Arm64, Err("gardenlinux/amd64")),
        (vec![annotated[0].clone()], Architecture::Amd64, Err("no platform in particular")),
        (vec![both[0].clone()], Architecture::Arm64, Err("linux/amd64")),
        (windows, Architecture::Amd64, Err("windows/amd64")),
        (
            vec![entry(1, &json!({})), entry(2, &json!({}))],
            Architecture::Amd64,
            Err("no platform in particular"),
        ),
        (vec![], Architecture::Amd64, Err("nothing at all")),
    ] {
        assert_eq!(chosen(&entries, wanted), expected.map_err(str::to_owned), "{entries:?}");
    }
}

#[test]
fn what_is_no_manifest_is_told_apart_and_not_repeated() {
    let many = vec![entry(1, &json!({})); 513];
    let hostile = "hostile ".repeat(1000);
    for (document, said) in [
        (json!({ "manifests": [], "layers": [] }), "both an index and a manifest"),
        (json!({ "schemaVersion": 1, "fsLayers": [] }), "neither an index nor a manifest"),
        (json!({ "layers": many }), "it has 513 layers"),
        (json!({ "manifests": many }), "it has 513 manifests"),
        (json!({ "layers": [{ "digest": DIGEST }] }), "is no manifest, as far as line 1"),
        (json!({ "layers": [{ "digest": DIGEST, "size": -1 }] }), "is no manifest"),
        (json!({ "layers": [{ "digest": DIGEST, "size": 1.5 }] }), "is no manifest"),
        (json!({ "layers": [{ "digest": DIGEST, "size": hostile }] }), "is no manifest"),
        (json!([]), "is no manifest"),
        (json!("x"), "is no manifest"),
    ] {
        let error = parse(document.to_string().as_bytes()).map(|_| ()).unwrap_err();
        assert!(error.contains(said), "{error}");
        assert!(!error.contains("hostile"), "{error}");
    }
    assert!(parse(b"<html>").unwrap_err().contains("is no manifest"));
    assert!(parse("[".repeat(1 << 20).as_bytes()).unwrap_err().contains("is no manifest"));
}

#[test]
fn what_others_wrote_is_shown_within_bounds() {
    let long = "x\n\u{1b}[31m".repeat(1000);
    let title = entry(1, &json!({ "annotations": { "org.opencontainers.image.title": long } }));
    let Ok(Parsed::Manifest(manifest)) =
        parse(json!({ "layers": [title], "annotations": { "architecture": long } }).to_string().as_bytes())
    else {
        panic!("no manifest");
    };
    for text in [manifest.layers[0].shown(), manifest.other_architecture(Architecture::Amd64).unwrap()] {
        assert!(text.len() <= 80 && !text.contains(['\n', '\u{1b}']), "{text:?}");
    }
}

//! Images in registries that do nothing wrong: what is found, what it costs, and what is said when there is none.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use beskar7_boot::artifacts::{Architecture, ArtifactError, Artifacts, Located};
use beskar7_boot::source::read;
use beskar7_boot::upstream::{UpstreamSettings, Upstreams};
use serde_json::json;

use super::mock::{MockServer, content, ranged, reply, sha256};
use super::mock_registry::{CONFIG, Contents, INITRAMFS, KERNEL, SQUASHFS, UKI, is_blob};
use super::{amd64, artifacts, cached, settings};

async fn serve(contents: Contents) -> MockServer {
    MockServer::start(move |asked| contents.answer(asked)).await
}

#[tokio::test]
async fn an_image_gives_its_parts_and_is_looked_at_once() {
    let kernel = content(100_000);
    let parts: [(&str, &[u8]); 5] = [
        (SQUASHFS, b"root"),
        (INITRAMFS, b"first"),
        (KERNEL, &kernel),
        (INITRAMFS, b"second"),
        (UKI, b"uki"),
    ];
    let server = serve(Contents::with_image("1", &parts)).await;
    let artifacts = artifacts();
    let image = amd64(&artifacts, &server, ":1").await.unwrap();
    let kernel_artifact = image.kernel.as_ref().unwrap();
    assert_eq!(read(&*kernel_artifact.source(), 10..90_000).await.unwrap(), kernel[10..90_000]);
    assert_eq!(kernel_artifact.digest().unwrap().to_string(), sha256(&kernel));
    for (ramdisk, expected) in image.initramfs.iter().zip(["first", "second"]) {
        assert_eq!(read(&*ramdisk.source(), 0..ramdisk.size()).await.unwrap(), expected);
    }
    assert_eq!((image.root.as_ref().unwrap().size(), image.program.as_ref().unwrap().size()), (4, 3));
    assert_eq!(image.command_line, None);
    for part in image.kernel.iter().chain(&image.initramfs).chain(&image.root).chain(&image.program) {
        part.verify().await.unwrap();
    }

    // A tag may have moved, so that it is asked for; a digest never does.
    let before = server.count();
    assert_eq!(amd64(&artifacts, &server, "").await.unwrap_err().to_string(), {
        let image = format!("{}/boot/image:latest", server.address);
        format!("{image} can't be had from its registry: the server answered 404 Not Found")
    });
    assert_eq!(amd64(&artifacts, &server, ":1").await.unwrap().digest, image.digest);
    assert_eq!(server.count(), before + 2);
    let by_digest = amd64(&artifacts, &server, &format!("@{}", image.digest)).await.unwrap();
    by_digest.kernel.unwrap().verify().await.unwrap();
    assert_eq!(server.count(), before + 2);

    // Another replica finds a part again by what is written down of it, with one request.
    let reference = format!("{}/boot/image:1", server.address);
    let what = Located::blob(&reference, &sha256(&kernel), 100_000).unwrap();
    let found = super::artifacts().pinned(&what, kernel_artifact.pin()).await.unwrap();
    assert_eq!((found.size(), server.count()), (100_000, before + 3));
    let error = super::artifacts().pinned(&what, "0123456789abcdef").await.unwrap_err();
    assert!(matches!(error, ArtifactError::Replaced { .. }), "{error}");
}

#[tokio::test]
async fn the_parts_for_a_machine_are_found_through_indexes() {
    let mut contents = Contents::default();
    let mut entries = Vec::new();
    for architecture in ["amd64", "arm64"] {
        let mut entry = contents.image(architecture, CONFIG, b"{}", &[(KERNEL, architecture.as_bytes())]);
        entry["platform"] = json!({ "os": "linux", "architecture": architecture });
        entries.push(entry);
    }
    let index = contents.manifest("1", &json!({ "schemaVersion": 2, "manifests": entries }));
    let above = contents.manifest("above", &json!({ "manifests": [index] }));
    contents.manifest("too-deep", &json!({ "manifests": [above] }));
    contents.manifest("amd64-only", &json!({ "manifests": [entries[0]] }));
    let server = serve(contents).await;
    let artifacts = artifacts();
    for tag in ["1", "above"] {
        for (architecture, expected) in [(Architecture::Amd64, "amd64"), (Architecture::Arm64, "arm64")] {
            let reference = format!("oci://{}/boot/image:{tag}", server.address);
            let image = artifacts.image(&reference, architecture).await.unwrap();
            assert_eq!(read(&*image.kernel.unwrap().source(), 0..5).await.unwrap(), expected);
            let own = artifacts.image(&format!("{reference}@{}", image.digest), architecture).await.unwrap();
            assert_eq!(own.digest, image.digest);
        }
    }
    let error = amd64(&artifacts, &server, ":too-deep").await.unwrap_err();
    assert!(error.to_string().contains("more than 2 indexes lead to its manifest"), "{error}");
    let reference = format!("{}/boot/image:amd64-only", server.address);
    let error = artifacts.image(&reference, Architecture::Arm64).await.unwrap_err();
    let said = "has nothing for linux/arm64, only for linux/amd64. Push it for that architecture";
    assert!(error.to_string().contains(said) && !error.is_passing(), "{error}");
}

/// A boot may begin long after its image was found.
#[tokio::test]
async fn what_was_found_by_its_digest_is_served_without_its_registry() {
    let kernel = content((1 << 20) + 5);
    let mut contents = Contents::default();
    let mut entry = contents.image("amd64", CONFIG, b"{}", &[(KERNEL, &kernel)]);
    entry["platform"] = json!({ "os": "linux", "architecture": "amd64" });
    contents.manifest("1", &json!({ "schemaVersion": 2, "manifests": [entry] }));
    contents.image("disk", CONFIG, b"{}", &[("application/x-disk", b"disk")]);
    let gone = Arc::new(AtomicBool::new(false));
    let is_gone = gone.clone();
    let server = MockServer::start(move |asked| match is_gone.load(Ordering::SeqCst) {
        true => reply(502, &[], ""),
        false => contents.answer(asked),
    })
    .await;
    let (_directory, upstreams) = cached();
    let artifacts = Artifacts::new(upstreams);
    // As when a configuration becomes ready: by tags, to the end.
    let image = amd64(&artifacts, &server, ":1").await.unwrap();
    image.kernel.as_ref().unwrap().verify().await.unwrap();
    let name = |version: &str| format!("{}/boot/image{version}", server.address);
    let disk = artifacts.disk(&name(":disk"), Architecture::Amd64).await.unwrap();
    disk.disk.verify().await.unwrap();

    gone.store(true, Ordering::SeqCst);
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(3600)).await;
    tokio::time::resume();
    let before = server.count();
    let exact = name(&format!(":1@{}", image.digest));
    let served = artifacts.image_to_serve(&exact, Architecture::Amd64).await.unwrap().kernel.unwrap();
    let whole = 0..kernel.len() as u64;
    assert!(read(&*served.source(), whole).await.unwrap() == kernel, "other bytes");
    let exact_disk = name(&format!(":disk@{}", disk.digest));
    let served = artifacts.disk_to_serve(&exact_disk, Architecture::Amd64).await.unwrap().disk;
    assert_eq!(read(&*served.source(), 0..4).await.unwrap(), "disk");
    assert_eq!(server.count(), before, "nobody was asked");
    // Who finds out what to boot wants to know whether it is still there.
    let error = artifacts.image(&exact, Architecture::Amd64).await.unwrap_err();
    assert!(error.to_string().contains("502"), "{error}");
    artifacts.disk(&exact_disk, Architecture::Amd64).await.unwrap_err();
}

#[tokio::test]
async fn the_command_line_is_that_of_the_image() {
    let line = "application/vnd.ironcore.image.cmdline";
    let with = br#"{"commandLine":" console=ttyS0 quiet\n"}"#;
    let broken = br#"{"commandLine":"a\nb"}"#;
    let long = "a".repeat(4097);
    let kernel: (&str, &[u8]) = (KERNEL, b"kernel");
    let one_line = "is not one line of printable text";
    for (config_type, config, layer, expected) in [
        (CONFIG, &with[..], None, Ok(Some("console=ttyS0 quiet"))),
        (CONFIG, b"{}", None, Ok(None)),
        (CONFIG, br#"{"commandLine":""}"#, None, Ok(None)),
        ("application/vnd.oci.image.config.v1+json", with, None, Ok(None)),
        (CONFIG, with, Some("ro root=LABEL=x\n"), Ok(Some("ro root=LABEL=x"))),
        (CONFIG, broken, None, Err(one_line)),
        (CONFIG, b"{}", Some(long.as_str()), Err(one_line)),
        (CONFIG, b"[", None, Err("its configuration is none, as far as line 1, column 1 shows")),
    ] {
        let mut contents = Contents::default();
        let parts: Vec<_> = [kernel].into_iter().chain(layer.map(|layer| (line, layer.as_bytes()))).collect();
        contents.image("1", config_type, config, &parts);
        let found = amd64(&artifacts(), &serve(contents).await, ":1").await;
        match (found, expected) {
            (Ok(image), Ok(expected)) => assert_eq!(image.command_line.as_deref(), expected),
            (Err(error), Err(said)) => assert!(error.to_string().contains(said), "{error}"),
            (found, expected) => panic!("{found:?} instead of {expected:?}"),
        }
    }
}

#[tokio::test]
async fn an_image_for_containers_is_none_for_machines() {
    let layer = "application/vnd.oci.image.layer.v1.tar+gzip";
    let server = serve(Contents::with_image("1", &[(layer, b"x"), (layer, b"y")])).await;
    let error = amd64(&artifacts(), &server, ":1").await.unwrap_err();
    assert!(matches!(error, ArtifactError::NothingToBoot { .. }), "{error}");
    let said = "but application/vnd.oci.image.layer.v1.tar+gzip. An image that containers run from";
    assert!(error.to_string().contains(said), "{error}");
}

#[tokio::test]
async fn blobs_are_pinned_by_their_digest_whatever_else_their_servers_say() {
    let contents = Contents::with_image("1", &[(KERNEL, &content(3 << 20))]);
    let count = AtomicUsize::new(0);
    let server = MockServer::start(move |asked| {
        let mut response = contents.answer(asked);
        let tag = format!("\"{}\"", count.fetch_add(1, Ordering::SeqCst));
        response.headers_mut().insert("etag", tag.parse().unwrap());
        response
    })
    .await;
    let first = amd64(&artifacts(), &server, ":1").await.unwrap().kernel.unwrap();
    let second = amd64(&artifacts(), &server, ":1").await.unwrap().kernel.unwrap();
    assert_eq!(first.pin(), second.pin());
    for range in [0..10, 1 << 20..2 << 20, 0..3 << 20] {
        let expected = &content(3 << 20)[range.start as usize..range.end as usize];
        assert!(read(&*first.source(), range).await.unwrap() == expected, "other bytes");
    }
    assert!(server.asked().iter().all(|asked| asked.header("if-match").is_none()));
}

#[tokio::test]
async fn a_registry_without_ranges_needs_the_cache_and_is_asked_once() {
    let kernel = content((2 << 20) + 5);
    let contents = Contents::with_image("1", &[(KERNEL, &kernel)]);
    let server = MockServer::start(move |asked| {
        let mut whole = asked.clone();
        whole.headers.remove("range");
        contents.answer(&whole)
    })
    .await;
    let error = amd64(&artifacts(), &server, ":1").await.unwrap_err();
    assert!(error.to_string().contains("its server answers no ranges"), "{error}");
    let (_directory, upstreams) = cached();
    let image = amd64(&Artifacts::new(upstreams), &server, ":1").await.unwrap();
    let before = server.count();
    let artifact = image.kernel.unwrap();
    artifact.verify().await.unwrap();
    assert!(read(&*artifact.source(), 0..kernel.len() as u64).await.unwrap() == kernel, "other bytes");
    assert_eq!(server.count(), before + 1);
}

#[tokio::test]
async fn registries_are_only_where_images_may_come_from() {
    let server = serve(Contents::with_image("1", &[(KERNEL, b"kernel")])).await;
    let strict = Upstreams::new(&UpstreamSettings::default()).unwrap();
    let hosts = vec!["registry.test".parse().unwrap()];
    let listed = Upstreams::new(&UpstreamSettings { hosts, ..settings() }).unwrap();
    for (upstreams, said) in [(strict, "127.0.0.1 is a loopback address"), (listed, "--artifact-hosts")] {
        let error = amd64(&Artifacts::new(upstreams), &server, ":1").await.unwrap_err();
        assert!(error.to_string().contains(said) && !error.is_passing(), "{error}");
    }
    assert_eq!(server.count(), 0);
    let error =
        artifacts().image("https://me:secret@registry.test/a", Architecture::Amd64).await.unwrap_err();
    let text = format!("{error} {error:?}");
    assert!(text.contains("it has a scheme") && !text.contains("secret"), "{text}");
}

#[tokio::test]
async fn storage_on_another_host_is_read_by_range_and_asked_again_when_its_address_has_expired() {
    let kernel = content(1000);
    let (stored, expired) = (kernel.clone(), Arc::new(AtomicBool::new(false)));
    let over = expired.clone();
    let storage = MockServer::start(move |asked| match asked.query.as_str() {
        "signature=1" if over.load(Ordering::SeqCst) => reply(403, &[], ""),
        _ => ranged(asked, &stored, &[]),
    })
    .await;
    let (contents, place) = (Contents::with_image("1", &[(KERNEL, &kernel)]), storage.url("blob"));
    let signed = AtomicUsize::new(1);
    let server = MockServer::start(move |asked| {
        if !is_blob(asked) {
            return contents.answer(asked);
        }
        let signature = signed.fetch_add(1, Ordering::SeqCst);
        reply(307, &[("Location", &format!("{place}?signature={signature}"))], "")
    })
    .await;
    let artifact = amd64(&artifacts(), &server, ":1").await.unwrap().kernel.unwrap();
    assert_eq!(read(&*artifact.source(), 5..900).await.unwrap(), kernel[5..900]);
    assert_eq!((server.count(), storage.count()), (2, 2));
    expired.store(true, Ordering::SeqCst);
    artifact.verify().await.unwrap();
    assert_eq!((server.count(), storage.count()), (3, 4));
    assert_eq!(storage.asked()[3].query, "signature=2");
}

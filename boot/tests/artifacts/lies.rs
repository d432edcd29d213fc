//! Registries that give something else than what they are asked for, and how far that goes: no further than themselves.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use beskar7_boot::artifacts::{ArtifactError, Artifacts};
use beskar7_boot::source::read;
use serde_json::json;

use super::mock::{MockServer, content, ranged, reply, sha256};
use super::mock_registry::{CONFIG, Contents, KERNEL, is_blob};
use super::{amd64, artifacts, cached};

#[tokio::test]
async fn a_manifest_with_another_digest_is_refused() {
    let mut contents = Contents::with_image("1", &[(KERNEL, b"kernel")]);
    let another = contents.image("2", CONFIG, b"{}", &[(KERNEL, b"another")]);
    contents.manifest("index", &json!({ "manifests": [another] }));
    let wanted = another["digest"].as_str().unwrap().to_owned();
    let (honest, lied_about) = (contents.clone(), format!("/manifests/{wanted}"));
    let server = MockServer::start(move |asked| match asked.path.ends_with(&lied_about) {
        true => {
            let mut first = asked.clone();
            first.path = "/v2/boot/image/manifests/1".to_owned();
            honest.answer(&first)
        }
        false => honest.answer(asked),
    })
    .await;
    amd64(&artifacts(), &server, ":1").await.unwrap();
    for version in [format!("@{wanted}"), ":index".to_owned()] {
        let error = amd64(&artifacts(), &server, &version).await.unwrap_err();
        let said = format!("its registry gives something else for {wanted}");
        assert!(error.to_string().contains(&said) && !error.is_passing(), "{error}");
    }
}

#[tokio::test]
async fn a_registry_that_contradicts_itself_is_refused() {
    let zeros = format!("sha256:{}", "0".repeat(64));
    for said in [zeros.as_str(), "sha256:00", "x"] {
        let (contents, said) = (Contents::with_image("1", &[(KERNEL, b"kernel")]), said.to_owned());
        let server = MockServer::start(move |asked| {
            let mut response = contents.answer(asked);
            response.headers_mut().insert("docker-content-digest", said.parse().unwrap());
            response
        })
        .await;
        let error = amd64(&artifacts(), &server, ":1").await.unwrap_err();
        assert!(error.to_string().contains("another digest than it says"), "{error}");
    }
}

#[tokio::test]
async fn an_endless_or_huge_manifest_is_not_read_to_its_end() {
    let huge = MockServer::start(|_| reply(200, &[], vec![b' '; (4 << 20) + 1])).await;
    let endless = MockServer::start(|_| {
        let chunks = futures::stream::repeat_with(|| Ok::<_, std::io::Error>(vec![b' '; 1 << 16]));
        reply(200, &[], axum::body::Body::from_stream(chunks))
    })
    .await;
    for server in [huge, endless] {
        let error = amd64(&artifacts(), &server, ":1").await.unwrap_err();
        assert!(error.to_string().contains("the answer is longer than 4194304 bytes"), "{error}");
    }
}

#[tokio::test]
async fn parts_of_another_size_or_digest_than_the_manifest_says_are_refused() {
    let mut contents = Contents::default();
    let mut layer = contents.blob(KERNEL, b"kernel");
    layer["size"] = json!(7);
    contents.manifest("size", &json!({ "layers": [layer] }));
    layer["digest"] = json!("md5:900150983cd24fb0d6963f7d28e17f72");
    contents.manifest("digest", &json!({ "layers": [layer] }));
    layer["digest"] = json!("../../../../secret");
    contents.manifest("path", &json!({ "layers": [layer] }));
    let server = MockServer::start(move |asked| contents.answer(asked)).await;
    for (tag, said) in [
        (":size", "it has 6 bytes there, and should have 7"),
        (":digest", "images in registries are told apart by sha256 or sha512"),
        (":path", "a digest in what its registry gives can't be read"),
    ] {
        let error = amd64(&artifacts(), &server, tag).await.unwrap_err();
        assert!(error.to_string().contains(said) && !error.is_passing(), "{error}");
    }
    assert!(server.asked().iter().all(|asked| !asked.path.contains("secret")));
}

#[tokio::test]
async fn a_configuration_with_another_digest_is_refused() {
    let mut contents = Contents::default();
    contents.image("1", CONFIG, br#"{"commandLine":"quiet"}"#, &[(KERNEL, b"kernel")]);
    let config = sha256(br#"{"commandLine":"quiet"}"#);
    let server = MockServer::start(move |asked| match asked.path.ends_with(&config) {
        true => reply(200, &[], r#"{"commandLine":"init=/bin/sh"}"#),
        false => contents.answer(asked),
    })
    .await;
    let error = amd64(&artifacts(), &server, ":1").await.unwrap_err();
    assert!(error.to_string().contains("its registry gives something else for sha256:"), "{error}");
}

#[tokio::test]
async fn a_part_that_is_not_what_its_digest_says_is_found_out_and_not_kept() {
    let (kernel, other) = (content(3 << 20), vec![7; 3 << 20]);
    let contents = Contents::with_image("1", &[(KERNEL, &kernel)]);
    let lying = Arc::new(AtomicBool::new(true));
    let lies = lying.clone();
    let server = MockServer::start(move |asked| match is_blob(asked) && lies.load(Ordering::SeqCst) {
        true => ranged(asked, &other, &[]),
        false => contents.answer(asked),
    })
    .await;
    let (_directory, upstreams) = cached();
    let artifacts = Artifacts::new(upstreams.clone());
    let artifact = amd64(&artifacts, &server, ":1").await.unwrap().kernel.unwrap();
    let error = artifact.verify().await.unwrap_err();
    assert!(matches!(&error, ArtifactError::Mismatch { .. }) && !error.is_passing(), "{error}");
    assert!(error.to_string().contains(&format!("should have {}", sha256(&kernel))), "{error}");
    // It is not asked for it again and again.
    let before = server.count();
    artifact.verify().await.unwrap_err();
    assert_eq!(server.count(), before);
    // What it gives when it does better is not mixed with what it gave before.
    lying.store(false, Ordering::SeqCst);
    let fresh = Artifacts::new(upstreams);
    amd64(&fresh, &server, ":1").await.unwrap().kernel.unwrap().verify().await.unwrap();
    artifact.verify().await.unwrap_err();
    // After a while it is asked again.
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(301)).await;
    tokio::time::resume();
    artifact.verify().await.unwrap();
}

#[tokio::test]
async fn what_one_registry_gives_for_a_digest_is_not_taken_for_what_another_has() {
    let (kernel, other) = (content(1000), vec![7; 1000]);
    let contents = Contents::with_image("1", &[(KERNEL, &kernel)]);
    let (copied, honest) = (contents.clone(), MockServer::start(move |asked| contents.answer(asked)).await);
    let hostile = MockServer::start(move |asked| match is_blob(asked) {
        true => ranged(asked, &other, &[]),
        false => copied.answer(asked),
    })
    .await;
    let (_directory, upstreams) = cached();
    let artifacts = Artifacts::new(upstreams);
    let wrong = amd64(&artifacts, &hostile, ":1").await.unwrap().kernel.unwrap();
    assert_eq!(read(&*wrong.source(), 0..1000).await.unwrap(), vec![7; 1000]);
    wrong.verify().await.unwrap_err();
    let right = amd64(&artifacts, &honest, ":1").await.unwrap().kernel.unwrap();
    assert_eq!(read(&*right.source(), 0..1000).await.unwrap(), kernel);
    right.verify().await.unwrap();
    assert_ne!(wrong.pin(), right.pin());
}

//! Files behind URLs: pinned, found again, and compared with the digest that the URL ends in.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::body::Body;
use axum::http::Response;
use beskar7_boot::artifacts::{ArtifactError, Artifacts, Located};
use beskar7_boot::source::read;
use bytes::Bytes;
use futures::{StreamExt as _, stream};
use tokio::sync::Semaphore;

use super::mock::{MockServer, content, ranged, reply, sha256};
use super::{artifacts, cached};

const ETAG: (&str, &str) = ("ETag", "\"one\"");

async fn serve(bytes: Vec<u8>) -> MockServer {
    MockServer::start(move |asked| ranged(asked, &bytes, &[ETAG])).await
}

#[tokio::test]
async fn a_file_is_compared_once_with_the_digest_that_its_url_ends_in() {
    let server = serve(b"abc".to_vec()).await;
    let artifacts = artifacts();
    for (at, fragment) in [
        "sha256=BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD",
        "sha512=ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
        "md5=900150983cd24fb0d6963f7d28e17f72",
    ]
    .into_iter()
    .enumerate()
    {
        let file = artifacts.file(&server.url(&format!("vmlinuz-{at}#{fragment}"))).await.unwrap();
        assert_eq!((file.size(), file.pin().len()), (3, 16));
        assert_eq!(file.digest().unwrap().to_string(), fragment.replace('=', ":").to_lowercase());
        let before = server.count();
        for _ in 0..3 {
            file.verify().await.unwrap();
        }
        // Another clone, opened anew: the content is the same.
        let again = artifacts.clone().file(&server.url(&format!("vmlinuz-{at}#{fragment}"))).await.unwrap();
        again.verify().await.unwrap();
        assert_eq!(server.count() - before, 2, "one read and one opening");
        assert_eq!(read(&*file.source(), 0..3).await.unwrap(), "abc");
    }
}

/// Gives what is read only once it may; what it has, it says at once.
async fn gated(bytes: Vec<u8>) -> (MockServer, Arc<Semaphore>) {
    let gate = Arc::new(Semaphore::new(0));
    let waits = gate.clone();
    let server = MockServer::start(move |asked| {
        let response = ranged(asked, &bytes, &[ETAG]);
        if asked.header("range") == Some("bytes=0-0") {
            return response;
        }
        let (parts, body) = response.into_parts();
        let waits = waits.clone();
        let later = stream::once(async move { waits.acquire().await.map(drop) });
        let later = later.filter_map(async |_| None::<Result<Bytes, axum::Error>>);
        Response::from_parts(parts, Body::from_stream(later.chain(body.into_data_stream())))
    })
    .await;
    (server, gate)
}

#[tokio::test]
async fn what_is_compared_holds_up_nobody_and_is_read_once_for_all() {
    let bytes = content(3 << 20);
    let (server, gate) = gated(bytes.clone()).await;
    let artifacts = artifacts();
    let url = server.url(&format!("vmlinuz#{}", sha256(&bytes).replace(':', "=")));
    let file = artifacts.file(&url).await.unwrap();
    let mut running = file.compare().unwrap().expect("it can't be read yet");
    assert_eq!(running.percent(), None);
    assert!(running.what().contains("/vmlinuz"), "{}", running.what());
    for _ in 0..20 {
        assert!(artifacts.file(&url).await.unwrap().compare().unwrap().is_some());
    }
    gate.add_permits(100);
    running.ended().await;
    assert!(
        file.compare().unwrap().is_none() && artifacts.file(&url).await.unwrap().compare().unwrap().is_none()
    );
    let reads = server.asked().iter().filter(|asked| asked.header("range") != Some("bytes=0-0")).count();
    assert_eq!(reads, 1);
}

#[tokio::test]
async fn what_is_compared_ends_with_who_wanted_it() {
    let (server, _gate) = gated(content(3 << 20)).await;
    let artifacts = artifacts();
    let file = artifacts.file(&server.url(&format!("vmlinuz#sha256={}", "0".repeat(64)))).await.unwrap();
    let mut running = file.compare().unwrap().expect("it can't be read yet");
    drop((artifacts, file));
    tokio::time::timeout(Duration::from_secs(10), running.ended()).await.expect("it goes on for nobody");
}

#[tokio::test]
async fn what_can_not_be_read_is_not_read_again_for_each_who_asks() {
    let server = MockServer::start(|asked| match asked.header("range") {
        Some("bytes=0-0") => ranged(asked, b"abc", &[ETAG]),
        _ => reply(404, &[], ""),
    })
    .await;
    let url = server.url(&format!("vmlinuz#sha256={}", "0".repeat(64)));
    let file = artifacts().file(&url).await.unwrap();
    file.verify().await.unwrap_err();
    let before = server.count();
    file.compare().unwrap_err();
    file.compare().unwrap_err();
    assert_eq!(server.count(), before);
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(11)).await;
    tokio::time::resume();
    assert!(file.compare().unwrap().is_some(), "it is tried again");
}

#[tokio::test]
async fn without_a_digest_there_is_nothing_to_compare() {
    let server = serve(b"abc".to_vec()).await;
    let file = artifacts().file(&server.url("vmlinuz")).await.unwrap();
    file.verify().await.unwrap();
    assert_eq!((file.digest(), server.count()), (None, 1));
}

#[tokio::test]
async fn another_digest_is_told_and_the_file_is_not_read_again_for_it() {
    let server = serve(content(3 << 20)).await;
    let (_directory, upstreams) = cached();
    let artifacts = Artifacts::new(upstreams);
    let right = sha256(&content(3 << 20)).replace(':', "=");
    let url = |digest: &str| {
        format!("{}?token=secret#{digest}", server.url("vmlinuz").replace("//", "//me:secret@"))
    };
    let wrong = artifacts.file(&url(&format!("sha256={}", "0".repeat(64)))).await.unwrap();
    let error = wrong.verify().await.unwrap_err();
    let text = format!("{error} {error:?} {wrong:?} {:?}", wrong.located());
    assert!(matches!(&error, ArtifactError::Mismatch { .. }) && !error.is_passing(), "{text}");
    assert!(text.contains(&right.replace('=', ":")) && text.contains("should have sha256:0000"), "{text}");
    assert!(text.contains("/vmlinuz?...") && !text.contains("secret"), "{text}");
    let before = server.count();
    wrong.verify().await.unwrap_err();
    assert_eq!(server.count(), before);
    // Who gives a wrong digest costs nobody else anything: one opening.
    artifacts.file(&url(&right)).await.unwrap().verify().await.unwrap();
    assert_eq!(server.count(), before + 1);
}

#[tokio::test]
async fn what_is_no_digest_is_refused_before_anything_is_asked() {
    let server = serve(b"abc".to_vec()).await;
    for (fragment, said) in [
        ("sha256=00", "sha256 has 64 hexadecimal digits"),
        ("sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", "a digest is written"),
        ("sha1=a9993e364706816aba3e25717850c26c9cd0d89d", "a digest is written"),
        ("", "a digest is written"),
        ("part", "a digest is written"),
    ] {
        let error = artifacts().file(&server.url(&format!("vmlinuz#{fragment}"))).await.unwrap_err();
        let text = error.to_string();
        assert!(text.contains(said) && text.contains("/vmlinuz can't be read"), "{text}");
        assert!(!error.is_passing());
    }
    assert_eq!(server.count(), 0);
}

#[tokio::test]
async fn a_file_is_found_again_by_its_pin_and_another_content_is_not() {
    let changed = Arc::new(AtomicBool::new(false));
    let now = changed.clone();
    let server = MockServer::start(move |asked| match now.load(Ordering::SeqCst) {
        false => ranged(asked, b"abc", &[ETAG]),
        true => ranged(asked, b"abd", &[("ETag", "\"two\"")]),
    })
    .await;
    let first = artifacts();
    let file = first.file(&server.url("vmlinuz")).await.unwrap();
    let found = first.pinned(file.located(), file.pin()).await.unwrap();
    assert_eq!((found.pin(), server.count()), (file.pin(), 1));
    // Another replica only knows where it is.
    let what = Located::Url(server.url("vmlinuz"));
    let second = artifacts();
    assert_eq!(second.pinned(&what, file.pin()).await.unwrap().pin(), file.pin());
    assert_eq!(server.count(), 2);

    changed.store(true, Ordering::SeqCst);
    let error = artifacts().pinned(&what, file.pin()).await.unwrap_err();
    assert!(matches!(&error, ArtifactError::Replaced { .. }) && !error.is_passing(), "{error}");
    assert!(error.to_string().contains("it has been replaced since"), "{error}");
    // Who has it opened is told when it is read, and never gets the other content.
    let error = read(&*found.source(), 0..3).await.unwrap_err().to_string();
    assert!(error.contains("has changed since it was opened"), "{error}");
    let digest = sha256(b"abc").replace(':', "=");
    let opened = artifacts().file(&server.url(&format!("vmlinuz#{digest}"))).await.unwrap();
    changed.store(false, Ordering::SeqCst);
    let error = opened.verify().await.unwrap_err();
    assert!(matches!(&error, ArtifactError::Source(_)) && error.is_passing(), "{error}");
    changed.store(true, Ordering::SeqCst);
    assert!(
        matches!(opened.verify().await, Err(ArtifactError::Mismatch { .. })),
        "a broken read is not kept"
    );
}

#[tokio::test]
async fn what_may_pass_is_told_from_what_will_not() {
    for (status, passing) in [(503, true), (429, true), (404, false), (403, false)] {
        let server = MockServer::start(move |_| reply(status, &[], "")).await;
        let error = artifacts().file(&server.url("vmlinuz")).await.unwrap_err();
        assert_eq!(error.is_passing(), passing, "{error}");
    }
    for (url, said) in [
        ("http://169.254.169.254/latest", "is a link-local address"),
        ("ftp://mirror.test/vmlinuz", "ftp is not supported"),
        ("vmlinuz", "the image's URL can't be read"),
    ] {
        let error = artifacts().file(url).await.unwrap_err();
        assert!(error.to_string().contains(said) && !error.is_passing(), "{error}");
    }
}

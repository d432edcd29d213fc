//! Registries that want a token: whom it is got from, whom it is sent to, and whom never.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::body::Body;
use axum::http::Response;
use beskar7_boot::artifacts::{Architecture, ArtifactError, Artifacts, BootImage};
use beskar7_boot::source::read;
use beskar7_boot::upstream::{UpstreamSettings, Upstreams};

use super::mock::{Asked, MockServer, content, ranged, reply};
use super::mock_registry::{Contents, KERNEL, is_blob};
use super::{artifacts, settings};

const SCOPE: &str = "repository:boot/image:pull";

/// A registry that takes the latest token only, and asks for it there.
async fn guarded(
    realm: String,
    latest: Arc<AtomicUsize>,
    answer: impl Fn(&Asked) -> Response<Body> + Send + Sync + 'static,
) -> MockServer {
    MockServer::start(move |asked| {
        let expected = format!("Bearer secret-{}", latest.load(Ordering::SeqCst));
        if asked.header("authorization") == Some(expected.as_str()) {
            return answer(asked);
        }
        let challenge = format!("Bearer realm=\"{realm}\",service=\"the registry\",scope=\"{SCOPE}\"");
        reply(401, &[("WWW-Authenticate", &challenge)], "")
    })
    .await
}

async fn tokens(latest: Arc<AtomicUsize>) -> MockServer {
    MockServer::start(move |_| {
        reply(
            200,
            &[],
            format!("{{\"token\":\"secret-{}\",\"expires_in\":60}}", latest.load(Ordering::SeqCst)),
        )
    })
    .await
}

async fn amd64(artifacts: &Artifacts, server: &MockServer) -> Result<BootImage, ArtifactError> {
    artifacts.image(&format!("{}/boot/image:1", server.address), Architecture::Amd64).await
}

#[tokio::test]
async fn the_token_that_anybody_gets_is_used_until_it_is_refused_and_goes_to_the_registry_alone() {
    let kernel = content(3000);
    let stored = kernel.clone();
    let storage = MockServer::start(move |asked| ranged(asked, &stored, &[])).await;
    let latest = Arc::new(AtomicUsize::new(1));
    let tokens = tokens(latest.clone()).await;
    let (contents, place) = (Contents::with_image("1", &[(KERNEL, &kernel)]), storage.url("blob"));
    let answer = move |asked: &Asked| {
        if is_blob(asked) { reply(307, &[("Location", &place)], "") } else { contents.answer(asked) }
    };
    let server = guarded(tokens.url("token?account=none"), latest.clone(), answer).await;
    let artifacts = artifacts();
    let image = amd64(&artifacts, &server).await.unwrap();
    let artifact = image.kernel.unwrap();
    assert_eq!(read(&*artifact.source(), 7..2000).await.unwrap(), kernel[7..2000]);
    // Asked in vain, asked for the manifest, for the blob.
    assert_eq!((tokens.count(), server.count()), (1, 3));
    let asked = &tokens.asked()[0];
    assert_eq!(asked.query, "account=none&service=the+registry&scope=repository%3Aboot%2Fimage%3Apull");
    for asked in tokens.asked().iter().chain(&storage.asked()) {
        assert_eq!(asked.header("authorization"), None, "{asked:?}");
    }

    latest.store(2, Ordering::SeqCst);
    artifacts.pinned(artifact.located(), artifact.pin()).await.unwrap().verify().await.unwrap();
    amd64(&artifacts, &server).await.unwrap();
    assert_eq!(tokens.count(), 2);
    assert!(!format!("{artifact:?} {:?}", artifact.located()).contains("secret"));
    assert!(storage.asked().iter().all(|asked| asked.header("authorization").is_none()));
}

#[tokio::test]
async fn a_token_that_ends_in_the_middle_of_a_read_is_renewed() {
    let kernel = content(3000);
    let latest = Arc::new(AtomicUsize::new(1));
    let tokens = tokens(latest.clone()).await;
    let contents = Contents::with_image("1", &[(KERNEL, &kernel)]);
    let server = guarded(tokens.url("token"), latest.clone(), move |asked| contents.answer(asked)).await;
    let artifact = amd64(&artifacts(), &server).await.unwrap().kernel.unwrap();
    latest.store(2, Ordering::SeqCst);
    let reads = (0..8).map(|at| {
        let source = artifact.source();
        async move { read(&*source, at * 100..at * 100 + 100).await.unwrap() }
    });
    let got: Vec<u8> = futures::future::join_all(reads).await.concat();
    assert_eq!(got, kernel[..800]);
    // All that were refused share one.
    assert_eq!(tokens.count(), 2);
}

#[tokio::test]
async fn a_challenge_from_elsewhere_is_not_answered() {
    let latest = Arc::new(AtomicUsize::new(1));
    let tokens = tokens(latest).await;
    let storage = guarded(tokens.url("token"), Arc::new(AtomicUsize::new(9)), |_| reply(200, &[], "")).await;
    let (contents, place) = (Contents::with_image("1", &[(KERNEL, b"kernel")]), storage.url("blob"));
    let server = MockServer::start(move |asked| {
        if is_blob(asked) { reply(302, &[("Location", &place)], "") } else { contents.answer(asked) }
    })
    .await;
    let error = amd64(&artifacts(), &server).await.unwrap_err();
    assert!(error.to_string().contains("401 Unauthorized"), "{error}");
    assert_eq!((tokens.count(), storage.count()), (0, 1));
}

#[tokio::test]
async fn token_servers_are_only_asked_where_images_may_come_from() {
    let elsewhere = MockServer::start(|_| reply(200, &[], "{\"token\":\"secret-1\"}")).await;
    let redirecting =
        MockServer::start(|_| reply(302, &[("Location", "http://169.254.169.254/latest/meta-data")], ""))
            .await;
    let named = elsewhere.url("token").replace("//", "//me:secret@");
    for (realm, said) in [
        ("http://169.254.169.254/latest".to_owned(), "169.254.169.254 is a link-local address"),
        ("http://[::ffff:169.254.169.254]/".to_owned(), "is a link-local address"),
        (redirecting.url("token"), "169.254.169.254 is a link-local address"),
        ("file:///etc/passwd".to_owned(), "file is not supported"),
        ("/token".to_owned(), "does not say where from"),
        (named, "in somebody else's name"),
        (elsewhere.url("token"), "127.0.0.1 is not among the hosts of --artifact-hosts"),
    ] {
        let server = guarded(realm.clone(), Arc::new(AtomicUsize::new(1)), |_| reply(200, &[], "")).await;
        let mut hosts = Vec::new();
        if said.contains("--artifact-hosts") {
            hosts.push(server.address.parse().unwrap());
        }
        let upstreams = Upstreams::new(&UpstreamSettings { hosts, ..settings() }).unwrap();
        let error = amd64(&Artifacts::new(upstreams), &server).await.unwrap_err();
        let text = format!("{error} {error:?}");
        assert!(text.contains(said) && !text.contains("secret"), "{realm}: {text}");
        assert!(!error.is_passing(), "{text}");
        assert_eq!(server.count(), 1);
    }
    assert_eq!(elsewhere.count(), 0);
}

#[tokio::test]
async fn without_a_token_it_is_said_why() {
    let long = "x".repeat(100_000);
    for (status, body, said, passing) in [
        (401, "", "without credentials. Let everybody read it there", false),
        (403, "", "without credentials", false),
        (503, "", "there is none to be had: the server answered 503", true),
        (200, "{}", "what it answers is no token", false),
        (200, "{\"token\":\"\"}", "what it answers is no token", false),
        (200, "{\"token\":\"a\\nb\"}", "what it answers is no token", false),
        (200, "<html>", "what it answers is no token", false),
        (200, long.as_str(), "the answer is longer than 65536 bytes", false),
        // One that the registry does not take.
        (200, "{\"access_token\":\"secret-9\"}", "without credentials", false),
    ] {
        let body = body.to_owned();
        let tokens = MockServer::start(move |_| reply(status, &[], body.clone())).await;
        let realm = tokens.url("token?client=secret");
        let server = guarded(realm, Arc::new(AtomicUsize::new(1)), |_| reply(200, &[], "")).await;
        let error = amd64(&artifacts(), &server).await.unwrap_err();
        let text = format!("{error} {error:?}");
        assert!(text.contains(said) && !text.contains("secret"), "{text}");
        assert_eq!(error.is_passing(), passing, "{text}");
        assert_eq!(tokens.count(), 1);
    }
    // One that wants a password.
    let server = MockServer::start(|_| reply(401, &[("WWW-Authenticate", "Basic realm=\"x\"")], "")).await;
    let error = amd64(&artifacts(), &server).await.unwrap_err();
    assert!(matches!(error, ArtifactError::Private { .. }), "{error}");
}

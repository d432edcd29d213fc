//! What is opened, what is refused, and what is said then.

use beskar7_boot::source::{Source as _, read};
use beskar7_boot::upstream::{UpstreamSettings, Upstreams};

use super::server::{Request, Server, Then, content, good, reply};
use super::{ETAG, MODIFIED, settings, upstreams};

async fn refusal(upstreams: &Upstreams, url: &str) -> String {
    upstreams.open(url).await.map(|_| ()).unwrap_err().to_string()
}

#[tokio::test]
async fn an_image_is_opened_by_its_size_and_the_best_validator() {
    let content = content(1000);
    for (validators, condition) in [
        (vec![ETAG, MODIFIED], Some(("if-match", "\"one\""))),
        (vec![("ETag", "W/\"one\""), MODIFIED], Some(("if-unmodified-since", MODIFIED.1))),
        (vec![("ETag", "W/\"one\"")], None),
    ] {
        let (image, given) = (content.clone(), validators.clone());
        let server = Server::start(move |request, _| good(request, &image, &given)).await;
        let upstream = upstreams().open(&server.url()).await.unwrap();
        assert_eq!(upstream.length(), 1000);
        assert_eq!(upstream.pin().to_string().len(), 16);
        assert_eq!(upstream.pin(), upstreams().open(&server.url()).await.unwrap().pin());
        assert_eq!(read(&upstream, 100..300).await.unwrap(), content[100..300]);
        let asked = server.asked().last().unwrap().clone();
        assert_eq!(asked.header("range"), Some("bytes=100-299"));
        assert_eq!(asked.header("accept-encoding"), Some("identity"));
        for name in ["if-match", "if-unmodified-since"] {
            let expected = condition.filter(|(sent, _)| *sent == name).map(|(_, value)| value);
            assert_eq!(asked.header(name), expected, "{validators:?}");
        }
    }
}

#[tokio::test]
async fn a_changed_image_has_another_pin() {
    let versions = [("\"one\"", 1000), ("\"two\"", 1000), ("\"one\"", 1001), ("\"one\"", 1000)];
    let server = Server::start(move |request, count| {
        let (tag, length) = versions[count];
        good(request, &content(length), &[("ETag", tag)])
    })
    .await;
    let mut pins = Vec::new();
    for _ in versions {
        pins.push(upstreams().open(&server.url()).await.unwrap().pin().to_string());
    }
    assert_eq!(pins[0], pins[3]);
    assert!(pins[0] != pins[1] && pins[0] != pins[2] && pins[1] != pins[2], "{pins:?}");
}

#[tokio::test]
async fn servers_that_can_t_be_used_are_told_apart() {
    for (status, headers, said) in [
        (200, vec![ETAG], "its server answers no ranges"),
        (206, vec![("Content-Range", "bytes 0-0/9")], "neither ETag nor Last-Modified"),
        (206, vec![ETAG, ("Content-Range", "bytes 0-0/*")], "does not say how large it is"),
        (
            206,
            vec![ETAG, ("Content-Range", "bytes 3-3/9")],
            "answered bytes 3 to 4 when 0 to 1 were asked for",
        ),
        (206, vec![ETAG, ("Content-Range", "bytes 0-0/9"), ("Content-Encoding", "gzip")], "compresses it"),
        (416, vec![ETAG, ("Content-Range", "bytes */0")], "it is empty"),
        (404, vec![], "the server answered 404 Not Found"),
        (401, vec![], "the server answered 401 Unauthorized"),
        (503, vec![], "the server answered 503 Service Unavailable"),
        (302, vec![], "it redirects without saying where"),
        (302, vec![("Location", "ftp://mirror.test/a.iso")], "ftp is not supported"),
        (302, vec![("Location", "http://169.254.169.254/latest")], "169.254.169.254 is a link-local address"),
        (302, vec![("Location", "http://[::ffff:169.254.169.254]/")], "is a link-local address"),
        (302, vec![("Location", "/image.iso")], "it redirects more than 5 times"),
    ] {
        let given = headers.clone();
        let server = Server::start(move |_, _| reply(status, &given, b"x")).await;
        let error = refusal(&upstreams(), &server.url()).await;
        assert!(error.contains(said) && error.starts_with(&server.url()), "{status} {headers:?}: {error}");
    }
}

#[tokio::test]
async fn nothing_is_asked_of_this_machine_itself() {
    let server = Server::start(|request, _| good(request, b"secret", &[ETAG])).await;
    let port = server.origin.rsplit(':').next().unwrap();
    let strict = Upstreams::new(&UpstreamSettings::default()).unwrap();
    for host in ["127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "localhost", "2130706433", "0.0.0.0"] {
        let error = refusal(&strict, &format!("http://{host}:{port}/x.iso")).await;
        assert!(error.contains("and images don't come from there"), "{host}: {error}");
    }
    assert_eq!(server.asked().len(), 0);
    upstreams().open(&format!("http://localhost:{port}/x.iso")).await.unwrap();
}

#[tokio::test]
async fn only_listed_hosts_are_asked_and_redirects_don_t_lead_past_the_list() {
    let elsewhere = Server::start(|request, _| good(request, b"x", &[ETAG])).await;
    let location = elsewhere.url();
    let server = Server::start(move |_, _| reply(302, &[("Location", &location)], b"")).await;
    let listed = server.origin.strip_prefix("http://").unwrap().parse().unwrap();
    let listed = Upstreams::new(&UpstreamSettings { hosts: vec![listed], ..settings() }).unwrap();
    for url in [elsewhere.url(), server.url()] {
        let error = refusal(&listed, &url).await;
        assert!(error.contains("127.0.0.1 is not among the hosts of --artifact-hosts"), "{error}");
    }
    assert_eq!(elsewhere.asked().len(), 0);
    assert_eq!(server.asked().len(), 1);
}

#[tokio::test]
async fn other_schemes_are_refused_and_secrets_are_not_repeated() {
    for (url, said) in [
        ("ftp://me:secret@mirror.test/x.iso", "ftp is not supported, serve the image over http or https"),
        ("file:///etc/shadow", "file:///etc/shadow can't be read: file is not supported"),
        ("http://me:secret@", "the image's URL can't be read: empty host"),
        ("me:secret@mirror", "me is not supported"),
        ("http://me:secret@127.0.0.1:1/x.iso?token=secret", "http://127.0.0.1:1/x.iso?... can't be read: "),
    ] {
        let error = upstreams().open(url).await.unwrap_err();
        let text = format!("{error} {error:?}");
        assert!(text.contains(said), "{text}");
        assert!(!text.contains("secret"), "{text}");
    }
}

fn authorised(request: &Request) -> bool {
    request.header("authorization") == Some("Basic bWU6c2VjcmV0")
}

#[tokio::test]
async fn credentials_go_to_the_server_that_they_are_for_and_to_no_other() {
    let elsewhere = Server::start(|request, _| good(request, b"0123", &[ETAG])).await;
    let away = elsewhere.url();
    let server = Server::start(move |request, _| match request.path.as_str() {
        _ if !authorised(request) => reply(401, &[], b""),
        "/moved" => reply(301, &[("Location", "/image.iso")], b""),
        "/away" => reply(307, &[("Location", &away)], b""),
        _ => good(request, b"0123", &[ETAG]),
    })
    .await;
    let origin = server.origin.replace("http://", "http://me:secret@");
    for path in ["image.iso", "moved", "away"] {
        let upstream = upstreams().open(&format!("{origin}/{path}")).await.unwrap();
        assert_eq!(read(&upstream, 1..3).await.unwrap(), "12");
        assert!(!format!("{upstream:?}").contains("secret"), "{upstream:?}");
    }
    assert_eq!(elsewhere.asked().len(), 2);
    assert!(elsewhere.asked().iter().all(|request| request.header("authorization").is_none()));
}

#[tokio::test]
async fn a_server_that_does_not_answer_is_given_up() {
    let server = Server::start(|_, _| {
        let mut reply = reply(200, &[], b"");
        (reply.head, reply.then) = (String::new(), Then::Stall);
        reply
    })
    .await;
    let mut settings = settings();
    settings.limits.first_byte = std::time::Duration::from_millis(50);
    let error = refusal(&Upstreams::new(&settings).unwrap(), &server.url()).await;
    assert!(error.contains("the server did not answer within 0.05 s"), "{error}");
}

#[test]
fn a_bundle_that_is_none_is_said_so() {
    for (bundle, said) in
        [("", "it holds no certificate"), ("-----BEGIN CERTIFICATE-----\n!", "it is not PEM")]
    {
        let settings = UpstreamSettings { extra_ca: Some(bundle.into()), ..settings() };
        let error = Upstreams::new(&settings).map(|_| ()).unwrap_err().to_string();
        let expected = format!("the CA bundle for images can't be used: {said}");
        assert!(error.starts_with(&expected), "{error}");
    }
}

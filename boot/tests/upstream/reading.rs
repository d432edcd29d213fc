//! Reads of a pinned image from servers that break off, change their minds and lie.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use beskar7_boot::source::{Source as _, SourceError, read};
use beskar7_boot::upstream::{Upstream, Upstreams};
use futures::StreamExt as _;

use super::server::{Reply, Request, Server, Then, content, good, reply};
use super::{ETAG, MODIFIED, settings, upstreams};

/// Opens an image that is served well at first, and then by this, which is told how many reads there were before.
async fn opened(
    length: usize,
    answer: impl Fn(&Request, usize, &[u8]) -> Reply + Send + Sync + 'static,
) -> (Server, Upstream, Vec<u8>) {
    let (image, content) = (content(length), content(length));
    let server = Server::start(move |request, count| match count {
        0 => good(request, &image, &[ETAG]),
        count => answer(request, count - 1, &image),
    })
    .await;
    let upstream = upstreams().open(&server.url()).await.unwrap();
    (server, upstream, content)
}

fn unreadable(error: &SourceError) -> String {
    assert!(matches!(error, SourceError::Unreadable { .. }), "{error}");
    error.to_string()
}

#[tokio::test]
async fn a_read_that_breaks_off_goes_on_at_the_exact_byte() {
    let (server, upstream, content) = opened(10_000, |request, count, image| {
        let mut reply = good(request, image, &[ETAG]);
        if count < 3 {
            reply.body.truncate(1000 + count);
            reply.then = Then::Close;
        }
        reply
    })
    .await;
    assert_eq!(read(&upstream, 500..9000).await.unwrap(), content[500..9000]);
    assert_eq!(server.ranges(), [(500, 9000), (1500, 9000), (2501, 9000), (3503, 9000)]);
}

#[tokio::test]
async fn a_read_is_not_resumed_for_ever() {
    let (server, upstream, content) = opened(10_000, |request, _, image| {
        let mut reply = good(request, image, &[ETAG]);
        reply.body.truncate(100);
        reply.then = Then::Close;
        reply
    })
    .await;
    let mut chunks = upstream.stream(0..10_000);
    let mut all = Vec::new();
    let error = loop {
        match chunks.next().await.unwrap() {
            Ok(chunk) => all.extend_from_slice(&chunk),
            Err(error) => break error,
        }
    };
    unreadable(&error);
    assert_eq!(all, content[..400]);
    assert!(chunks.next().await.is_none());
    assert_eq!(server.ranges().len(), 4);
}

#[tokio::test]
async fn a_busy_server_is_asked_again_and_a_missing_image_is_not() {
    for (status, requests, succeeds) in [(503, 2, true), (429, 2, true), (404, 1, false), (403, 1, false)] {
        let (server, upstream, _) = opened(100, move |request, count, image| match count {
            0 => reply(status, &[], b""),
            _ => good(request, image, &[ETAG]),
        })
        .await;
        let result = read(&upstream, 10..20).await;
        assert_eq!((result.is_ok(), server.ranges().len()), (succeeds, requests), "{status}: {result:?}");
        if let Err(error) = result {
            assert!(unreadable(&error).contains(&format!("the server answered {status}")));
        }
    }
}

#[tokio::test]
async fn a_server_that_stalls_is_left_and_asked_again() {
    let image = content(1000);
    let served = image.clone();
    let server = Server::start(move |request, count| {
        let mut reply = good(request, &served, &[ETAG]);
        if count == 1 {
            reply.body.truncate(10);
            reply.then = Then::Stall;
        }
        reply
    })
    .await;
    let mut settings = settings();
    settings.limits.stall = Duration::from_millis(50);
    let upstream = Upstreams::new(&settings).unwrap().open(&server.url()).await.unwrap();
    assert_eq!(read(&upstream, 0..1000).await.unwrap(), image);
    assert_eq!(server.ranges(), [(0, 1000), (10, 1000)]);
}

#[tokio::test]
async fn a_changed_image_is_an_error_and_never_a_mixture() {
    for (what, status, headers) in [
        ("another tag", 206, vec![("ETag", "\"two\""), ("Content-Range", "bytes 10-19/100")]),
        ("no tag", 206, vec![("Content-Range", "bytes 10-19/100")]),
        ("a weak tag", 206, vec![("ETag", "W/\"one\""), ("Content-Range", "bytes 10-19/100")]),
        ("another size", 206, vec![ETAG, ("Content-Range", "bytes 10-19/101")]),
        ("a whole with another tag", 200, vec![("ETag", "\"two\"")]),
        ("shorter now", 416, vec![("Content-Range", "bytes */5")]),
    ] {
        let (server, upstream, _) = opened(100, move |_, _, _| reply(status, &headers, b"0123456789")).await;
        let error = read(&upstream, 10..20).await.unwrap_err();
        assert_eq!(error, SourceError::Changed(server.url()), "{what}");
        assert_eq!(server.ranges().len(), 1, "{what}");
    }
}

#[tokio::test]
async fn a_change_in_mid_stream_is_seen_when_the_read_is_resumed() {
    let (_, upstream, content) = opened(10_000, |request, count, image| {
        if count > 0 {
            return good(request, image, &[("ETag", "\"two\"")]);
        }
        let mut reply = good(request, image, &[ETAG]);
        reply.body.truncate(1000);
        reply.then = Then::Close;
        reply
    })
    .await;
    let items: Vec<_> = upstream.stream(0..10_000).collect().await;
    let (last, first) = items.split_last().unwrap();
    assert!(matches!(last, Err(SourceError::Changed(_))), "{last:?}");
    let first: Vec<u8> = first.iter().flat_map(|chunk| chunk.clone().unwrap()).collect();
    assert_eq!(first, content[..1000]);
}

#[tokio::test]
async fn answers_to_another_question_are_errors() {
    let whole = "the whole image instead of the range";
    for (status, headers, said) in [
        (200, vec![ETAG, ("Content-Length", "100")], whole),
        (
            206,
            vec![ETAG, ("Content-Range", "bytes 11-20/100")],
            "answered bytes 11 to 21 when 10 to 20 were asked for",
        ),
        (
            206,
            vec![ETAG, ("Content-Range", "bytes 10-15/100")],
            "answered bytes 10 to 16 when 10 to 20 were asked for",
        ),
        (206, vec![ETAG], "a range without saying which"),
        (
            206,
            vec![ETAG, ("Content-Range", "bytes 10-19/100"), ("Content-Length", "9")],
            "9 bytes for a range of 10",
        ),
        (416, vec![("Content-Range", "bytes */100")], "the server answered 416"),
        (302, vec![("Location", "http://169.254.169.254/")], "is a link-local address"),
    ] {
        let (_, upstream, _) = opened(100, move |_, _, _| reply(status, &headers, b"0123456789")).await;
        let error = unreadable(&read(&upstream, 10..20).await.unwrap_err());
        assert!(error.contains(said), "{status}: {error}");
    }
}

#[tokio::test]
async fn more_than_was_asked_for_is_an_error() {
    let (_, upstream, _) = opened(100, |_, _, _| Reply {
        head: "HTTP/1.1 206 x\r\nETag: \"one\"\r\nContent-Range: bytes 10-19/100\r\nTransfer-Encoding: chunked\r\n"
            .to_owned(),
        body: b"14\r\n0123456789abcdefghij\r\n0\r\n\r\n".to_vec(),
        then: Then::Keep,
    })
    .await;
    let error = unreadable(&read(&upstream, 10..20).await.unwrap_err());
    assert!(error.contains("more than was asked for"), "{error}");
}

#[tokio::test]
async fn a_server_that_refuses_its_own_tag_is_believed_by_its_answers() {
    let (server, upstream, content) = opened(100, |request, _, image| match request.header("if-match") {
        Some(_) => reply(412, &[], b""),
        None => good(request, image, &[ETAG]),
    })
    .await;
    assert_eq!(read(&upstream, 10..20).await.unwrap(), content[10..20]);
    assert_eq!(read(&upstream, 20..30).await.unwrap(), content[20..30]);
    // The second read does not try it again.
    assert_eq!(server.ranges(), [(10, 20), (10, 20), (20, 30)]);

    let (server, upstream, _) = opened(100, |request, _, image| match request.header("if-match") {
        Some(_) => reply(412, &[], b""),
        None => good(request, image, &[("ETag", "\"two\"")]),
    })
    .await;
    let error = read(&upstream, 10..20).await.unwrap_err();
    assert_eq!(error, SourceError::Changed(server.url()));
}

#[tokio::test]
async fn a_signed_target_that_has_ended_is_looked_up_again() {
    let signed = Arc::new(AtomicUsize::new(0));
    let (image, served) = (content(100), content(100));
    let server = Server::start(move |request, _| {
        if request.path == "/image.iso" {
            let next = signed.fetch_add(1, Ordering::SeqCst) + 1;
            return reply(302, &[("Location", &format!("/signed?{next}"))], b"");
        }
        // The first one is good for the opening and two reads.
        match (request.path.as_str(), request.range()) {
            ("/signed?1", Some((start, _))) if start >= 20 => reply(403, &[], b""),
            _ => good(request, &served, &[MODIFIED]),
        }
    })
    .await;
    let upstream = upstreams().open(&server.url()).await.unwrap();
    for start in [0, 10, 20, 30] {
        let end = start + 10;
        assert_eq!(read(&upstream, start..end).await.unwrap(), image[start as usize..end as usize]);
    }
    let paths: Vec<_> = server.asked().into_iter().map(|request| request.path).collect();
    assert_eq!(
        paths,
        [
            "/image.iso",
            "/signed?1",
            "/signed?1",
            "/signed?1",
            "/signed?1",
            "/image.iso",
            "/signed?2",
            "/signed?2"
        ]
    );
}

#[tokio::test]
async fn ranges_outside_are_refused_without_a_request_and_empty_ones_cost_none() {
    let (server, upstream, _) = opened(100, |request, _, image| good(request, image, &[ETAG])).await;
    for range in [90..101, 101..101] {
        let error = read(&upstream, range).await.unwrap_err();
        assert!(matches!(error, SourceError::OutOfRange { length: 100, .. }), "{error}");
    }
    assert_eq!(read(&upstream, 100..100).await.unwrap(), "");
    assert_eq!(server.ranges().len(), 0);
}

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use bytes::Bytes;
use futures::stream;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::*;
use crate::source::{Chunks, SourceError};

const CONTENT: &str = "0123456789abcdefghij";

async fn handle(State(source): State<Arc<dyn Source>>, request: Request) -> Response {
    answer(source, request.method(), request.headers(), "tag", "application/octet-stream").await
}

/// Serves a source as the boot server would.
async fn serve(source: impl Source) -> TcpStream {
    let source: Arc<dyn Source> = Arc::new(source);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = Router::new().fallback(handle).with_state(source);
    tokio::spawn(async move { axum::serve(listener, router).await });
    TcpStream::connect(address).await.unwrap()
}

/// Sends a request, and returns head and body.
async fn ask(source: impl Source, head: &str) -> (String, String) {
    let all = String::from_utf8(ask_raw(source, head).await).unwrap();
    let (head, body) = all.split_once("\r\n\r\n").unwrap();
    (head.to_lowercase(), body.to_owned())
}

/// Sends a request, and returns everything up to the end of the connection.
async fn ask_raw(source: impl Source, head: &str) -> Vec<u8> {
    let mut stream = serve(source).await;
    let request = format!("{head}\r\nHost: x\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut all = Vec::new();
    // A connection that is reset gives what came before.
    while stream.read_buf(&mut all).await.is_ok_and(|read| read > 0) {}
    all
}

#[tokio::test]
async fn answers_are_exact_on_the_wire() {
    let whole = "content-length: 20";
    for (request, status, said, body) in [
        ("GET / HTTP/1.1", 200, vec![whole], CONTENT),
        ("HEAD / HTTP/1.1", 200, vec![whole, "content-type: application/octet-stream"], ""),
        ("HEAD / HTTP/1.1\r\nRange: bytes=1-2", 200, vec![whole], ""),
        (
            "GET / HTTP/1.1\r\nRange: bytes=1-2",
            206,
            vec!["content-length: 2", "content-range: bytes 1-2/20"],
            "12",
        ),
        (
            "GET / HTTP/1.1\r\nRange: bytes=-3",
            206,
            vec!["content-length: 3", "content-range: bytes 17-19/20"],
            "hij",
        ),
        ("GET / HTTP/1.1\r\nRange: bytes=15-", 206, vec!["content-range: bytes 15-19/20"], "fghij"),
        (
            "GET / HTTP/1.1\r\nRange: bytes=20-",
            416,
            vec!["content-length: 0", "content-range: bytes */20"],
            "",
        ),
        ("GET / HTTP/1.1\r\nRange: bytes=0-1,3-4", 200, vec![whole], CONTENT),
        ("GET / HTTP/1.1\r\nRange: nonsense", 200, vec![whole], CONTENT),
        ("GET / HTTP/1.1\r\nIf-None-Match: \"tag\"", 304, vec![], ""),
        ("GET / HTTP/1.1\r\nIf-Match: \"other\"", 412, vec!["content-length: 0"], ""),
    ] {
        let (head, given) = ask(Bytes::from_static(CONTENT.as_bytes()), request).await;
        assert!(head.starts_with(&format!("http/1.1 {status} ")), "{request:?}: {head}");
        for said in said.into_iter().chain(["accept-ranges: bytes", "etag: \"tag\""]) {
            assert!(head.contains(said), "{request:?} without {said}: {head}");
        }
        assert!(!head.contains("transfer-encoding") && !head.contains("location"), "{request:?}: {head}");
        assert_eq!(given, body, "{request:?}");
    }
    let (head, _) = ask(Bytes::from_static(CONTENT.as_bytes()), "PUT / HTTP/1.1").await;
    assert!(head.starts_with("http/1.1 405 ") && head.contains("allow: get, head"), "{head}");
    let (head, body) = ask(Bytes::new(), "GET / HTTP/1.1").await;
    assert!(head.starts_with("http/1.1 200 ") && head.contains("content-length: 0"), "{head}");
    assert_eq!(body, "");
}

#[tokio::test]
async fn a_connection_is_kept_from_one_range_to_the_next() {
    let mut stream = serve(Bytes::from_static(CONTENT.as_bytes())).await;
    for (range, expected) in [("0-3", "0123"), ("4-7", "4567"), ("8-11", "89ab")] {
        let request = format!("GET / HTTP/1.1\r\nHost: x\r\nRange: bytes={range}\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        while !answer.ends_with(expected.as_bytes()) {
            assert!(stream.read_buf(&mut answer).await.unwrap() > 0, "closed before {range}");
        }
    }
}

/// Says that it has twenty bytes, and gives these items.
struct Items(Vec<Result<&'static str, &'static str>>);

impl Source for Items {
    fn length(&self) -> u64 {
        20
    }

    fn stream(&self, _: Range<u64>) -> Chunks {
        let items = self.0.clone().into_iter().map(|item| {
            let failed = |why: &str| SourceError::Unreadable { what: "it".to_owned(), why: why.to_owned() };
            item.map(|text| Bytes::from_static(text.as_bytes())).map_err(failed)
        });
        stream::iter(items).boxed()
    }
}

#[tokio::test]
async fn what_can_t_be_read_at_all_is_a_bad_gateway() {
    let (head, body) = ask(Items(vec![Err("it is gone")]), "GET / HTTP/1.1\r\nRange: bytes=0-3").await;
    assert!(head.starts_with("http/1.1 502 "), "{head}");
    assert!(!head.contains("content-range") && !head.contains("etag"), "{head}");
    assert_eq!(body, "it can't be read: it is gone\n");
}

#[tokio::test]
async fn an_answer_that_can_t_be_finished_is_cut_and_never_padded_or_ended() {
    for items in [
        vec![Ok("0123456789"), Err("it broke")],
        vec![Ok("0123456789")],
        vec![Ok("0123456789"), Ok("0123456789abcdef")],
    ] {
        // Of an answer that fails at once, nothing may have been sent at all.
        let all = String::from_utf8(ask_raw(Items(items.clone()), "GET / HTTP/1.1").await).unwrap();
        let (head, body) = all.split_once("\r\n\r\n").unwrap_or_default();
        assert!(all.is_empty() || head.contains("content-length: 20"), "{items:?}: {all}");
        assert!(body.len() < 20 && "0123456789".starts_with(body), "{items:?}: {all}");
    }
}

/// Gives one piece, and then nothing for ever; says when it is no longer read.
struct Endless(Arc<AtomicBool>);

struct Guard(Arc<AtomicBool>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl Source for Endless {
    fn length(&self) -> u64 {
        20
    }

    fn stream(&self, _: Range<u64>) -> Chunks {
        let guard = Guard(self.0.clone());
        let first = stream::once(async { Ok(Bytes::from_static(b"0123")) });
        first.chain(stream::pending()).inspect(move |_| drop(Arc::clone(&guard.0))).boxed()
    }
}

#[tokio::test]
async fn a_source_is_no_longer_read_when_the_client_is_gone() {
    let ended = Arc::new(AtomicBool::new(false));
    let mut stream = serve(Endless(ended.clone())).await;
    stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"0123") {
        assert!(stream.read_buf(&mut answer).await.unwrap() > 0);
    }
    assert!(!ended.load(Ordering::SeqCst));
    drop(stream);
    let seen = async {
        while !ended.load(Ordering::SeqCst) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), seen).await.unwrap();
}

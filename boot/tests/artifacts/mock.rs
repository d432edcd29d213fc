//! A mock of a web server: it answers as a test tells it to, and remembers what it was asked.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, Response};
use ring::digest::{SHA256, digest};
use tokio::net::TcpListener;

/// What was asked.
#[derive(Debug, Clone)]
pub struct Asked {
    pub path: String,
    pub query: String,
    pub headers: HeaderMap,
}

impl Asked {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// The range that was asked for, its end excluded.
    fn range(&self) -> Option<(usize, usize)> {
        let (first, last) = self.header("range")?.strip_prefix("bytes=")?.split_once('-')?;
        Some((first.parse().unwrap(), last.parse::<usize>().unwrap() + 1))
    }
}

/// The mock. It ends with the test's runtime.
pub struct MockServer {
    /// Host and port.
    pub address: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl MockServer {
    /// Answers each request by this.
    pub async fn start(answer: impl Fn(&Asked) -> Response<Body> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let (log, answer) = (asked.clone(), Arc::new(answer));
        let handler = async move |request: Request| {
            let (path, query) = (request.uri().path().to_owned(), request.uri().query().unwrap_or_default());
            let asked = Asked { path, query: query.to_owned(), headers: request.headers().clone() };
            log.lock().unwrap().push(asked.clone());
            answer(&asked)
        };
        tokio::spawn(async move { axum::serve(listener, Router::new().fallback(handler)).await });
        Self { address, asked }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}/{path}", self.address)
    }

    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    pub fn count(&self) -> usize {
        self.asked().len()
    }
}

pub fn reply(status: u16, headers: &[(&str, &str)], body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::builder().status(status);
    for (name, value) in headers {
        response = response.header(*name, *value);
    }
    response.body(body.into()).unwrap()
}

/// What a faultless server answers: a part, if one was asked for.
pub fn ranged(asked: &Asked, content: &[u8], headers: &[(&str, &str)]) -> Response<Body> {
    let Some((start, end)) = asked.range() else { return reply(200, headers, content.to_vec()) };
    let range = format!("bytes {start}-{}/{}", end - 1, content.len());
    let headers: Vec<_> = headers.iter().copied().chain([("Content-Range", range.as_str())]).collect();
    reply(206, &headers, content[start..end].to_vec())
}

/// Bytes that tell where they stand.
pub fn content(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect()
}

pub fn sha256(bytes: &[u8]) -> String {
    let hex: String = digest(&SHA256, bytes).as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

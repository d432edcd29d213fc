//! A web server for images: anything that can be read from anywhere, by ranges, as BMCs and QEMU ask for it.
//!
//! It stands for the user's own web server, and keeps count of what was asked. It is not the manager's.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result};
use axum::Router;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use beskar7_boot::source::Source;
use http::{HeaderMap, Method, StatusCode, header};
use tokio::net::TcpListener;
use tokio::task::AbortHandle;

/// What was asked of an image.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Asked {
    /// Requests for a range.
    pub ranges: u64,
    /// Requests for all of it.
    pub wholes: u64,
    /// How many bytes were asked for.
    pub bytes: u64,
}

/// A running server; it ends when this is dropped.
#[derive(Debug)]
pub struct Ranges {
    port: u16,
    shelf: Arc<Shelf>,
    task: AbortHandle,
}

#[derive(Default)]
struct Shelf {
    images: Mutex<BTreeMap<String, Image>>,
}

struct Image {
    source: Arc<dyn Source>,
    asked: Asked,
}

impl std::fmt::Debug for Shelf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.lock().keys()).finish()
    }
}

impl Shelf {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Image>> {
        self.images.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ranges {
    /// Listens on the loopback address.
    pub async fn start() -> Result<Self> {
        let listener =
            TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.context("a web server for images")?;
        let port = listener.local_addr().context("its address")?.port();
        let shelf = Arc::new(Shelf::default());
        let router = Router::new().route("/{name}", get(image)).with_state(Arc::clone(&shelf));
        let serving = async move { axum::serve(listener, router).await };
        Ok(Self { port, shelf, task: tokio::spawn(serving).abort_handle() })
    }

    /// Serves an image under a name, and returns its URL with this host name or address.
    pub fn put(&self, host: &str, name: &str, source: Arc<dyn Source>) -> String {
        self.shelf.lock().insert(name.to_owned(), Image { source, asked: Asked::default() });
        format!("http://{host}:{}/{name}", self.port)
    }

    /// What was asked of an image so far.
    #[must_use]
    pub fn asked(&self, name: &str) -> Asked {
        self.shelf.lock().get(name).map(|image| image.asked).unwrap_or_default()
    }
}

impl Drop for Ranges {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn image(
    State(shelf): State<Arc<Shelf>>,
    Path(name): Path<String>,
    method: Method,
    headers: HeaderMap,
) -> Response {
    let Some(image) = shelf.lock().get(&name).map(|image| Arc::clone(&image.source)) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let length = image.length();
    let asked = headers.get(header::RANGE).and_then(|value| value.to_str().ok());
    let (status, range) = match asked.map(|asked| parse(asked, length)) {
        None => (StatusCode::OK, 0..length),
        Some(Some(range)) => (StatusCode::PARTIAL_CONTENT, range),
        Some(None) => return StatusCode::RANGE_NOT_SATISFIABLE.into_response(),
    };
    let mut answer = Response::builder()
        .status(status)
        .header(header::CONTENT_LENGTH, range.end - range.start)
        .header(header::ACCEPT_RANGES, "bytes");
    if status == StatusCode::PARTIAL_CONTENT {
        let content = format!("bytes {}-{}/{length}", range.start, range.end - 1);
        answer = answer.header(header::CONTENT_RANGE, content);
    }
    let body = if method == Method::HEAD {
        Body::empty()
    } else {
        count(&shelf, &name, status, &range);
        Body::from_stream(image.stream(range))
    };
    answer.body(body).unwrap_or_else(|_| StatusCode::INTERNAL_SERVER_ERROR.into_response())
}

fn count(shelf: &Shelf, name: &str, status: StatusCode, range: &Range<u64>) {
    if let Some(Image { asked, .. }) = shelf.lock().get_mut(name) {
        asked.bytes += range.end - range.start;
        if status == StatusCode::PARTIAL_CONTENT {
            asked.ranges += 1;
        } else {
            asked.wholes += 1;
        }
    }
}

/// `bytes=first-last`, `bytes=first-`; nobody who boots asks for more.
fn parse(asked: &str, length: u64) -> Option<Range<u64>> {
    let (first, last) = asked.strip_prefix("bytes=")?.split_once('-')?;
    let first: u64 = first.parse().ok()?;
    let end = if last.is_empty() { length } else { last.parse::<u64>().ok()?.saturating_add(1).min(length) };
    (first < end).then_some(first..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_ends_with_the_image() {
        assert_eq!(parse("bytes=0-9", 100), Some(0..10));
        assert_eq!(parse("bytes=90-200", 100), Some(90..100));
        assert_eq!(parse("bytes=90-", 100), Some(90..100));
        for wrong in ["bytes=100-", "bytes=9-3", "bytes=-5", "lines=1-2"] {
            assert_eq!(parse(wrong, 100), None, "{wrong}");
        }
    }
}

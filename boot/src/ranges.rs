//! Answers that give a source, or one range of it, as BMCs and firmware want them: exact lengths, nothing chunked, no
//! redirects, and a connection that is cut rather than an answer that looks complete and is not.

mod body;
mod request;

use std::ops::Range;
use std::sync::Arc;

use axum::body::Body;
use axum::response::Response;
use futures::StreamExt as _;
use http::header::{ACCEPT_RANGES, ALLOW, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use http_body::Body as _;

use self::body::Exact;
use self::request::{Wanted, wanted};
use crate::source::Source;

/// Answers a request for a source. `etag` stands for its content and has no quotes of its own.
///
/// The first piece is read before anything is sent, so that a source that can't be read is a 502 that says why. After
/// that an error can only cut the connection.
pub async fn answer(
    source: Arc<dyn Source>,
    method: &Method,
    headers: &HeaderMap,
    etag: &str,
    content_type: &'static str,
) -> Response {
    let (etag, length) = (format!("\"{etag}\""), source.length());
    let response = match wanted(method, headers, &etag, length) {
        Wanted::Method => return refused(),
        Wanted::Precondition => empty(StatusCode::PRECONDITION_FAILED),
        Wanted::NotModified => empty(StatusCode::NOT_MODIFIED),
        Wanted::Outside => {
            let mut response = empty(StatusCode::RANGE_NOT_SATISFIABLE);
            set(&mut response, CONTENT_RANGE, &format!("bytes */{length}"));
            response
        }
        Wanted::Whole if *method == Method::HEAD => {
            let mut response = empty(StatusCode::OK);
            response.headers_mut().insert(CONTENT_LENGTH, length.into());
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
            response
        }
        Wanted::Whole => part(source, 0..length, StatusCode::OK, content_type).await,
        Wanted::Part(range) => {
            let text = format!("bytes {}-{}/{length}", range.start, range.end.saturating_sub(1));
            let mut response = part(source, range, StatusCode::PARTIAL_CONTENT, content_type).await;
            if response.status() == StatusCode::PARTIAL_CONTENT {
                set(&mut response, CONTENT_RANGE, &text);
            }
            response
        }
    };
    if response.status() == StatusCode::BAD_GATEWAY { response } else { about(response, &etag) }
}

/// The bytes that an answer gives, if it gives any.
#[must_use]
pub fn given(response: &Response) -> Option<Range<u64>> {
    let text = |name| response.headers().get(name)?.to_str().ok();
    match response.status() {
        StatusCode::OK => {
            let length = response.body().size_hint().exact()?;
            Some(0..length)
        }
        StatusCode::PARTIAL_CONTENT => {
            let (range, _) = text(CONTENT_RANGE)?.strip_prefix("bytes ")?.split_once('/')?;
            let (first, last) = range.split_once('-')?;
            Some(first.parse().ok()?..last.parse::<u64>().ok()?.checked_add(1)?)
        }
        _ => None,
    }
}

/// What every answer says about the source.
fn about(mut response: Response, etag: &str) -> Response {
    response.headers_mut().insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    set(&mut response, ETAG, etag);
    response
}

async fn part(
    source: Arc<dyn Source>,
    range: Range<u64>,
    status: StatusCode,
    content_type: &'static str,
) -> Response {
    let length = range.end.saturating_sub(range.start);
    let mut chunks = source.stream(range);
    let first = match if length == 0 { None } else { chunks.next().await } {
        None => None,
        Some(Ok(first)) => Some(first),
        Some(Err(error)) => {
            tracing::warn!(%error, "a source can't be read");
            let mut response = Response::new(Body::from(format!("{error}\n")));
            *response.status_mut() = StatusCode::BAD_GATEWAY;
            return response;
        }
    };
    // The length is the body's own: HTTP sends it, and nothing is chunked.
    let mut response = Response::new(Body::new(Exact::new(first, chunks, length)));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

fn refused() -> Response {
    let mut response = empty(StatusCode::METHOD_NOT_ALLOWED);
    response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
    response
}

fn empty(status: StatusCode) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

/// Sets a header to what was made of numbers and of an ETag; one that can't be a header is left out.
fn set(response: &mut Response, name: http::HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().insert(name, value);
    }
}

#[cfg(test)]
#[path = "ranges_tests.rs"]
mod tests;

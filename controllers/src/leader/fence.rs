//! The fence around every write: a request that changes something is not sent unless this replica leads.
//!
//! It belongs under every client that controllers get. The election itself does not pass through it.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use http::{Method, Request, Response, Uri};
use tower::{BoxError, Service};

use super::gate::Gate;
use crate::clock;

/// A write that was not sent.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("not sent: this replica does not lead, or its time is over; another one does the work")]
pub struct NotLeading;

/// A request that was not answered in time.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("the API server did not answer within {0:?}")]
pub struct NotAnswered(pub Duration);

/// Sends what changes nothing through `open`, and what changes something through `gated` while the gate is open.
#[derive(Debug, Clone)]
pub struct Fence<S> {
    gate: Gate,
    open: S,
    gated: S,
    timeout: Duration,
}

impl<S> Fence<S> {
    /// A fence before two ways to the same API server.
    #[must_use]
    pub fn new(gate: Gate, open: S, gated: S, timeout: Duration) -> Self {
        Self { gate, open, gated, timeout }
    }
}

impl<S, B, R> Service<Request<B>> for Fence<S>
where
    S: Service<Request<B>, Response = Response<R>, Error = BoxError>,
    S::Future: Send + 'static,
    R: 'static,
{
    type Response = Response<R>;
    type Error = BoxError;
    type Future = Answer<R>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        match self.open.poll_ready(cx)? {
            Poll::Ready(()) => self.gated.poll_ready(cx),
            Poll::Pending => Poll::Pending,
        }
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        if !is_guarded(request.method(), request.uri().path()) {
            return answered_within(self.timeout, self.open.call(request));
        }
        let Some(left) = self.gate.left(clock::uptime()) else {
            return Box::pin(async { Err(NotLeading.into()) });
        };
        let limit = left.min(self.timeout);
        // The server gives up, too, before another replica may lead: a write that waits in one of its queues
        // does not come late.
        if let Some(uri) = with_timeout(request.uri(), limit) {
            *request.uri_mut() = uri;
        }
        answered_within(limit, self.gated.call(request))
    }
}

pub(crate) type Answer<R> = Pin<Box<dyn Future<Output = Result<Response<R>, BoxError>> + Send>>;

pub(crate) fn answered_within<F, R>(limit: Duration, answer: F) -> Answer<R>
where
    F: Future<Output = Result<Response<R>, BoxError>> + Send + 'static,
    R: 'static,
{
    Box::pin(async move {
        tokio::time::timeout(limit, answer).await.unwrap_or_else(|_| Err(NotAnswered(limit).into()))
    })
}

/// Whether a request changes something that another replica may be changing, too.
fn is_guarded(method: &Method, path: &str) -> bool {
    if matches!(*method, Method::GET | Method::HEAD) {
        return false;
    }
    let mut parts = path.trim_start_matches('/').split('/');
    match (parts.next(), parts.next()) {
        // Questions that are asked by POST: token and access reviews.
        (Some("apis"), Some("authentication.k8s.io" | "authorization.k8s.io")) => false,
        // How one comes to lead.
        (Some("apis"), Some("coordination.k8s.io")) => false,
        (_, _) => true,
    }
}

/// The same URI, asking the API server to answer or fail within `limit`.
fn with_timeout(uri: &Uri, limit: Duration) -> Option<Uri> {
    let millis = limit.as_millis().max(1);
    let path = uri.path();
    let path_and_query = match uri.query() {
        Some(query) if !query.is_empty() => format!("{path}?{query}&timeout={millis}ms"),
        Some(_) | None => format!("{path}?timeout={millis}ms"),
    };
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(path_and_query.parse().ok()?);
    Uri::from_parts(parts).ok()
}

#[cfg(test)]
#[path = "fence_tests.rs"]
mod tests;

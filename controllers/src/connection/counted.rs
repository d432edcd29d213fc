//! Two thin layers under every client: one counts failed requests, one ends those that hang.

use std::{
    task::{Context, Poll},
    time::Duration,
};

use http::{Request, Response};
use tokio::time::Instant;
use tower::{BoxError, Service};

use crate::{
    diagnostics::Metrics,
    leader::fence::{Answer, answered_within},
};

/// Counts requests that were refused or never answered, and tells of all of them at the highest verbosity.
pub(super) struct Counted<S> {
    inner: S,
    metrics: Metrics,
}

impl<S> Counted<S> {
    pub(super) fn new(inner: S, metrics: Metrics) -> Self {
        Self { inner, metrics }
    }
}

impl<S, B, R> Service<Request<B>> for Counted<S>
where
    S: Service<Request<B>, Response = Response<R>, Error = BoxError>,
    S::Future: Send + 'static,
{
    type Response = Response<R>;
    type Error = BoxError;
    type Future = Answer<R>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let metrics = self.metrics.clone();
        let method = request.method().clone();
        let path = request.uri().path().to_owned();
        let started = Instant::now();
        let answer = self.inner.call(request);
        Box::pin(async move {
            let answer = answer.await;
            let status = answer.as_ref().ok().map(|response| response.status().as_u16());
            tracing::trace!(%method, path, status, took = ?started.elapsed(), "asked the API server");
            match &answer {
                Ok(response) if response.status().as_u16() >= 400 => {
                    metrics.api_error(&method, Some(response.status()));
                }
                Ok(_) => {}
                Err(_) => metrics.api_error(&method, None),
            }
            answer
        })
    }
}

/// Ends requests that are not answered in time.
pub(super) struct Limited<S> {
    inner: S,
    limit: Duration,
}

impl<S> Limited<S> {
    pub(super) fn new(inner: S, limit: Duration) -> Self {
        Self { inner, limit }
    }
}

impl<S, B, R> Service<Request<B>> for Limited<S>
where
    S: Service<Request<B>, Response = Response<R>, Error = BoxError>,
    S::Future: Send + 'static,
    R: 'static,
{
    type Response = Response<R>;
    type Error = BoxError;
    type Future = Answer<R>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        answered_within(self.limit, self.inner.call(request))
    }
}

//! A body that says when all of it was taken: a kernel that was asked for is not yet one that was fetched.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use axum::body::Body;
use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};

/// Calls `end` when the last byte was taken, and never where one was not.
pub(super) struct Completed<F: FnOnce()> {
    inner: Body,
    end: Option<F>,
}

impl<F: FnOnce()> Completed<F> {
    pub(super) fn new(inner: Body, end: F) -> Self {
        Self { inner, end: Some(end) }
    }
}

impl<F: FnOnce() + Unpin> HttpBody for Completed<F> {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.inner).poll_frame(context);
        // Who has all of a known length does not ask again.
        let is_over = match &polled {
            Poll::Ready(Some(Ok(_))) => {
                self.inner.is_end_stream() || self.inner.size_hint().exact() == Some(0)
            }
            Poll::Ready(None) => true,
            Poll::Ready(Some(Err(_))) | Poll::Pending => false,
        };
        if is_over && let Some(end) = self.end.take() {
            end();
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

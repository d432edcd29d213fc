//! A body of exactly so many bytes. One that ends early, or would go on, is an error, on which the connection is cut: the
//! client must not take what it has for all there is.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::HttpBody;
use bytes::Bytes;
use futures::StreamExt as _;
use http_body::{Frame, SizeHint};

use crate::source::{Chunks, SourceError};

/// A body of exactly so many bytes.
pub(super) struct Exact {
    /// What was read before the head was sent.
    first: Option<Bytes>,
    chunks: Chunks,
    left: u64,
}

impl Exact {
    pub(super) fn new(first: Option<Bytes>, chunks: Chunks, length: u64) -> Self {
        Self { first, chunks, left: length }
    }

    fn count(&mut self, chunk: Bytes) -> Result<Frame<Bytes>, SourceError> {
        match self.left.checked_sub(chunk.len() as u64) {
            Some(left) => {
                self.left = left;
                Ok(Frame::data(chunk))
            }
            None => Err(wrong("there is more of it than there should be")),
        }
    }
}

fn wrong(why: &str) -> SourceError {
    SourceError::Unreadable { what: "what is served".to_owned(), why: why.to_owned() }
}

impl HttpBody for Exact {
    type Data = Bytes;
    type Error = SourceError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, SourceError>>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(self.count(first)));
        }
        if self.left == 0 {
            return Poll::Ready(None);
        }
        self.chunks.poll_next_unpin(context).map(|chunk| {
            let chunk = chunk.unwrap_or_else(|| Err(wrong("there is less of it than there should be")));
            let frame = chunk.and_then(|chunk| self.count(chunk));
            if let Err(error) = &frame {
                // The client sees a cut connection and can't say more.
                tracing::warn!(%error, left = self.left, "an answer was cut short");
            }
            Some(frame)
        })
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

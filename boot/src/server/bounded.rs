//! So many connections and no more: each has a file of the process that also leads, and who opens thousands must not take
//! them all.

use std::{
    future::Future,
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use axum_server::accept::Accept;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    sync::{OwnedSemaphorePermit, Semaphore},
};

/// A rack that boots at once has two connections for each machine, its own and its BMC's.
const MOST: usize = 4096;

/// Accepts so many connections at once; others are closed.
#[derive(Clone)]
pub(super) struct Bounded<A> {
    inner: A,
    places: Arc<Semaphore>,
}

impl<A> Bounded<A> {
    pub(super) fn new(inner: A) -> Self {
        Self::of(inner, MOST)
    }

    fn of(inner: A, most: usize) -> Self {
        Self { inner, places: Arc::new(Semaphore::new(most)) }
    }
}

impl<I, S, A> Accept<I, S> for Bounded<A>
where
    A: Accept<I, S>,
    A::Future: Send + 'static,
    A::Stream: Unpin,
{
    type Stream = Placed<A::Stream>;
    type Service = A::Service;
    type Future = Pin<Box<dyn Future<Output = io::Result<(Self::Stream, Self::Service)>> + Send>>;

    fn accept(&self, stream: I, service: S) -> Self::Future {
        let place = Arc::clone(&self.places).try_acquire_owned();
        let accepted = self.inner.accept(stream, service);
        Box::pin(async move {
            let place = place.map_err(|_| io::Error::other("too many connections"))?;
            let (stream, service) = accepted.await?;
            Ok((Placed { stream, _place: place }, service))
        })
    }
}

/// A connection that has a place.
pub(super) struct Placed<S> {
    stream: S,
    _place: OwnedSemaphorePermit,
}

impl<S: AsyncRead + Unpin> AsyncRead for Placed<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Placed<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use axum_server::accept::DefaultAcceptor;

    use super::*;

    #[tokio::test]
    async fn who_comes_when_all_places_are_taken_is_sent_away() {
        let bounded = Bounded::of(DefaultAcceptor::new(), 1);
        let connection = || tokio::io::duplex(64).0;
        let first = bounded.accept(connection(), ()).await.unwrap();
        assert!(bounded.accept(connection(), ()).await.is_err());
        drop(first);
        assert!(bounded.accept(connection(), ()).await.is_ok(), "the place is free again");
    }
}

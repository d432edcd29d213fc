//! So many connections and no more: each has a file of the process that also leads, and who opens thousands must not take
//! them all. Nor may one be kept for ever by not reading what was asked for.

use std::{
    future::Future,
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use axum_server::accept::Accept;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Sleep, sleep},
};

/// A rack that boots at once has two connections for each machine, its own and its BMC's.
const MOST: usize = 4096;
/// For so long nothing more of an answer may be taken. Some BMCs ask for a whole image at once and read on when their
/// machine does, which may stand at a menu.
const LONGEST_STALL: Duration = Duration::from_secs(600);

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
            Ok((Placed { stream, stalled: None, _place: place }, service))
        })
    }
}

/// A connection that has a place.
pub(super) struct Placed<S> {
    stream: S,
    /// Ends when the other side has taken nothing for too long.
    stalled: Option<Pin<Box<Sleep>>>,
    _place: OwnedSemaphorePermit,
}

impl<S> Placed<S> {
    /// What came of writing, unless nothing has come of it for too long.
    fn unless_stalled<T>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(LONGEST_STALL)));
        ready!(stalled.as_mut().poll(context));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "nothing of the answer is taken any more")))
    }
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
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.unless_stalled(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.unless_stalled(context, written)
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
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

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

    #[tokio::test(start_paused = true)]
    async fn who_takes_nothing_any_more_loses_the_connection_and_who_is_slow_does_not() {
        let bounded = Bounded::of(DefaultAcceptor::new(), 1);
        let (ours, mut theirs) = tokio::io::duplex(8);
        let (mut placed, ()) = bounded.accept(ours, ()).await.unwrap();
        let slow = async {
            let mut taken = [0; 8];
            for _ in 0..4 {
                sleep(LONGEST_STALL - Duration::from_secs(1)).await;
                theirs.read_exact(&mut taken).await.unwrap();
            }
        };
        let (written, ()) = tokio::join!(placed.write_all(&[7; 40]), slow);
        written.unwrap();
        let error = placed.write_all(b"more").await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }
}

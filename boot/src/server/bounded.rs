//! So many connections and no more: each has a file of the process that also leads, and who opens thousands must not take
//! them all, from nobody else at least. Nor may one be kept for ever by not reading what was asked for.

use std::{
    future::Future,
    io,
    net::IpAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use axum_server::accept::Accept;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::{Sleep, sleep},
};

use crate::{
    open_files::Shares,
    places::{Place, Places, most_of_one},
};

/// For so long nothing more of an answer may be taken. Some BMCs ask for a whole image at once and read on when their
/// machine does, which may stand at a menu.
const LONGEST_STALL: Duration = Duration::from_secs(600);

/// Accepts so many connections at once; others are closed.
#[derive(Clone)]
pub(super) struct Bounded<A> {
    inner: A,
    places: Arc<Places<IpAddr>>,
}

impl<A> Bounded<A> {
    pub(super) fn new(inner: A) -> Self {
        let most = Shares::now().connections;
        Self { inner, places: Places::new(most, most_of_one(most)) }
    }
}

impl<S, A> Accept<TcpStream, S> for Bounded<A>
where
    A: Accept<TcpStream, S>,
    A::Future: Send + 'static,
    A::Stream: Unpin,
{
    type Stream = Placed<A::Stream>;
    type Service = A::Service;
    type Future = Pin<Box<dyn Future<Output = io::Result<(Self::Stream, Self::Service)>> + Send>>;

    fn accept(&self, stream: TcpStream, service: S) -> Self::Future {
        let place = stream.peer_addr().map(|peer| self.places.take(peer.ip().to_canonical()));
        let accepted = self.inner.accept(stream, service);
        Box::pin(async move {
            let place = place?.ok_or_else(|| io::Error::other("too many connections"))?;
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
    _place: Place<IpAddr>,
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
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::TcpListener,
    };

    use super::*;

    #[tokio::test]
    async fn who_comes_when_all_places_are_taken_is_sent_away() {
        let bounded = Bounded { inner: DefaultAcceptor::new(), places: Places::new(1, 1) };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let connection = async || {
            let _client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
            listener.accept().await.unwrap().0
        };
        let first = bounded.accept(connection().await, ()).await.unwrap();
        assert!(bounded.accept(connection().await, ()).await.is_err());
        drop(first);
        assert!(bounded.accept(connection().await, ()).await.is_ok(), "the place is free again");
    }

    #[tokio::test(start_paused = true)]
    async fn who_takes_nothing_any_more_loses_the_connection_and_who_is_slow_does_not() {
        let (stream, mut theirs) = tokio::io::duplex(8);
        let place = Places::new(1, 1).take(IpAddr::from([127, 0, 0, 1])).unwrap();
        let mut placed = Placed { stream, stalled: None, _place: place };
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

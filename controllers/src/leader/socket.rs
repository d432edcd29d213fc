//! Connections that carry writes: they fall silent with the gate.
//!
//! The fence asks the gate before a request starts. Between that and the first byte on the wire lie queues,
//! a token refresh, a connection and a TLS handshake: a replica may be stopped in any of them and wake up after
//! its time. So the gate is asked again where bytes leave the process.

use std::{
    future::Future,
    io,
    pin::Pin,
    task::{Context, Poll},
};

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection};
use tower::Service;

use super::{fence::NotLeading, gate::Gate};
use crate::clock;

/// Opens connections that send only while the gate is open; without a gate, always.
#[derive(Debug, Clone)]
pub(crate) struct GatedConnector<C> {
    inner: C,
    gate: Option<Gate>,
}

impl<C> GatedConnector<C> {
    pub(crate) fn new(inner: C, gate: Option<Gate>) -> Self {
        Self { inner, gate }
    }
}

impl<C> Service<http::Uri> for GatedConnector<C>
where
    C: Service<http::Uri>,
    C::Future: Send + 'static,
{
    type Response = GatedStream<C::Response>;
    type Error = C::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, to: http::Uri) -> Self::Future {
        let connecting = self.inner.call(to);
        let gate = self.gate.clone();
        Box::pin(async move { Ok(GatedStream { inner: connecting.await?, gate }) })
    }
}

/// A connection that sends only while its gate is open.
#[derive(Debug)]
pub(crate) struct GatedStream<S> {
    inner: S,
    gate: Option<Gate>,
}

impl<S> GatedStream<S> {
    fn check(&self) -> io::Result<()> {
        match &self.gate {
            Some(gate) if gate.left(clock::uptime()).is_none() => Err(io::Error::other(NotLeading)),
            Some(_) | None => Ok(()),
        }
    }
}

impl<S: Read + Unpin> Read for GatedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(cx, buf)
    }
}

impl<S: Write + Unpin> Write for GatedStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.check()?;
        Pin::new(&mut self.inner).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.check()?;
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.check()?;
        Pin::new(&mut self.inner).poll_write_vectored(cx, bufs)
    }
}

impl<S: Connection> Connection for GatedStream<S> {
    fn connected(&self) -> Connected {
        self.inner.connected()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use hyper_util::rt::TokioIo;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    #[tokio::test]
    async fn nothing_leaves_through_a_shut_gate() {
        let gate = Gate::closed();
        let (near, mut far) = tokio::io::duplex(64);
        let mut near = TokioIo::new(GatedStream { inner: TokioIo::new(near), gate: Some(gate.clone()) });

        assert!(near.write_all(b"too early").await.is_err());
        gate.open_until(clock::uptime() + Duration::from_secs(60));
        near.write_all(b"now").await.unwrap();
        gate.close();
        let refused = near.write_all(b"too late").await.unwrap_err();
        assert!(refused.to_string().contains("does not lead"), "{refused}");

        drop(near);
        let mut arrived = String::new();
        far.read_to_string(&mut arrived).await.unwrap();
        assert_eq!(arrived, "now");
    }
}

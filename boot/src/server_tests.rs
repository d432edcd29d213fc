//! Connections over which nobody asks anything. The clock is the test's: it goes on when nothing else can.

use futures::future::BoxFuture;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use super::*;
use crate::{
    capability::Capability,
    delivery::{Configuration, Counted, Learned, Medium, MediumName, Refusal},
};

/// Has nothing.
pub(super) struct Empty;

impl Desk for Empty {
    fn configuration<'a>(&'a self, _: &'a Capability) -> BoxFuture<'a, Result<Configuration, Refusal>> {
        Box::pin(async { Err(Refusal::Nothing) })
    }

    fn medium<'a>(&'a self, _: &'a Capability, _: MediumName<'a>) -> BoxFuture<'a, Result<Medium, Refusal>> {
        Box::pin(async { Err(Refusal::Nothing) })
    }

    fn may_call_home(&self, _: &Capability) -> bool {
        false
    }

    fn learned(&self, _: &Capability, _: Learned) -> BoxFuture<'static, ()> {
        Box::pin(std::future::ready(()))
    }

    fn counted(&self, _: Counted) {}
}

/// Whether the server closes a connection over which only so much is said.
async fn is_closed_after(said: &[u8]) -> bool {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let (at, stop) = (listener.local_addr().unwrap(), CancellationToken::new());
    let server = tokio::spawn(serve(listener, Arc::new(Empty), None, stop.clone()));
    let mut connection = TcpStream::connect(at).await.unwrap();
    connection.write_all(said).await.unwrap();
    let closed = tokio::time::timeout(HEAD * 3, connection.read_to_end(&mut Vec::new())).await.is_ok();
    stop.cancel();
    server.await.unwrap().unwrap();
    closed
}

#[tokio::test(start_paused = true)]
async fn who_asks_nothing_or_not_to_the_end_is_sent_away() {
    assert!(is_closed_after(b"").await, "nothing");
    assert!(is_closed_after(b"GET /heal").await, "half a head");
    assert!(is_closed_after(b"GET /healthz HTTP/1.1\r\nHost: b\r\n\r\n").await, "one, and then nothing");
    assert!(is_closed_after(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await, "another protocol");
}

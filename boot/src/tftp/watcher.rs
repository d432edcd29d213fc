//! Who is told what became of requests, and counts.

use std::net::SocketAddr;

use super::message::ErrorCode;

/// Who is told what became of requests. Nothing here may wait. A client that ends a transfer by itself is not told of: it
/// wanted to know a size.
pub trait Watcher: Send + Sync + 'static {
    /// A file was read to its end.
    fn sent(&self, file: &str, peer: SocketAddr);

    /// Somebody asked for what can't be had.
    fn refused(&self, file: &str, peer: SocketAddr, why: ErrorCode);

    /// A client is not heard of any more, or takes too long.
    fn gave_up(&self, file: &str, peer: SocketAddr);
}

/// Nobody counts.
impl Watcher for () {
    fn sent(&self, _: &str, _: SocketAddr) {}

    fn refused(&self, _: &str, _: SocketAddr, _: ErrorCode) {}

    fn gave_up(&self, _: &str, _: SocketAddr) {}
}

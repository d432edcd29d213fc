//! What hosts boot from: the HTTP shell that later routes hang from.
//!
//! Today it only says that it is there. It knows nothing of the API server: what it serves will be handed to it.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests may panic"))]

pub mod ranges;
pub mod overlay;
pub mod source;
pub mod upstream;
pub mod volume;

use std::io;

use axum::{Router, routing::get};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// Everything that is served.
fn router() -> Router {
    Router::new().route("/healthz", get(async || "ok\n"))
}

/// Serves until `stop`, and then until running requests have been answered.
///
/// # Errors
/// The listener fails.
pub async fn serve(listener: TcpListener, stop: CancellationToken) -> io::Result<()> {
    axum::serve(listener, router()).with_graceful_shutdown(stop.cancelled_owned()).await
}

#[cfg(test)]
mod tests {
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::TcpStream,
    };

    use super::*;

    #[tokio::test]
    async fn it_answers_and_ends() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let stop = CancellationToken::new();
        let server = tokio::spawn(serve(listener, stop.clone()));
        for (path, expected) in [("/healthz", "HTTP/1.1 200"), ("/c/anything", "HTTP/1.1 404")] {
            let mut stream = TcpStream::connect(address).await.unwrap();
            let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
            stream.write_all(request.as_bytes()).await.unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await.unwrap();
            assert!(answer.starts_with(expected), "{path}: {answer}");
        }
        stop.cancel();
        server.await.unwrap().unwrap();
        assert!(TcpStream::connect(address).await.is_err());
    }
}

//! A server of images on loopback: whatever is asked for is 64 KiB of the same byte.

use anyhow::{Context, Result};
use axum::Router;
use axum::routing::get;
use tokio::net::TcpListener;

/// Serves until the runtime ends, and says where.
pub async fn serve() -> Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0").await.context("a port for images")?;
    let address = listener.local_addr()?;
    let router = Router::new().route("/{name}", get(|| async { vec![7_u8; 65_536] }));
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok(format!("http://{address}"))
}

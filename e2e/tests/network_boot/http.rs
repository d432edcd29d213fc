//! The boot crate's HTTP server, and beside it what that does not serve by itself: the script, what it fetches, and boot
//! loaders.

use std::net::SocketAddrV4;
use std::sync::Arc;

use anyhow::Result;
use axum::Router;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::get;
use beskar7_boot::capability::Capability;
use beskar7_boot::delivery;
use bytes::Bytes;
use tokio::net::TcpListener;

use super::desk::Desk;

type Answer = Result<Bytes, StatusCode>;

pub async fn serve(at: SocketAddrV4, desk: Arc<Desk>) -> Result<()> {
    let listener = TcpListener::bind(at).await?;
    let router = Router::new()
        .route("/c/{capability}/boot.ipxe", get(script))
        .route("/ipxe/{name}", get(loader))
        .with_state(Arc::clone(&desk));
    let router = ["kernel", "initramfs", "program.efi"].into_iter().fold(router, |router, name| {
        let desk = Arc::clone(&desk);
        let answer = async move |Path(capability): Path<String>| artifact(&desk, &capability, name);
        router.route(&format!("/c/{{capability}}/{name}"), get(answer))
    });
    let router = router.fallback_service(delivery::router(desk));
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok(())
}

async fn script(State(desk): State<Arc<Desk>>, Path(capability): Path<String>) -> Answer {
    let script = Capability::parse(&capability).and_then(|capability| desk.script(&capability).ok());
    script.map(Bytes::from).ok_or(StatusCode::NOT_FOUND)
}

async fn loader(State(desk): State<Arc<Desk>>, Path(name): Path<String>) -> Answer {
    desk.loader(&name).ok_or(StatusCode::NOT_FOUND)
}

fn artifact(desk: &Desk, capability: &str, name: &str) -> Answer {
    let artifact = Capability::parse(capability).and_then(|open| desk.artifact(&open, name).ok());
    artifact.ok_or(StatusCode::NOT_FOUND)
}

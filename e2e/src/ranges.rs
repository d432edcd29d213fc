//! A web server for images: anything that can be read from anywhere, by ranges, as BMCs and QEMU ask for it.
//!
//! It answers as the manager's boot server does, by the same code, and keeps count of what was asked.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result};
use axum::Router;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use beskar7_boot::ranges::{answer, given};
use beskar7_boot::source::Source;
use http::{HeaderMap, Method, StatusCode};
use tokio::net::TcpListener;
use tokio::task::AbortHandle;

/// What was asked of an image.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Asked {
    /// Requests for a range.
    pub ranges: u64,
    /// Requests for all of it.
    pub wholes: u64,
    /// How many bytes were asked for.
    pub bytes: u64,
}

/// A running server; it ends when this is dropped.
#[derive(Debug)]
pub struct Ranges {
    port: u16,
    shelf: Arc<Shelf>,
    task: AbortHandle,
}

#[derive(Default)]
struct Shelf {
    images: Mutex<BTreeMap<String, Image>>,
}

struct Image {
    source: Arc<dyn Source>,
    asked: Asked,
}

impl std::fmt::Debug for Shelf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.lock().keys()).finish()
    }
}

impl Shelf {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Image>> {
        self.images.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ranges {
    /// Listens on the loopback address.
    pub async fn start() -> Result<Self> {
        let listener =
            TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.context("a web server for images")?;
        let port = listener.local_addr().context("its address")?.port();
        let shelf = Arc::new(Shelf::default());
        let router = Router::new().route("/{name}", get(image)).with_state(Arc::clone(&shelf));
        let serving = async move { axum::serve(listener, router).await };
        Ok(Self { port, shelf, task: tokio::spawn(serving).abort_handle() })
    }

    /// Serves an image under a name, and returns its URL with this host name or address.
    pub fn put(&self, host: &str, name: &str, source: Arc<dyn Source>) -> String {
        self.shelf.lock().insert(name.to_owned(), Image { source, asked: Asked::default() });
        format!("http://{host}:{}/{name}", self.port)
    }

    /// What was asked of an image so far.
    #[must_use]
    pub fn asked(&self, name: &str) -> Asked {
        self.shelf.lock().get(name).map(|image| image.asked).unwrap_or_default()
    }
}

impl Drop for Ranges {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn image(
    State(shelf): State<Arc<Shelf>>,
    Path(name): Path<String>,
    method: Method,
    headers: HeaderMap,
) -> Response {
    let Some(source) = shelf.lock().get(&name).map(|image| Arc::clone(&image.source)) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let response = answer(source, &method, &headers, "image", "application/octet-stream").await;
    if let Some(range) = given(&response).filter(|_| method == Method::GET) {
        count(&shelf, &name, response.status(), &range);
    }
    response
}

fn count(shelf: &Shelf, name: &str, status: StatusCode, range: &Range<u64>) {
    if let Some(Image { asked, .. }) = shelf.lock().get_mut(name) {
        asked.bytes += range.end - range.start;
        if status == StatusCode::PARTIAL_CONTENT {
            asked.ranges += 1;
        } else {
            asked.wholes += 1;
        }
    }
}

//! Serves a recorded tree on loopback: reads from the files, accepts a log-in, and notes every change without making
//! it. It stands in for a BMC only as far as its recorded words go.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use serde_json::Value;
use tokio::net::TcpListener;

/// Where the trees are; says that the test is skipped where they are not.
pub fn trees(test: &str) -> Option<PathBuf> {
    let found = std::env::var_os("BESKAR7_REDFISH_TREES")
        .map(PathBuf::from)
        .or_else(nearby)
        .filter(|path| path.is_dir());
    if found.is_none() {
        beskar7_skipped::skipped(test, "no recorded trees: set BESKAR7_REDFISH_TREES");
    }
    found
}

fn nearby() -> Option<PathBuf> {
    let around = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let neighbours = std::fs::read_dir(around).ok()?.filter_map(Result::ok).map(|entry| entry.path());
    neighbours.map(|path| path.join("redfish-trees")).find(|path| path.is_dir())
}

/// What was asked of a recorded BMC.
#[derive(Default)]
struct Log {
    requests: Vec<String>,
    bodies: Vec<Value>,
}

#[derive(Clone)]
struct Served {
    files: PathBuf,
    log: Arc<Mutex<Log>>,
}

/// A recorded BMC that is served.
pub struct Recording {
    address: String,
    log: Arc<Mutex<Log>>,
}

impl Recording {
    pub async fn serve(trees: &Path, tree: &str) -> Self {
        let below = trees.join(tree).join("redfish/v1");
        let files = if below.is_dir() { below } else { trees.join(tree) };
        let log = Arc::new(Mutex::new(Log::default()));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let served = Served { files, log: log.clone() };
        let router = Router::new().fallback(answer).with_state(served);
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { address, log }
    }

    pub fn address(&self) -> String {
        self.address.clone()
    }

    pub fn requests(&self) -> Vec<String> {
        self.log.lock().unwrap().requests.clone()
    }

    pub fn bodies(&self) -> Vec<Value> {
        self.log.lock().unwrap().bodies.clone()
    }
}

async fn answer(
    State(served): State<Served>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let path = uri.path().trim_end_matches('/').to_owned();
    {
        let mut log = served.log.lock().unwrap();
        log.requests.push(format!("{method} {path}"));
        if method == Method::PATCH {
            log.bodies.push(serde_json::from_slice(&body).unwrap_or_default());
        }
    }
    let below = path.trim_start_matches("/redfish/v1").trim_start_matches('/').to_owned();
    let is_root = below.is_empty();
    if !is_root && method == Method::GET && !headers.contains_key("x-auth-token") {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    match method {
        Method::GET => match std::fs::read(served.files.join(below).join("index.json")) {
            Ok(text) => ([("content-type", "application/json")], text).into_response(),
            Err(_) => StatusCode::NOT_FOUND.into_response(),
        },
        Method::POST if path.ends_with("/Sessions") => {
            let location = format!("{path}/1");
            (StatusCode::CREATED, [("x-auth-token", "token".to_owned()), ("location", location)], "{}")
                .into_response()
        }
        _ => StatusCode::NO_CONTENT.into_response(),
    }
}

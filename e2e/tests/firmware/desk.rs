//! The server that what has booted asks for its configuration, and calls home to.

use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{Context, Result};
use axum::Router;
use axum::extract::State;
use axum::routing::{get, post};
use beskar7_e2e::vm::HOST;
use beskar7_e2e::wait;
use ring::digest::{SHA256, digest};
use tokio::net::TcpListener;
use tokio::task::AbortHandle;

/// A running server; it ends when this is dropped.
pub struct Desk {
    port: u16,
    calls: Arc<Mutex<Vec<String>>>,
    task: AbortHandle,
}

impl Desk {
    /// Listens on the loopback address.
    pub async fn start() -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let port = listener.local_addr()?.port();
        let calls: Arc<Mutex<Vec<String>>> = Arc::default();
        let router = Router::new()
            .route("/config/meta-data", get(async move || meta_data(port)))
            .route("/config/user-data", get(async || user_data()))
            .route("/home", post(call))
            .with_state(Arc::clone(&calls));
        let serving = async move { axum::serve(listener, router).await };
        Ok(Self { port, calls, task: tokio::spawn(serving).abort_handle() })
    }

    /// Where a guest finds its configuration.
    pub fn configuration(&self) -> String {
        format!("http://{HOST}:{}/config/", self.port)
    }

    /// Where a guest calls.
    pub fn home(&self) -> String {
        home(self.port)
    }

    /// The metadata, which says where to call.
    pub fn meta_data(&self) -> String {
        meta_data(self.port)
    }

    /// Waits for the first call, and returns what was said in it.
    pub async fn called(&self, limit: Duration) -> Result<String> {
        let calls = Arc::clone(&self.calls);
        let looked = wait::until("a call home", limit, || async {
            let first = calls.lock().unwrap().first().cloned();
            Ok(first.map_or_else(|| wait::Seen::NotYet("no call".to_owned()), wait::Seen::Done))
        });
        looked.await.context("the guest did not call home")
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// What every guest gets.
pub fn user_data() -> String {
    "#cloud-config\nwrite_files:\n  - path: /etc/b7\n    content: \"a ; b 'c' $d\"\n".to_owned()
}

fn meta_data(port: u16) -> String {
    format!("instance-id: b7\nlocal-hostname: b7\nphone_home_url: {}\n", home(port))
}

fn home(port: u16) -> String {
    format!("http://{HOST}:{port}/home")
}

/// As `sha256sum` prints it.
pub fn sha256(text: &str) -> String {
    digest(&SHA256, text.as_bytes()).as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

async fn call(State(calls): State<Arc<Mutex<Vec<String>>>>, body: String) {
    calls.lock().unwrap().push(body);
}

//! A gatekeeper between a manager and the API server: it lets so many writes pass, and holds the next one for ever, either
//! before the API server hears of it or after it has been carried out. Who is killed then has died between two steps.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result};
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::response::Response;
use beskar7_e2e::control_plane::ControlPlane;
use beskar7_e2e::manager::{NAMESPACE, SERVICE_ACCOUNT};
use http::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// The writes that are counted: those to our own kinds.
const COUNTED: &str = "/apis/infrastructure.cluster.x-k8s.io/";
const LARGEST: usize = 16 << 20;

/// When a write is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// The API server never hears of it.
    Before,
    /// It is done, and nobody is told.
    After,
}

#[derive(Debug, Default)]
enum Watch {
    #[default]
    Off,
    /// After so many writes.
    Armed(u32, Moment),
    /// A write is held.
    Holds,
}

/// The gatekeeper.
pub struct Gatekeeper {
    kubeconfig: PathBuf,
    watch: Arc<Mutex<Watch>>,
}

#[derive(Clone)]
struct Gate {
    server: String,
    http: reqwest::Client,
    watch: Arc<Mutex<Watch>>,
}

impl Gatekeeper {
    /// Stands before the API server of a control plane, until the test's runtime ends.
    pub async fn stand(plane: &ControlPlane) -> Result<Self> {
        let watch = Arc::new(Mutex::new(Watch::Off));
        let authority = reqwest::Certificate::from_pem(plane.authority().certificate().as_bytes())?;
        let http = reqwest::Client::builder().no_proxy().tls_certs_only([authority]).build()?;
        let gate = Gate { server: plane.server(), http, watch: watch.clone() };
        let listener = TcpListener::bind("127.0.0.1:0").await.context("a port for the gatekeeper")?;
        let address = listener.local_addr()?;
        let router = Router::new().fallback(pass).with_state(gate);
        tokio::spawn(async move { axum::serve(listener, router).await });

        let direct = plane.kubeconfig_for_service_account(NAMESPACE, SERVICE_ACCOUNT).await?;
        let direct: Value = serde_saphyr::from_str(&std::fs::read_to_string(direct)?)?;
        let user = direct.pointer("/users/0/user").context("a kubeconfig without a user")?;
        let through = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "gate",
            "clusters": [{"name": "gate", "cluster": {"server": format!("http://{address}")}}],
            "users": [{"name": "gate", "user": user}],
            "contexts": [{"name": "gate", "context": {"cluster": "gate", "user": "gate"}}],
        });
        let kubeconfig = plane.directory().join("gatekeeper.kubeconfig");
        std::fs::write(&kubeconfig, serde_json::to_string(&through)?)?;
        Ok(Self { kubeconfig, watch })
    }

    /// The flag with which a manager goes through the gate.
    pub fn flag(&self) -> String {
        format!("--kubeconfig={}", self.kubeconfig.display())
    }

    /// Lets so many writes pass, and holds the next one.
    pub fn hold_after(&self, writes: u32, moment: Moment) {
        self.set(Watch::Armed(writes, moment));
    }

    /// Lets everything pass.
    pub fn stand_down(&self) {
        self.set(Watch::Off);
    }

    /// Whether a write is held.
    pub fn holds(&self) -> bool {
        matches!(*self.watch.lock().unwrap_or_else(PoisonError::into_inner), Watch::Holds)
    }

    fn set(&self, to: Watch) {
        *self.watch.lock().unwrap_or_else(PoisonError::into_inner) = to;
    }
}

impl Gate {
    /// Whether this write is the one to be held. While one is held, no other passes: whoever sent it is to die.
    fn stops(&self, counted: bool) -> Option<Moment> {
        let mut watch = self.watch.lock().unwrap_or_else(PoisonError::into_inner);
        match (&mut *watch, counted) {
            (Watch::Armed(0, moment), true) => {
                let moment = *moment;
                *watch = Watch::Holds;
                Some(moment)
            }
            (Watch::Armed(left, _), true) => {
                *left -= 1;
                None
            }
            (Watch::Holds, true) => Some(Moment::Before),
            (Watch::Off | Watch::Armed(..) | Watch::Holds, _) => None,
        }
    }

    async fn forward(&self, request: Request) -> Result<Response> {
        let (parts, body) = request.into_parts();
        let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
        let body = to_bytes(body, LARGEST).await?;
        let mut headers = parts.headers;
        headers.remove(http::header::HOST);
        let asked = self.http.request(parts.method, format!("{}{path}", self.server));
        let mut answer = asked.headers(headers).body(body).send().await?;
        let mut response = Response::builder().status(answer.status());
        for (name, value) in answer.headers() {
            if name != http::header::TRANSFER_ENCODING {
                response = response.header(name, value);
            }
        }
        // A watch never ends: what comes is passed on as it comes.
        let pieces = futures::stream::poll_fn(move |context| {
            let piece = std::pin::pin!(answer.chunk());
            piece.poll(context).map(Result::transpose)
        });
        Ok(response.body(Body::from_stream(pieces))?)
    }
}

async fn pass(State(gate): State<Gate>, request: Request) -> Response {
    let writes = [Method::PATCH, Method::POST, Method::PUT, Method::DELETE].contains(request.method());
    let held = gate.stops(writes && request.uri().path().starts_with(COUNTED));
    if held == Some(Moment::Before) {
        std::future::pending::<()>().await;
    }
    let answer = gate.forward(request).await;
    if held == Some(Moment::After) {
        std::future::pending::<()>().await;
    }
    answer.unwrap_or_else(|error| {
        let mut refused = Response::new(Body::from(error.to_string()));
        *refused.status_mut() = StatusCode::BAD_GATEWAY;
        refused
    })
}

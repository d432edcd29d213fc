//! The two servers: health by plain HTTP, metrics by HTTPS to those who may (or, on request, plain to all).

use std::{
    io,
    net::{SocketAddr, TcpListener},
    sync::Arc,
    time::Duration,
};

use axum::{
    Router,
    extract::State,
    http::{StatusCode, header},
    middleware,
    response::{IntoResponse as _, Response},
    routing::get,
};
use axum_server::{Handle, tls_rustls::RustlsConfig};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::task::JoinSet;

use super::{Guard, Health, Metrics};
use crate::options::BindAddress;

/// How long open connections may take to end.
const GRACE: Duration = Duration::from_secs(1);
const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Why a server does not serve.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The address can't be listened on.
    #[error("--{flag}: can't listen on {address}; choose another address, or end the program that uses it")]
    Bind {
        /// The flag that gave the address.
        flag: &'static str,
        /// The address.
        address: BindAddress,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// No certificate could be made.
    #[error("no certificate could be made for --diagnostics-address")]
    Certificate(#[source] rcgen::Error),
    /// The certificate can't be served.
    #[error("the certificate for --diagnostics-address can't be served")]
    Tls(#[source] rustls::Error),
    /// A server ended by itself.
    #[error("the {0} server ended")]
    Ended(&'static str, #[source] io::Error),
}

/// Listens on the address of a flag; `None` when the flag turns the server off.
///
/// # Errors
/// Nothing can listen there; the error names flag and address.
pub fn bind(flag: &'static str, address: BindAddress) -> Result<Option<TcpListener>, ServerError> {
    let mut refused = None;
    for candidate in address.candidates() {
        match TcpListener::bind(candidate).and_then(|listener| {
            listener.set_nonblocking(true)?;
            Ok(listener)
        }) {
            Ok(listener) => return Ok(Some(listener)),
            Err(error) => {
                // Without IPv6 on this machine, IPv4 is every address. Else the first refusal tells why.
                let taken =
                    matches!(error.kind(), io::ErrorKind::AddrInUse | io::ErrorKind::PermissionDenied);
                refused.get_or_insert(error);
                if taken {
                    break;
                }
            }
        }
    }
    match refused {
        Some(source) => Err(ServerError::Bind { flag, address, source }),
        None => Ok(None),
    }
}

/// The servers that run.
#[derive(Default)]
pub struct Servers {
    tasks: JoinSet<Result<(), ServerError>>,
    handles: Vec<Handle<SocketAddr>>,
}

impl Servers {
    /// Serves health.
    pub fn health(&mut self, listener: TcpListener, health: &Health) {
        self.spawn("health", listener, None, health.router());
    }

    /// Serves metrics: with a guard by HTTPS, without one by plain HTTP.
    ///
    /// # Errors
    /// No certificate can be made.
    pub fn metrics(
        &mut self,
        listener: TcpListener,
        metrics: &Metrics,
        guard: Option<Guard>,
        host: &str,
    ) -> Result<(), ServerError> {
        let router = Router::new().route("/metrics", get(metrics_text)).with_state(metrics.clone());
        match guard {
            Some(guard) => {
                let router = router.layer(middleware::from_fn_with_state(guard, Guard::check));
                self.spawn("diagnostics", listener, Some(self_signed(host)?), router);
            }
            None => self.spawn("diagnostics", listener, None, router),
        }
        Ok(())
    }

    fn spawn(
        &mut self,
        name: &'static str,
        listener: TcpListener,
        tls: Option<RustlsConfig>,
        router: Router,
    ) {
        let handle = Handle::new();
        self.handles.push(handle.clone());
        self.tasks.spawn(async move {
            if let Ok(address) = listener.local_addr() {
                tracing::info!(server = name, %address, tls = tls.is_some(), "serving");
            }
            let service = router.into_make_service();
            match tls {
                Some(tls) => {
                    axum_server::from_tcp_rustls(listener, tls)
                        .map_err(|error| ServerError::Ended(name, error))?
                        .handle(handle)
                        .serve(service)
                        .await
                }
                None => {
                    axum_server::from_tcp(listener)
                        .map_err(|error| ServerError::Ended(name, error))?
                        .handle(handle)
                        .serve(service)
                        .await
                }
            }
            .map_err(|error| ServerError::Ended(name, error))
        });
    }

    /// The error of the first server that fails; pending as long as all serve.
    pub async fn failure(&mut self) -> ServerError {
        loop {
            match self.tasks.join_next().await {
                Some(Ok(Err(error))) => return error,
                Some(Err(panic)) => return ServerError::Ended("diagnostics", io::Error::other(panic)),
                Some(Ok(Ok(()))) => {}
                None => std::future::pending().await,
            }
        }
    }

    /// Ends them all.
    pub async fn stop(mut self) {
        for handle in &self.handles {
            handle.graceful_shutdown(Some(GRACE));
        }
        while self.tasks.join_next().await.is_some() {}
    }
}

async fn metrics_text(State(metrics): State<Metrics>) -> Response {
    match metrics.text() {
        Ok(text) => ([(header::CONTENT_TYPE, OPENMETRICS)], text).into_response(),
        Err(_) => (StatusCode::INTERNAL_SERVER_ERROR, "the metrics can't be written\n").into_response(),
    }
}

/// A certificate of this process's own. Callers skip its verification; what counts is their token.
fn self_signed(host: &str) -> Result<RustlsConfig, ServerError> {
    let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned(), host.to_owned()];
    let made = rcgen::generate_simple_self_signed(names).map_err(ServerError::Certificate)?;
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(ServerError::Tls)?
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .map_err(ServerError::Tls)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(RustlsConfig::from_config(Arc::new(config)))
}

#[cfg(test)]
mod tests {
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::TcpStream,
    };

    use super::*;

    fn loopback() -> TcpListener {
        bind("health-addr", BindAddress::At(([127, 0, 0, 1], 0).into())).unwrap().unwrap()
    }

    async fn get(at: SocketAddr, path: &str) -> String {
        let mut stream = TcpStream::connect(at).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    #[test]
    fn a_taken_address_is_named_with_its_flag() {
        let taken = loopback();
        let address = BindAddress::At(taken.local_addr().unwrap());
        let error = bind("health-addr", address).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("--health-addr") && text.contains(&address.to_string()), "{text}");
        assert!(bind("health-addr", BindAddress::Off).unwrap().is_none());
    }

    #[tokio::test]
    async fn health_and_metrics_are_served_and_end() {
        let health = Health::default();
        health.wait_for("checks at start");
        let mut servers = Servers::default();
        let (one, two) = (loopback(), loopback());
        let (health_at, metrics_at) = (one.local_addr().unwrap(), two.local_addr().unwrap());
        servers.health(one, &health);
        servers.metrics(two, &Metrics::new(), None, "host").unwrap();

        for path in ["/healthz", "/livez"] {
            assert!(get(health_at, path).await.starts_with("HTTP/1.1 200"), "{path}");
        }
        let waiting = get(health_at, "/readyz").await;
        assert!(waiting.starts_with("HTTP/1.1 503") && waiting.contains("checks at start"), "{waiting}");
        health.passed("checks at start");
        assert!(get(health_at, "/readyz").await.starts_with("HTTP/1.1 200"));
        let metrics = get(metrics_at, "/metrics").await;
        assert!(metrics.contains(OPENMETRICS) && metrics.contains("beskar7_leader 0"), "{metrics}");
        assert!(get(metrics_at, "/other").await.starts_with("HTTP/1.1 404"));

        servers.stop().await;
        assert!(TcpStream::connect(health_at).await.is_err());
    }

    #[test]
    fn a_certificate_can_be_made() {
        self_signed("beskar7-controller-manager-0").unwrap();
    }
}

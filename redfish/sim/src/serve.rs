//! The HTTP side of one BMC: its listener, its connections, and the faults of its transport.

use std::convert::Infallible;
use std::net::Ipv4Addr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::body::Body;
use http::header::{self, HeaderValue};
use http::{Method, Response, StatusCode};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::sync::CancellationToken;

use crate::bmc::access;
use crate::bmc::answer::{self, Answer, Request};
use crate::faults::Fault;
use crate::host::Host;
use crate::tls::Authority;

const BODY_LIMIT: usize = 64 * 1024;
/// After how long an idle connection is closed, as BMCs do.
const IDLE: Duration = Duration::from_secs(60);
const HANDSHAKE: Duration = Duration::from_secs(10);

/// One listening BMC.
pub(crate) struct Server {
    pub(crate) host: Arc<Host>,
    pub(crate) address: Ipv4Addr,
    pub(crate) authority: Option<Arc<Authority>>,
    pub(crate) acceptor: OnceLock<TlsAcceptor>,
    pub(crate) latency: Duration,
    pub(crate) stop: CancellationToken,
}

/// The service's way to say: reset this connection.
#[derive(Debug, thiserror::Error)]
#[error("the connection is reset on purpose")]
struct ResetConnection;

/// A connection that can be reset.
trait Resettable {
    fn reset_on_close(&self);
}

impl Resettable for TcpStream {
    fn reset_on_close(&self) {
        if let Err(error) = self.set_zero_linger() {
            tracing::debug!(%error, "a connection could not be made to reset");
        }
    }
}

impl Resettable for TlsStream<TcpStream> {
    fn reset_on_close(&self) {
        self.get_ref().0.reset_on_close();
    }
}

impl Server {
    /// Accepts connections until the fleet stops.
    pub(crate) async fn run(self: Arc<Self>, listener: TcpListener) {
        loop {
            let accepted = tokio::select! {
                () = self.stop.cancelled() => return,
                accepted = listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, _)) => {
                    let server = Arc::clone(&self);
                    tokio::spawn(async move {
                        tokio::select! {
                            () = server.stop.cancelled() => (),
                            () = server.clone().connection(stream) => (),
                        }
                    });
                }
                Err(error) => {
                    tracing::warn!(address = %self.address, %error, "can't accept a connection");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }

    async fn connection(self: Arc<Self>, stream: TcpStream) {
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "no TCP_NODELAY");
        }
        let Some(authority) = self.authority.clone() else { return self.http(stream).await };
        let acceptor = match self.acceptor(&authority) {
            Ok(acceptor) => acceptor,
            Err(error) => return tracing::error!(address = %self.address, %error, "no TLS"),
        };
        match tokio::time::timeout(HANDSHAKE, acceptor.accept(stream)).await {
            Ok(Ok(stream)) => self.http(stream).await,
            Ok(Err(error)) => tracing::debug!(address = %self.address, %error, "TLS handshake failed"),
            Err(_) => tracing::debug!(address = %self.address, "TLS handshake took too long"),
        }
    }

    fn acceptor(&self, authority: &Authority) -> Result<TlsAcceptor, crate::tls::TlsError> {
        if let Some(acceptor) = self.acceptor.get() {
            return Ok(acceptor.clone());
        }
        let made = TlsAcceptor::from(authority.server(self.address)?);
        Ok(self.acceptor.get_or_init(|| made).clone())
    }

    async fn http<S>(self: Arc<Self>, stream: S)
    where
        S: AsyncRead + AsyncWrite + Resettable + Unpin + Send + 'static,
    {
        let service = service_fn(|request| self.clone().respond(request));
        let mut connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(IDLE)
            .max_buf_size(16 * 1024)
            .serve_connection(TokioIo::new(stream), service);
        if let Err(error) = (&mut connection).await {
            if error.is_user() {
                connection.into_parts().io.inner().reset_on_close();
            }
            tracing::debug!(address = %self.address, %error, "connection ended");
        }
    }

    async fn respond(
        self: Arc<Self>,
        request: http::Request<Incoming>,
    ) -> Result<Response<Body>, ResetConnection> {
        let path = request.uri().path().to_owned();
        let is_head = request.method() == Method::HEAD;
        let faults = self.host.with(|bmc, _| {
            bmc.count_request();
            bmc.faults.on_request(&path)
        });
        if !self.latency.is_zero() {
            tokio::time::sleep(self.latency).await;
        }
        let mut instead = None;
        for fault in faults {
            match fault {
                Fault::Hang => match std::future::pending::<Infallible>().await {},
                Fault::Slow { ms } => tokio::time::sleep(Duration::from_millis(ms)).await,
                Fault::Reset => return Err(ResetConnection),
                Fault::Unauthorized => instead = Some(access::no_session()),
                Fault::Unavailable { retry_after_seconds } => {
                    instead = Some(unavailable(retry_after_seconds))
                }
                Fault::LostSession => self.host.with(|bmc, _| bmc.forget_sessions()),
                Fault::LostMedia => self.host.with(|bmc, now| bmc.machine.lose_media(now)),
                Fault::StuckPower | Fault::IgnoredOverride | Fault::LyingMedia => (),
            }
        }
        let answer = match instead {
            Some(answer) => answer,
            None => self.ask(request).await,
        };
        Ok(response(answer, is_head))
    }

    async fn ask(&self, request: http::Request<Incoming>) -> Answer {
        let (parts, body) = request.into_parts();
        let Ok(body) = axum::body::to_bytes(Body::new(body), BODY_LIMIT).await else {
            return Answer::empty(StatusCode::PAYLOAD_TOO_LARGE);
        };
        let request = Request {
            method: parts.method,
            path: parts.uri.path().to_owned(),
            query: parts.uri.query().map(str::to_owned),
            secure: self.authority.is_some(),
            headers: parts.headers,
            body: body.to_vec(),
        };
        self.host.with(|bmc, now| bmc.answer(&request, now))
    }
}

fn unavailable(seconds: u64) -> Answer {
    Answer::error(
        StatusCode::SERVICE_UNAVAILABLE,
        "Base.1.12.ServiceTemporarilyUnavailable",
        &format!("The service is temporarily unavailable. Retry in {seconds} seconds."),
        &[&seconds.to_string()],
    )
    .with(header::RETRY_AFTER, &seconds.to_string())
}

fn response(answer: Answer, is_head: bool) -> Response<Body> {
    let (kind, text) = match answer.body {
        answer::Body::Empty => (None, String::new()),
        answer::Body::Json(value) => (Some("application/json; charset=utf-8"), value.to_string()),
        answer::Body::Xml(xml) => (Some("application/xml; charset=utf-8"), xml),
    };
    let length = text.len();
    let mut response = Response::new(if is_head { Body::empty() } else { Body::from(text) });
    *response.status_mut() = answer.status;
    *response.headers_mut() = answer.headers;
    let headers = response.headers_mut();
    headers.insert("OData-Version", HeaderValue::from_static("4.0"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    if let Some(kind) = kind {
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
        if is_head {
            headers.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
        }
    }
    response
}

//! Listens, by HTTP, or by HTTPS with a certificate that hosts trust.

mod bounded;
mod certificate;

use std::{
    io,
    net::{SocketAddr, TcpListener},
    sync::Arc,
    time::Duration,
};

use axum_server::{Handle, Server, accept::NoDelayAcceptor, tls_rustls::RustlsAcceptor};
use hyper_util::rt::TokioTimer;
use tokio_util::sync::CancellationToken;

use self::bounded::Bounded;
pub use self::certificate::{Certificate, CertificateError};
use crate::delivery::{Desk, router};

/// How long open connections may take to end.
const GRACE: Duration = Duration::from_secs(5);
/// How long a request may take to be asked. Who is slower is no machine that boots.
const HEAD: Duration = Duration::from_secs(30);

/// Serves what the desk has until `stop`, and then until running requests have been answered, or some seconds have
/// passed: an image takes longer, and its reader comes again.
///
/// # Errors
/// The listener fails.
pub async fn serve(
    listener: TcpListener,
    desk: Arc<dyn Desk>,
    certificate: Option<Certificate>,
    stop: CancellationToken,
) -> io::Result<()> {
    let handle = Handle::new();
    let ending = stop.clone().run_until_cancelled_owned(std::future::pending::<()>());
    let ending = {
        let handle = handle.clone();
        tokio::spawn(async move {
            ending.await;
            handle.graceful_shutdown(Some(GRACE));
        })
    };
    let service = router(desk).into_make_service_with_connect_info::<SocketAddr>();
    let server = axum_server::from_tcp(listener)?.handle(handle);
    let served = match certificate {
        Some(certificate) => {
            let tls =
                RustlsAcceptor::new(certificate.config()).acceptor(Bounded::new(NoDelayAcceptor::new()));
            let renewal = tokio::spawn(certificate.renew(stop));
            let served = patient(server.acceptor(tls)).serve(service).await;
            renewal.abort();
            served
        }
        None => patient(server.acceptor(Bounded::new(NoDelayAcceptor::new()))).serve(service).await,
    };
    ending.abort();
    served
}

/// With a limit for the head of a request, from its first byte on: no other protocol is waited for.
fn patient<A>(server: Server<SocketAddr, A>) -> Server<SocketAddr, A> {
    // Behind the acceptor: with another one, the server forgets its version.
    let mut server = server.http1_only();
    server.http_builder().http1().timer(TokioTimer::new()).header_read_timeout(HEAD);
    server
}

#[cfg(test)]
#[path = "server_tests.rs"]
mod tests;

#[cfg(test)]
mod wire_tests;

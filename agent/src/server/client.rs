//! How the server is spoken to.

use std::collections::HashMap;
use std::io::Read as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use beskar7_agent_protocol::paths;
use reqwest::blocking::{Client, ClientBuilder};
use reqwest::redirect::Policy;
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};
use url::Url;

use super::answer::Identity;
use super::body::{Body, Source};
use super::certificate::{CertificateError, Fingerprint, pinned};
use super::clock::Clock;
use super::patience::Patience;
use super::trouble::{Trouble, causes};
use crate::fetching::{Fetch, FetchError, Fetched};

/// A CA's certificate is smaller.
const LARGEST_PEM: u64 = 64 << 10;

/// For how long the server is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Until it takes a connection.
    pub connection: Duration,
    /// Until the next byte comes.
    pub silence: Duration,
    /// How often it is tried again.
    pub patience: Patience,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connection: Duration::from_secs(10),
            silence: Duration::from_secs(30),
            patience: Patience::default(),
        }
    }
}

/// Why the server is not spoken to.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// Its CA can't be had.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// Its CA is not the right one.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// It needs a CA, and none was named.
    #[error("the server's URL is https, so its CA must be named (beskar7.ca)")]
    NoCa,
    /// There is no client to be had.
    #[error("no HTTP client can be made: {0}")]
    Client(String),
}

/// The boot server, for this machine.
pub struct Server {
    pub(super) client: Client,
    url: Url,
    pub(super) patience: Patience,
    clock: Clock,
    /// What was read from its beginning on, by its path: parts that are read later must be of the same.
    known: Mutex<HashMap<String, Identity>>,
}

impl Server {
    /// The server behind a machine's URL. For https its CA is fetched, and trusted alone if it is the one that was named.
    ///
    /// # Errors
    /// Its CA can't be had, or is another one.
    pub fn connect(url: Url, ca: Option<Fingerprint>, limits: Limits) -> Result<Self, ConnectError> {
        // One that was chosen before is the same.
        let _chosen_before = rustls::crypto::ring::default_provider().install_default();
        let (builder, clock) = match (url.scheme(), ca) {
            ("https", None) => return Err(ConnectError::NoCa),
            ("https", Some(fingerprint)) => {
                let (ca, clock) = trusted_ca(&url, fingerprint, limits)?;
                (builder(limits).tls_backend_preconfigured(tls(ca, clock)?), clock)
            }
            (_, _) => (builder(limits).tls_certs_only([]), Clock::default()),
        };
        let (client, patience) = (built(builder)?, limits.patience);
        Ok(Self { client, url, patience, clock, known: Mutex::default() })
    }

    /// Whether the machine's clock is so far off that the server's is believed.
    #[must_use]
    pub fn clock_is_off(&self) -> bool {
        self.clock.is_off()
    }

    /// Where a path below the machine's URL is, or a whole URL; and what errors call it.
    pub(super) fn locate(&self, path: &str) -> Result<(Url, String), FetchError> {
        let wrong = |error| FetchError::Refused(format!("{path:?} is no path on the boot server: {error}"));
        let url = self.url.join(path).map_err(wrong)?;
        // Where it is elsewhere, its URL may hold secrets, and its host does not.
        let what = if url.origin() == self.url.origin() {
            path.to_owned()
        } else {
            format!("what was asked of {}", url.host_str().unwrap_or("another server"))
        };
        Ok((url, what))
    }
}

impl Fetch for Server {
    fn open(&self, path: &str, from: u64) -> Result<Fetched, FetchError> {
        let (url, what) = self.locate(path)?;
        let source = Source { client: self.client.clone(), url, what, patience: self.patience };
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        // Who begins anew takes what is there now.
        let expected = if from == 0 { None } else { known().get(path).cloned() };
        let body = Body::open(source, from, expected.as_ref())?;
        if from == 0 {
            known().insert(path.to_owned(), body.identity().clone());
        }
        Ok(Fetched { total: body.identity().total, body: Box::new(body) })
    }
}

fn builder(limits: Limits) -> ClientBuilder {
    Client::builder()
        .user_agent(concat!("beskar7-agent/", env!("CARGO_PKG_VERSION")))
        .no_proxy()
        .redirect(Policy::none())
        .referer(false)
        .connect_timeout(limits.connection)
        // Of each operation, not of a whole body: an image may take an hour.
        .timeout(limits.silence)
        .tcp_keepalive(limits.silence)
}

fn built(builder: ClientBuilder) -> Result<Client, ConnectError> {
    builder.build().map_err(|error| ConnectError::Client(causes(&error)))
}

/// Fetches the CA from whoever answers, and takes it only if it is the one that was named. Who gives it also says what
/// time it is.
fn trusted_ca(
    url: &Url,
    fingerprint: Fingerprint,
    limits: Limits,
) -> Result<(CertificateDer<'static>, Clock), ConnectError> {
    let anybody = built(builder(limits).tls_certs_only([]).tls_danger_accept_invalid_certs(true))?;
    let place = url.join(paths::CA).map_err(|error| ConnectError::Client(error.to_string()))?;
    let (pem, clock) = limits.patience.patiently(|| {
        let response = anybody.get(place.clone()).send();
        let response = response.map_err(|error| Trouble::of_request(paths::CA, error))?;
        if !response.status().is_success() {
            return Err(Trouble::of_status(paths::CA, response.status()));
        }
        let clock = Clock::of(response.headers());
        let mut pem = Vec::new();
        let read = response.take(LARGEST_PEM).read_to_end(&mut pem);
        read.map_err(|error| Trouble::Passing(format!("{} broke off: {}", paths::CA, causes(&error))))?;
        Ok((pem, clock))
    })?;
    Ok((pinned(&pem, fingerprint)?, clock))
}

/// Trusts this CA, and no other.
fn tls(ca: CertificateDer<'static>, clock: Clock) -> Result<ClientConfig, ConnectError> {
    let wrong = |error: rustls::Error| ConnectError::Client(causes(&error));
    let mut roots = RootCertStore::empty();
    roots.add(ca).map_err(wrong)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_details(provider, Arc::new(clock));
    let config = config.with_safe_default_protocol_versions().map_err(wrong)?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

#[cfg(test)]
#[path = "client_tests.rs"]
pub(crate) mod tests;

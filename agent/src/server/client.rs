//! How the server is spoken to.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use beskar7_agent_protocol::paths::HEALTH;
use reqwest::blocking::{Client, ClientBuilder};
use reqwest::redirect::Policy;
use rustls::{ClientConfig, RootCertStore};
use url::Url;

use super::answer::Identity;
use super::body::{Body, Source};
use super::certificate::Ca;
use super::clock::Clock;
use super::patience::Patience;
use super::trouble::{Trouble, causes};
use crate::fetching::{Fetch, FetchError, Fetched};

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
    /// It does not answer.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// It needs a CA, and there is none.
    #[error(
        "the boot server's URL is https, and there is no CA to verify it by: make the ramdisk with the CA's certificate \
         (make ramdisk CA=<file>); by hand, name it (--ca <file>)"
    )]
    NoCa,
    /// What is there for a CA is none.
    #[error("the boot server's CA can't be trusted: {0}")]
    Ca(String),
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
    /// The server behind a machine's URL. For https this CA is trusted, and no other.
    ///
    /// # Errors
    /// It is https, and there is no CA, or it does not answer.
    pub fn connect(url: Url, ca: Option<&Ca>, limits: Limits) -> Result<Self, ConnectError> {
        // One that was chosen before is the same.
        let _chosen_before = rustls::crypto::ring::default_provider().install_default();
        let (builder, clock) = match (url.scheme(), ca) {
            ("https", None) => return Err(ConnectError::NoCa),
            ("https", Some(ca)) => {
                let clock = its_clock(&url, limits)?;
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

/// What time it is, as whoever answers says: a machine whose clock is off could verify nobody. Nothing that is secret is
/// asked for, so the machine's URL stays with who is trusted.
fn its_clock(url: &Url, limits: Limits) -> Result<Clock, ConnectError> {
    let anybody = built(builder(limits).tls_certs_only([]).tls_danger_accept_invalid_certs(true))?;
    let place = url.join(HEALTH).map_err(|error| ConnectError::Client(error.to_string()))?;
    Ok(limits.patience.patiently(|| {
        let response = anybody.get(place.clone()).send();
        let response = response.map_err(|error| Trouble::of_request("the server's clock", error))?;
        Ok(Clock::of(response.headers()))
    })?)
}

/// Trusts this CA, and no other.
fn tls(ca: &Ca, clock: Clock) -> Result<ClientConfig, ConnectError> {
    let wrong = |error: rustls::Error| ConnectError::Client(causes(&error));
    let mut roots = RootCertStore::empty();
    for certificate in &ca.0 {
        roots.add(certificate.clone()).map_err(|error| ConnectError::Ca(causes(&error)))?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_details(provider, Arc::new(clock));
    let config = config.with_safe_default_protocol_versions().map_err(wrong)?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

#[cfg(test)]
#[path = "client_tests.rs"]
pub(crate) mod tests;

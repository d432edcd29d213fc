//! One exchange with one BMC: bounded in time, in size, and in how many there are at once.
//!
//! Nothing here knows what is asked or who asks; log-in is [`crate::session`]'s, retries are [`crate::bmc`]'s.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use reqwest::header::{ETAG, HeaderMap, HeaderName, HeaderValue, LOCATION, RETRY_AFTER};
use reqwest::{Method, Response, StatusCode};
use serde_json::Value;
use tokio::sync::Semaphore;

use crate::address::Address;
use crate::breaker::{Breaker, Permit, Rest};
use crate::error::Error;
use crate::http_clients::HttpClient;
use crate::resource::Resource;
use crate::shown::shown;
use crate::trust::Untrusted;

/// The limits of dealings with one BMC.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// For one request.
    pub request: Duration,
    /// For reading what takes many requests, such as an inventory.
    pub reading: Duration,
    /// For the body of one answer, in bytes.
    pub body: usize,
    /// How many requests at once.
    pub at_once: usize,
    /// When a dead BMC is left alone.
    pub rest: Rest,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            // iDRACs have been seen to take 18 s for an honest answer.
            request: Duration::from_secs(30),
            reading: Duration::from_secs(600),
            // The largest resources of real BMCs have some hundred thousand bytes. In memory, JSON that is made for it
            // takes twenty times as much as on the wire.
            body: 2 << 20,
            at_once: 2,
            rest: Rest { after: 3, interval: Duration::from_secs(60) },
        }
    }
}

/// Whether a request that may or may not have been carried out is sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Repeat {
    /// It does no harm.
    Harmless,
    /// It could do twice what was wanted once.
    Never,
}

/// One request, before it is known who sends it.
#[derive(Clone)]
pub(crate) struct Request<'a> {
    method: Method,
    path: &'a str,
    body: Option<&'a Value>,
    headers: Vec<(HeaderName, HeaderValue)>,
    repeat: Repeat,
}

impl<'a> Request<'a> {
    pub(crate) fn get(path: &'a str) -> Self {
        Self::new(Method::GET, path, None, Repeat::Harmless)
    }

    pub(crate) fn delete(path: &'a str) -> Self {
        Self::new(Method::DELETE, path, None, Repeat::Harmless)
    }

    /// What is set twice to the same is set.
    pub(crate) fn change(path: &'a str, body: &'a Value) -> Self {
        Self::new(Method::PATCH, path, Some(body), Repeat::Harmless)
    }

    /// At worst there is a session too many, until it ends by itself.
    pub(crate) fn log_in(path: &'a str, body: &'a Value) -> Self {
        Self::new(Method::POST, path, Some(body), Repeat::Harmless)
    }

    pub(crate) fn action(path: &'a str, body: &'a Value) -> Self {
        Self::new(Method::POST, path, Some(body), Repeat::Never)
    }

    fn new(method: Method, path: &'a str, body: Option<&'a Value>, repeat: Repeat) -> Self {
        Self { method, path, body, headers: Vec::new(), repeat }
    }

    pub(crate) fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    /// Whether more than a session comes of it.
    fn changes_the_machine(&self) -> bool {
        self.repeat == Repeat::Never || self.method == Method::PATCH
    }

    /// As it stands in errors.
    pub(crate) fn what(&self) -> String {
        format!("{} {}", self.method, shown(self.path))
    }
}

/// Without body and headers: a log-in has the password in one, every other request a token in the other.
impl fmt::Debug for Request<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what())
    }
}

/// What a BMC answered.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

/// Without headers: the answer to a log-in has the token there.
impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} with {} bytes", self.status, self.body.len())
    }
}

impl Answer {
    pub(crate) fn header(&self, name: &HeaderName) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Where the BMC says the result is, in the header or else in the body; it may be a whole URL.
    pub(crate) fn location(&self) -> Option<String> {
        let in_body = || {
            let value: Value = serde_json::from_slice(&self.body).ok()?;
            Some(value.get("@odata.id")?.as_str()?.to_owned())
        };
        self.header(&LOCATION).map(ToOwned::to_owned).or_else(in_body)
    }

    /// How long the BMC asks to wait. Dates are not worth a clock: nobody sends them.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        self.header(&RETRY_AFTER)?.trim().parse().ok().map(Duration::from_secs)
    }
}

/// Asked right before each change: whether it may still be made.
pub type Guard = Arc<dyn Fn() -> bool + Send + Sync>;

/// The way to one BMC.
pub(crate) struct Transport {
    http: HttpClient,
    address: Address,
    limits: Limits,
    turns: Semaphore,
    breaker: Mutex<Breaker>,
    started: Instant,
    guard: Option<Guard>,
}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transport").field("address", &self.address).field("limits", &self.limits).finish()
    }
}

impl Transport {
    pub(crate) fn new(http: HttpClient, address: Address, limits: Limits) -> Self {
        Self {
            http,
            address,
            limits,
            turns: Semaphore::new(limits.at_once.max(1)),
            breaker: Mutex::new(Breaker::new(limits.rest)),
            started: Instant::now(),
            guard: None,
        }
    }

    pub(crate) fn guarded(mut self, guard: Guard) -> Self {
        self.guard = Some(guard);
        self
    }

    pub(crate) fn address(&self) -> &Address {
        &self.address
    }

    pub(crate) fn limits(&self) -> Limits {
        self.limits
    }

    /// Sends a request and reads its answer, whatever its status.
    ///
    /// BMCs close idle connections without a word: what does no harm twice is sent once more when its connection broke,
    /// and what could do harm gets a connection of its own.
    pub(crate) async fn send(&self, request: &Request<'_>) -> Result<Answer, Error> {
        // Waiting for one's turn is no failure of the BMC, and is bounded by the turns of others.
        let Ok(_turn) = self.turns.acquire().await else { return Err(self.not_answered(request)) };
        self.permit()?;
        if request.changes_the_machine() && self.guard.as_ref().is_some_and(|may_change| !may_change()) {
            return Err(Error::Withdrawn { address: self.address.to_string(), what: request.what() });
        }
        let answer = match request.repeat {
            Repeat::Never => self.once(&self.http.fresh, request).await,
            Repeat::Harmless => match self.once(&self.http.kept, request).await {
                Err(Error::Unreachable { source, .. }) if !source.is_connect() => {
                    self.once(&self.http.fresh, request).await
                }
                answer => answer,
            },
        };
        let mut breaker = self.breaker.lock().unwrap_or_else(PoisonError::into_inner);
        match &answer {
            Err(Error::Unreachable { .. } | Error::NotAnswered { .. }) => {
                breaker.failed(self.started.elapsed())
            }
            Ok(_) | Err(_) => breaker.answered(),
        }
        answer
    }

    fn permit(&self) -> Result<(), Error> {
        let mut breaker = self.breaker.lock().unwrap_or_else(PoisonError::into_inner);
        match breaker.permit(self.started.elapsed()) {
            Permit::Go => Ok(()),
            Permit::Wait { failures, left } => {
                Err(Error::Resting { address: self.address.to_string(), failures, left })
            }
        }
    }

    async fn once(&self, http: &reqwest::Client, request: &Request<'_>) -> Result<Answer, Error> {
        tokio::time::timeout(self.limits.request, self.exchange(http, request))
            .await
            .unwrap_or_else(|_| Err(self.not_answered(request)))
    }

    async fn exchange(&self, http: &reqwest::Client, request: &Request<'_>) -> Result<Answer, Error> {
        let url = self.address.url(request.path);
        let mut builder = http
            .request(request.method.clone(), url)
            .header("Accept", "application/json")
            .header("OData-Version", "4.0");
        for (name, value) in &request.headers {
            builder = builder.header(name, value);
        }
        if let Some(body) = request.body {
            builder = builder.header("Content-Type", "application/json").body(body.to_string());
        }
        let response = builder.send().await.map_err(|error| self.failed(error))?;
        let (status, headers) = (response.status(), response.headers().clone());
        let body = self.read(request, response).await?;
        Ok(Answer { status, headers, body })
    }

    /// Reads a body as far as the limit; an endless one ends there.
    async fn read(&self, request: &Request<'_>, mut response: Response) -> Result<Vec<u8>, Error> {
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.failed(error))? {
            if body.len().saturating_add(chunk.len()) > self.limits.body {
                return Err(
                    self.malformed(&request.what(), format!("it has more than {} bytes", self.limits.body))
                );
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    fn failed(&self, error: reqwest::Error) -> Error {
        let address = self.address.to_string();
        match untrusted(&error) {
            Some(certificate) => Error::Untrusted { address, certificate },
            // The URL is in the address already, and is no secret; but it would be said twice.
            None => Error::Unreachable { address, source: Box::new(error.without_url()) },
        }
    }

    fn not_answered(&self, request: &Request<'_>) -> Error {
        Error::NotAnswered {
            address: self.address.to_string(),
            what: request.what(),
            limit: self.limits.request,
        }
    }

    pub(crate) fn malformed(&self, what: &str, problem: impl Into<String>) -> Error {
        Error::Malformed {
            address: self.address.to_string(),
            what: shown(what),
            problem: shown(&problem.into()),
        }
    }

    /// The resource in an answer. The content type is not looked at: some BMCs send none, some a wrong one.
    pub(crate) fn resource(&self, path: &str, answer: &Answer) -> Result<Resource, Error> {
        let value: Value = serde_json::from_slice(&answer.body)
            .map_err(|error| self.malformed(&format!("GET {path}"), format!("it is not JSON: {error}")))?;
        if !value.is_object() {
            return Err(self.malformed(&format!("GET {path}"), "it is not a JSON object"));
        }
        Ok(Resource::new(path, answer.header(&ETAG), value))
    }
}

/// The certificate that was refused, if that is why a request failed. TLS errors come inside of I/O errors, whose
/// `source()` skips them.
fn untrusted(error: &(dyn std::error::Error + 'static)) -> Option<Untrusted> {
    let mut cause = Some(error);
    while let Some(error) = cause {
        let inside = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        if let Some(found) = inside.and_then(|inside| untrusted(inside)) {
            return Some(found);
        }
        if let Some(rustls::Error::Other(other)) = error.downcast_ref::<rustls::Error>() {
            return other.0.downcast_ref::<Untrusted>().cloned();
        }
        cause = error.source();
    }
    None
}

//! One BMC, logged in to: reads and writes that are answered, refused or out of time, and nothing between.

use reqwest::StatusCode;
use std::collections::HashSet;

use reqwest::header::{HeaderValue, IF_MATCH, IF_NONE_MATCH};
use serde_json::Value;
use tokio::sync::{Mutex, OnceCell};

use crate::address::Address;
use crate::credentials::Credentials;
use crate::error::Error;
use crate::etag::{EtagLadder, Rung};
use crate::http_clients::HttpClient;
use crate::quirks::Quirks;
use crate::resource::{MOST_MEMBERS, Packed, Resource};
use crate::session::{Authentication, log_in};
use crate::transport::{Answer, Guard, Limits, Request, Transport};

/// Where every Redfish service begins. The slash is part of it: some BMCs redirect without.
const ROOT: &str = "/redfish/v1/";
/// What is asked of the root after it was read.
const KEPT_OF_ROOT: [&str; 7] = ["Links", "Managers", "Oem", "Product", "Systems", "UpdateService", "Vendor"];
/// Pages of a collection that are followed before it is called endless.
const MOST_PAGES: usize = 64;

/// What a conditional read found.
#[derive(Debug)]
pub(crate) enum Changed {
    /// It is what it was.
    No,
    /// It is this now.
    To(Resource),
}

/// A BMC. Keep one per host: it holds one session and remembers what the BMC likes.
#[derive(Debug)]
pub struct Bmc {
    transport: Transport,
    credentials: Credentials,
    authentication: Mutex<Option<Authentication>>,
    root: OnceCell<Packed>,
    pub(crate) etags: EtagLadder,
}

impl Bmc {
    /// A BMC that nothing has been asked yet.
    #[must_use]
    pub fn new(http: HttpClient, address: Address, credentials: Credentials, limits: Limits) -> Self {
        Self {
            transport: Transport::new(http, address, limits),
            credentials,
            authentication: Mutex::new(None),
            root: OnceCell::new(),
            etags: EtagLadder::default(),
        }
    }

    /// Asks before each change whether it may still be made: a process that has lost the right to act must not turn a
    /// machine off.
    #[must_use]
    pub fn guarded(mut self, guard: Guard) -> Self {
        self.transport = self.transport.guarded(guard);
        self
    }

    /// Where it is.
    #[must_use]
    pub fn address(&self) -> &Address {
        self.transport.address()
    }

    pub(crate) fn limits(&self) -> Limits {
        self.transport.limits()
    }

    /// Its service root, read once: it needs no log-in and does not change.
    pub(crate) async fn root(&self) -> Result<Resource, Error> {
        Ok(self.root.get_or_try_init(|| self.read_root()).await?.unpacked())
    }

    async fn read_root(&self) -> Result<Packed, Error> {
        let answer = self.transport.send(&Request::get(ROOT)).await?;
        let answer = self.accepted("GET /redfish/v1/", answer)?;
        Ok(Packed::of(&self.transport.resource(ROOT, &answer)?, &KEPT_OF_ROOT))
    }

    /// What is odd about it.
    pub(crate) async fn quirks(&self) -> Result<Quirks, Error> {
        Ok(Quirks::of(&self.root().await?))
    }

    /// Ends the session, so that it does not count against the few that a BMC has.
    ///
    /// # Errors
    /// The BMC did not take it; the session then ends by itself after a while.
    pub async fn close(&self) -> Result<(), Error> {
        let Some(authentication) = self.authentication.lock().await.take() else { return Ok(()) };
        let Some(path) = authentication.session() else { return Ok(()) };
        let (name, value) = authentication.header();
        let request = Request::delete(path).header(name, value);
        let answer = self.transport.send(&request).await?;
        match answer.status {
            // Gone already is as good.
            StatusCode::UNAUTHORIZED | StatusCode::NOT_FOUND => Ok(()),
            _ => self.accepted(&request.what(), answer).map(|_| ()),
        }
    }

    pub(crate) async fn get(&self, path: &str) -> Result<Resource, Error> {
        let request = Request::get(path);
        let answer = self.accepted(&request.what(), self.send(&request).await?)?;
        self.transport.resource(path, &answer)
    }

    /// Reads a resource unless it still has this version.
    pub(crate) async fn get_if_changed(&self, path: &str, etag: Option<&str>) -> Result<Changed, Error> {
        let Some(etag) = etag.and_then(|etag| HeaderValue::from_str(etag).ok()) else {
            return Ok(Changed::To(self.get(path).await?));
        };
        let request = Request::get(path).header(IF_NONE_MATCH, etag);
        let answer = self.send(&request).await?;
        if answer.status == StatusCode::NOT_MODIFIED {
            return Ok(Changed::No);
        }
        let answer = self.accepted(&request.what(), answer)?;
        Ok(Changed::To(self.transport.resource(path, &answer)?))
    }

    /// The members of a collection, over all its pages, each once; a page that leads back ends it.
    pub(crate) async fn members(&self, path: &str) -> Result<Vec<String>, Error> {
        let mut members: Vec<String> = Vec::new();
        let mut seen = HashSet::new();
        let mut pages = vec![path.to_owned()];
        while let Some(page) = pages.last().cloned() {
            let resource = self.get(&page).await?;
            for member in resource.links("Members") {
                if seen.insert(member.to_owned()) {
                    members.push(member.to_owned());
                }
            }
            if members.len() > MOST_MEMBERS || pages.len() > MOST_PAGES {
                return Err(self.transport.malformed(&format!("GET {path}"), "the collection has no end"));
            }
            match resource.text("Members@odata.nextLink") {
                Some(next) if !pages.iter().any(|page| page == next) => pages.push(next.to_owned()),
                Some(_) | None => break,
            }
        }
        Ok(members)
    }

    /// A resource, if the BMC tells it. One that has dropped a part, or stumbles over it, still has the others.
    pub(crate) async fn told(&self, path: &str) -> Result<Option<Resource>, Error> {
        match self.get(path).await {
            Ok(resource) => Ok(Some(resource)),
            Err(error) if error.is_about_one_resource() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The members of a collection, if the BMC tells it.
    pub(crate) async fn told_members(&self, path: &str) -> Result<Vec<String>, Error> {
        match self.members(path).await {
            Err(error) if error.is_about_one_resource() => Ok(Vec::new()),
            members => members,
        }
    }

    /// Calls an action; with a condition only where the BMC demands one, which a few do.
    pub(crate) async fn post(&self, path: &str, body: &Value) -> Result<Answer, Error> {
        let request = Request::action(path, body);
        let mut answer = self.send(&request).await?;
        if demands_condition(answer.status) {
            answer = self.send(&request.clone().header(IF_MATCH, HeaderValue::from_static("*"))).await?;
        }
        self.accepted(&request.what(), answer)
    }

    /// Changes a resource, with the condition that this BMC likes.
    pub(crate) async fn patch(&self, path: &str, etag: Option<&str>, body: &Value) -> Result<Answer, Error> {
        let mut refused = None;
        for rung in self.etags.rungs(etag) {
            let Some(condition) = rung.condition(etag) else { continue };
            let mut request = Request::change(path, body);
            if let Some((name, value)) = condition {
                request = request.header(name, value);
            }
            let answer = self.send(&request).await?;
            if !demands_condition(answer.status) {
                // Only what it took instead of another is worth remembering.
                if refused.is_some() {
                    self.etags.remember(rung);
                }
                return self.accepted(&request.what(), answer);
            }
            refused = Some((request.what(), answer));
        }
        match refused {
            Some((what, answer)) => self.accepted(&what, answer),
            None => Err(self.transport.malformed(&format!("PATCH {path}"), "no condition was left to try")),
        }
    }

    /// Sends a request as the user; a session that the BMC has forgotten is opened again, once.
    async fn send(&self, request: &Request<'_>) -> Result<Answer, Error> {
        let (name, value) = self.authentication(None).await?;
        let answer = self.transport.send(&request.clone().header(name, value.clone())).await?;
        if answer.status != StatusCode::UNAUTHORIZED {
            return Ok(answer);
        }
        let (name, value) = self.authentication(Some(&value)).await?;
        self.transport.send(&request.clone().header(name, value)).await
    }

    /// What to show. What was refused is not shown again, unless somebody else has logged in meanwhile.
    async fn authentication(
        &self,
        refused: Option<&HeaderValue>,
    ) -> Result<(reqwest::header::HeaderName, HeaderValue), Error> {
        let mut held = self.authentication.lock().await;
        if let Some(authentication) = &*held {
            let header = authentication.header();
            match (refused, authentication) {
                (Some(refused), Authentication::Session { .. }) if header.1 == *refused => {}
                // Basic is the last resort: what it shows is what we were given.
                (Some(_), Authentication::Basic(_)) => {
                    return Err(Error::BadCredentials { address: self.address().to_string() });
                }
                (Some(_) | None, _) => return Ok(header),
            }
        }
        let root = self.root().await?;
        let sessions = root.link("Links/Sessions");
        let authentication = log_in(&self.transport, sessions, &self.credentials).await?;
        let header = authentication.header();
        *held = Some(authentication);
        Ok(header)
    }
}

/// Whether a refusal is about the condition: the wrong one, or none.
fn demands_condition(status: StatusCode) -> bool {
    matches!(status, StatusCode::PRECONDITION_FAILED | StatusCode::PRECONDITION_REQUIRED)
}

impl Rung {
    /// The header for this rung; nothing when the rung makes no sense without a version.
    fn condition(self, etag: Option<&str>) -> Option<Option<(reqwest::header::HeaderName, HeaderValue)>> {
        match self.value(etag) {
            crate::etag::Condition::Skip => None,
            crate::etag::Condition::None => Some(None),
            crate::etag::Condition::Match(value) => {
                let value = HeaderValue::from_str(&value).ok()?;
                Some(Some((IF_MATCH, value)))
            }
        }
    }
}

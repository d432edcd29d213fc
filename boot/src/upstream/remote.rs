//! A pinned image behind its URL: every read is asked for by range, checked, and resumed where it broke off.

mod probe;
mod read;

use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures::{StreamExt as _, stream};
use http::header::{HeaderName, RANGE};
use reqwest::Response;
use url::Url;

use self::probe::{Probed, probe};
pub(crate) use self::read::Body;
use self::read::Read;
use super::access::Access;
use super::error::{UpstreamError, Why, shown};
use super::partial::{self, Wrong};
use super::pin::{Pin, Validator};
use super::settings::Limits;
use super::web::Answer;
use crate::source::{Chunks, SourceError, check};

/// A pinned image behind its URL.
#[derive(Clone)]
pub(crate) struct Remote {
    shared: Arc<Shared>,
}

struct Shared {
    access: Access,
    limits: Limits,
    url: Url,
    pin: Pin,
    /// Whether the server gives parts.
    ranges: bool,
    /// Where redirects led the last time: not every read goes through them again.
    landed: Mutex<Option<Url>>,
    /// Whether the server is asked to compare the validator itself. Some refuse one that they gave themselves.
    conditional: AtomicBool,
}

/// How a read can't go on.
enum Broken {
    /// It may go on at the same byte.
    Passing(Why),
    Lasting(SourceError),
}

impl Remote {
    /// Asks for the first byte: its answer tells the size, what the image is pinned by, and whether ranges work, which
    /// HEAD does not, and which is refused for URLs that are signed for GET.
    pub(crate) async fn open(access: Access, limits: Limits, url: Url) -> Result<Self, UpstreamError> {
        let opened = probe(&access, &url).await;
        let opened = opened.and_then(|probed| {
            let validator = probed.validator.clone().ok_or(Why::NoValidator)?;
            Ok((probed, validator))
        });
        let (probed, validator) =
            opened.map_err(|why| UpstreamError::Unreadable { what: shown(&url), why })?;
        let pin = Pin::new(&url, validator, probed.first.size);
        Ok(Self::new(access, limits, url, pin, probed))
    }

    /// The same for a URL that asks for one content by its digest. How large that is must be known.
    pub(crate) async fn open_content(
        access: Access,
        limits: Limits,
        url: Url,
        digest: String,
        size: u64,
    ) -> Result<Self, UpstreamError> {
        let opened = probe(&access, &url).await.and_then(|probed| match probed.first.size {
            given if given == size => Ok(probed),
            given => Err(Why::Answer(format!("it has {given} bytes there, and should have {size}"))),
        });
        let probed = opened.map_err(|why| UpstreamError::Unreadable { what: shown(&url), why })?;
        let pin = Pin::new(&url, Validator::Content(digest), size);
        Ok(Self::new(access, limits, url, pin, probed))
    }

    fn new(access: Access, limits: Limits, url: Url, pin: Pin, probed: Probed) -> Self {
        let landed = Mutex::new((probed.from != url).then_some(probed.from));
        let (ranges, conditional) = (probed.first.ranges, AtomicBool::new(true));
        Self { shared: Arc::new(Shared { access, limits, url, pin, ranges, landed, conditional }) }
    }

    pub(crate) fn pin(&self) -> &Pin {
        &self.shared.pin
    }

    pub(crate) fn has_ranges(&self) -> bool {
        self.shared.ranges
    }

    /// The image, as people are told.
    pub(crate) fn name(&self) -> String {
        shown(&self.shared.url)
    }

    /// The host in its URL.
    pub(crate) fn server(&self) -> &str {
        self.shared.url.host_str().unwrap_or_default()
    }

    /// The bytes of a range.
    pub(crate) fn stream(&self, range: Range<u64>) -> Chunks {
        if let Err(error) = check(&range, self.pin().size()) {
            return stream::once(async { Err(error) }).boxed();
        }
        let read = Read::new(self.clone(), range);
        stream::try_unfold(read, |mut read| async move { Ok(read.next().await?.map(|chunk| (chunk, read))) })
            .boxed()
    }

    /// All bytes, from a server that gives no parts: this can't be resumed.
    pub(crate) async fn whole(&self) -> Result<Body, SourceError> {
        let sent = self.send(&[]).await;
        let Answer { response, .. } = sent.map_err(|why| self.unreadable(&why))?;
        if !response.status().is_success() {
            return Err(self.unreadable(&Why::Status(response.status())));
        }
        partial::whole(response.headers(), self.pin()).map_err(|wrong| match wrong {
            Wrong::Changed | Wrong::Condition => SourceError::Changed(self.name()),
            Wrong::Other(why) => self.unreadable(&why),
        })?;
        Ok(Body::new(response, self.clone()))
    }

    fn unreadable(&self, why: &Why) -> SourceError {
        SourceError::Unreadable { what: self.name(), why: why.to_string() }
    }

    /// Where it was last found, and if it is no longer there, where its URL leads now: signed URLs that redirects lead
    /// to end after minutes.
    async fn send(&self, headers: &[(HeaderName, String)]) -> Result<Answer, Why> {
        let landed = self.landed().clone();
        if let Some(landed) = landed {
            match self.shared.access.get(&landed, headers).await {
                Ok(answer) if !answer.response.status().is_client_error() => return Ok(answer),
                Ok(_) | Err(_) => *self.landed() = None,
            }
        }
        let answer = self.shared.access.get(&self.shared.url, headers).await?;
        if answer.from != self.shared.url {
            *self.landed() = Some(answer.from.clone());
        }
        Ok(answer)
    }

    fn landed(&self) -> std::sync::MutexGuard<'_, Option<Url>> {
        self.shared.landed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks for a range, and takes nothing else for an answer.
    async fn ask(&self, range: &Range<u64>) -> Result<Response, Broken> {
        match self.ask_once(range).await {
            Ok(response) => return Ok(response),
            Err(Wrong::Condition) => {}
            Err(wrong) => return Err(self.broken(wrong)),
        }
        // It has changed, or the server can't compare what it gave itself: then the answers alone must tell.
        let probed = probe(&self.shared.access, &self.shared.url)
            .await
            .map_err(|why| self.broken(Wrong::Other(why)))?;
        if !probed.is(self.pin()) {
            return Err(self.broken(Wrong::Changed));
        }
        self.shared.conditional.store(false, Ordering::Relaxed);
        self.ask_once(range).await.map_err(|wrong| self.broken(wrong))
    }

    async fn ask_once(&self, range: &Range<u64>) -> Result<Response, Wrong> {
        let mut headers = vec![(RANGE, format!("bytes={}-{}", range.start, range.end.saturating_sub(1)))];
        if self.shared.conditional.load(Ordering::Relaxed)
            && let Some((name, value)) = self.pin().validator().condition()
        {
            headers.push((name, value.to_owned()));
        }
        let Answer { response, .. } = self.send(&headers).await.map_err(Wrong::Other)?;
        partial::check(response.status(), response.headers(), range, self.pin())?;
        Ok(response)
    }

    fn broken(&self, wrong: Wrong) -> Broken {
        match wrong {
            Wrong::Changed | Wrong::Condition => Broken::Lasting(SourceError::Changed(self.name())),
            Wrong::Other(why) if why.is_passing() => Broken::Passing(why),
            Wrong::Other(why) => Broken::Lasting(self.unreadable(&why)),
        }
    }
}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Remote({}, {:?})", self.name(), self.pin())
    }
}

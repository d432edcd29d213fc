//! Images from where they are: read by range, pinned to what was there when they were opened, and kept in a cache where
//! there is one. Nothing here knows what an image holds, or who reads it.

mod access;
mod addresses;
mod cache;
mod challenge;
mod document;
mod error;
mod hosts;
mod partial;
mod pin;
mod registry;
mod remote;
mod settings;
mod targets;
mod web;

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use url::Url;

use self::access::Access;
use self::cache::Cache;
pub(crate) use self::document::Document;
pub(crate) use self::error::shown;
pub use self::error::{UpstreamError, Why};
pub use self::hosts::{HostRule, HostRuleError};
pub use self::pin::Pin;
pub(crate) use self::registry::Registry;
use self::remote::Remote;
pub use self::settings::{CacheSettings, Limits, UpstreamSettings};
use self::web::Web;
use crate::source::{Chunks, Source};

/// Opens images. It holds the one HTTP client and the one cache: clone it.
#[derive(Debug, Clone)]
pub struct Upstreams {
    web: Arc<Web>,
    cache: Option<Arc<Cache>>,
    limits: Limits,
}

impl Upstreams {
    /// Sets the client and the cache up.
    ///
    /// # Errors
    /// The CA bundle or the cache's directory can't be used.
    pub fn new(settings: &UpstreamSettings) -> Result<Self, UpstreamError> {
        let web = Arc::new(Web::new(settings)?);
        let cache = settings.cache.as_ref().map(Cache::new).transpose()?.map(Arc::new);
        Ok(Self { web, cache, limits: settings.limits })
    }

    /// Pins what a URL gives now. This costs a request: keep what it returns for as long as the image is read.
    ///
    /// # Errors
    /// The URL may not be read, its server does not answer, or what it answers can't be pinned or read in parts.
    pub async fn open(&self, url: &str) -> Result<Upstream, UpstreamError> {
        let url = Url::parse(url).map_err(UpstreamError::NotAUrl)?;
        self.readable(Remote::open(Access::Anybody(self.web.clone()), self.limits, url).await?)
    }

    /// Reads a small file as a whole, by the same rules.
    pub(crate) async fn document(&self, url: &str, limit: usize) -> Result<Bytes, UpstreamError> {
        let url = Url::parse(url).map_err(UpstreamError::NotAUrl)?;
        let read = match self.web.get(&url, &[]).await {
            Ok(answer) => Document::read(answer, limit).await,
            Err(why) => Err(why),
        };
        read.map(|document| document.bytes)
            .map_err(|why| UpstreamError::Unreadable { what: shown(&url), why })
    }

    /// A server that may ask for a token before it gives what is in a repository of its own.
    pub(crate) fn registry(&self, base: &Url, repository: &str) -> Arc<Registry> {
        Arc::new(Registry::new(self.web.clone(), base, repository))
    }

    /// Whether loopback addresses may be connected to.
    pub(crate) fn allows_loopback(&self) -> bool {
        self.web.allows_loopback()
    }

    /// Opens a part of an image in a registry by its digest, which also pins it.
    pub(crate) async fn open_blob(
        &self,
        registry: &Arc<Registry>,
        digest: String,
        size: u64,
    ) -> Result<Upstream, UpstreamError> {
        let url = registry.blob(&digest);
        let access = Access::Registry(registry.clone());
        self.readable(Remote::open_content(access, self.limits, url, digest, size).await?)
    }

    /// Whether it can be read in parts, by its server or from the cache.
    fn readable(&self, remote: Remote) -> Result<Upstream, UpstreamError> {
        if !remote.has_ranges() {
            let size = remote.pin().size();
            let why = match &self.cache {
                None => Some(Why::NoRanges),
                Some(cache) => {
                    let limit = cache.limit();
                    (!cache.can_hold(size)).then_some(Why::TooLarge { size, limit })
                }
            };
            if let Some(why) = why {
                return Err(UpstreamError::Unreadable { what: remote.name(), why });
            }
        }
        Ok(Upstream { remote, cache: self.cache.clone() })
    }
}

/// A pinned image. Every read gives bytes of the very content that was there when it was opened, or an error.
#[derive(Debug, Clone)]
pub struct Upstream {
    remote: Remote,
    cache: Option<Arc<Cache>>,
}

impl Upstream {
    /// What tells it from every other.
    pub fn pin(&self) -> &Pin {
        self.remote.pin()
    }

    /// It, as people are told.
    pub(crate) fn name(&self) -> String {
        self.remote.name()
    }

    /// The host that it is read from, as its URL says.
    pub(crate) fn server(&self) -> &str {
        self.remote.server()
    }

    /// Keeps nothing of it, as far as nobody else reads it now: what was read was wrong.
    pub(crate) fn forget(&self) {
        if let Some(cache) = &self.cache {
            cache.forget(self.pin());
        }
    }
}

impl Source for Upstream {
    fn length(&self) -> u64 {
        self.remote.pin().size()
    }

    fn stream(&self, range: Range<u64>) -> Chunks {
        match &self.cache {
            None => self.remote.stream(range),
            Some(cache) => cache.stream(&self.remote, range),
        }
    }
}

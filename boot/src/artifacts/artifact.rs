//! One thing that a machine fetches, and whether it is what it should be.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::TryStreamExt as _;
use tokio::sync::OnceCell;

use super::digest::{Algorithm, Digest};
use super::error::ArtifactError;
use super::located::Located;
use super::memory::Memory;
use crate::source::{Source, SourceError};
use crate::upstream::Upstream;

/// How many contents' digests are remembered.
const KNOWN: usize = 4096;
/// How long a registry that gave wrong bytes is not asked for them again.
const DISTRUST: Duration = Duration::from_secs(300);

/// What contents hash to, by pin.
pub(super) struct Verified {
    found: Memory<(String, Algorithm), Arc<OnceCell<Digest>>>,
}

impl Verified {
    pub(super) fn new() -> Self {
        Self { found: Memory::new(KNOWN) }
    }

    /// What a content was found to hash to, or will be by whoever comes first.
    fn of(&self, artifact: &Artifact, expected: &Digest) -> Arc<OnceCell<Digest>> {
        let key = (artifact.pin.clone(), expected.algorithm());
        // What a URL gives is pinned by its server; what a registry gives by the digest alone, and it may do better.
        if matches!(artifact.located, Located::Blob(_))
            && self.found.get(&key).is_some_and(|cell| cell.get().is_some_and(|found| found != expected))
            && self.found.recent(&key, DISTRUST).is_none()
        {
            self.found.forget(&key);
        }
        self.found.get_or_put(key, Arc::default)
    }
}

/// One thing that a machine fetches: pinned to one content.
#[derive(Clone)]
pub struct Artifact {
    located: Located,
    upstream: Upstream,
    pin: String,
    digest: Option<Digest>,
    verified: Arc<Verified>,
}

impl Artifact {
    pub(super) fn new(
        located: Located,
        upstream: Upstream,
        digest: Option<Digest>,
        verified: Arc<Verified>,
    ) -> Self {
        let pin = upstream.pin().to_string();
        Self { located, upstream, pin, digest, verified }
    }

    /// Where it is.
    #[must_use]
    pub fn located(&self) -> &Located {
        &self.located
    }

    /// Its bytes.
    #[must_use]
    pub fn source(&self) -> Arc<dyn Source> {
        Arc::new(self.upstream.clone())
    }

    /// What tells its content from every other: 16 hexadecimal digits, the same on every replica.
    #[must_use]
    pub fn pin(&self) -> &str {
        &self.pin
    }

    /// How many bytes it has.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.upstream.length()
    }

    /// What it must hash to, where somebody said so. Nothing has compared it before [`Artifact::verify`] has.
    #[must_use]
    pub fn digest(&self) -> Option<&Digest> {
        self.digest.as_ref()
    }

    /// Reads all of it once and compares. What was found is remembered by its pin, so that the next call costs nothing.
    /// Where no digest was given there is nothing to compare.
    ///
    /// # Errors
    /// It can't be read, or has another digest.
    pub async fn verify(&self) -> Result<(), ArtifactError> {
        let Some(expected) = &self.digest else { return Ok(()) };
        let cell = self.verified.of(self, expected);
        let found = cell.get_or_try_init(|| self.hash(expected)).await?;
        if found == expected {
            return Ok(());
        }
        Err(ArtifactError::Mismatch {
            what: self.located.to_string(),
            expected: expected.clone(),
            found: found.clone(),
        })
    }

    async fn hash(&self, expected: &Digest) -> Result<Digest, SourceError> {
        let chunks = self.upstream.stream(0..self.size());
        let hashed = chunks.try_fold(expected.hasher(), |mut hasher, chunk| async move {
            hasher.update(&chunk);
            Ok(hasher)
        });
        let found = hashed.await?.finish();
        if found != *expected && matches!(self.located, Located::Blob(_)) {
            // The registry may do better the next time, and must be asked then.
            self.upstream.forget();
        }
        Ok(found)
    }
}

impl fmt::Debug for Artifact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Artifact({}, {}, {} bytes)", self.located, self.pin, self.size())
    }
}

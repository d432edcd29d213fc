//! One thing that a machine fetches, and whether it is what it should be.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use super::comparison::{Comparisons, Running, Wanted};
use super::digest::Digest;
use super::error::ArtifactError;
use super::located::Located;
use crate::source::Source;
use crate::upstream::Upstream;

/// How long what could not be read is not read again for who only asks how it stands.
const AGAIN: Duration = Duration::from_secs(10);
/// How often who waits shows that he does.
const STILL_WANTED: Duration = Duration::from_secs(60);

/// One thing that a machine fetches: pinned to one content.
#[derive(Clone)]
pub struct Artifact {
    located: Located,
    upstream: Upstream,
    pin: String,
    digest: Option<Digest>,
    comparisons: Arc<Comparisons>,
}

impl Artifact {
    pub(super) fn new(
        located: Located,
        upstream: Upstream,
        digest: Option<Digest>,
        comparisons: Arc<Comparisons>,
    ) -> Self {
        let pin = upstream.pin().to_string();
        Self { located, upstream, pin, digest, comparisons }
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

    /// Whether it is what it must be, as far as that is known: nothing, where it is, or where no digest was given and there
    /// is nothing to compare. All of it is read once for that, in the background, and what was found is remembered by its
    /// pin. Whoever waits asks again within some minutes: what nobody asks for is not read any further. Needs a runtime.
    ///
    /// # Errors
    /// It can't be read, or has another digest.
    pub fn compare(&self) -> Result<Option<Running>, ArtifactError> {
        self.compared(AGAIN)
    }

    /// The same, for who waits for its end. What could not be read is read again.
    ///
    /// # Errors
    /// As of [`Artifact::compare`].
    pub async fn verify(&self) -> Result<(), ArtifactError> {
        let mut again = Duration::ZERO;
        while let Some(mut running) = self.compared(again)? {
            // It is asked how it ended, or once more.
            let _ended = timeout(STILL_WANTED, running.ended()).await;
            again = AGAIN;
        }
        Ok(())
    }

    fn compared(&self, again: Duration) -> Result<Option<Running>, ArtifactError> {
        let Some(expected) = &self.digest else { return Ok(None) };
        let may_improve = matches!(self.located, Located::Blob(_));
        let wanted = Wanted { upstream: &self.upstream, pin: &self.pin, expected, may_improve };
        let comparison = self.comparisons.of(&wanted, again);
        match comparison.found() {
            None => Ok(Some(comparison.running(self.located.to_string(), self.size()))),
            Some(Ok(found)) if found == *expected => Ok(None),
            Some(Ok(found)) => {
                let what = self.located.to_string();
                Err(ArtifactError::Mismatch { what, expected: expected.clone(), found })
            }
            Some(Err(error)) => Err(error.into()),
        }
    }
}

impl fmt::Debug for Artifact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Artifact({}, {}, {} bytes)", self.located, self.pin, self.size())
    }
}

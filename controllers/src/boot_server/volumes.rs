//! Volumes with configurations, made on the fly. A BMC reads one in many parts, which must be of one and the same: each is
//! kept for some minutes.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use beskar7_boot::{
    delivery::Configuration,
    source::digest,
    volume::{VolumeError, contents::Format},
};
use bytes::Bytes;
use tokio::time::Instant;

use super::images::Kept;

/// For so long a volume is kept.
const KEPT: Duration = Duration::from_secs(300);
/// For so long it is believed to be open without another look.
const OPEN: Duration = Duration::from_secs(5);
const MOST: usize = 64;

/// A volume that was made.
#[derive(Clone)]
pub(super) struct Volume {
    pub(super) bytes: Bytes,
    /// What tells it from any other.
    pub(super) etag: String,
    made: Instant,
}

/// The volumes that were made lately, and those that were open lately.
pub(super) struct Volumes(Mutex<Lately>);

struct Lately {
    made: Kept<(String, Format), Volume>,
    open: Kept<String, Instant>,
}

impl Default for Volumes {
    fn default() -> Self {
        Self(Mutex::new(Lately { made: Kept::new(MOST), open: Kept::new(MOST) }))
    }
}

impl Volumes {
    /// The one that was made for a claim lately.
    pub(super) fn get(&self, claim: &str, format: Format) -> Option<Volume> {
        let kept = self.lock().made.get(&(claim.to_owned(), format));
        kept.filter(|volume| volume.made.elapsed() < KEPT)
    }

    /// Makes one.
    pub(super) fn make(
        &self,
        claim: &str,
        format: Format,
        configuration: &Configuration,
    ) -> Result<Volume, VolumeError> {
        let bytes = format.volume(configuration)?;
        let volume = Volume { etag: digest(&[&bytes]), bytes, made: Instant::now() };
        self.lock().made.put((claim.to_owned(), format), volume.clone());
        Ok(volume)
    }

    /// Whether a claim's volume was seen to be open some seconds ago.
    pub(super) fn was_open_lately(&self, claim: &str) -> bool {
        self.lock().open.get(&claim.to_owned()).is_some_and(|at| at.elapsed() < OPEN)
    }

    /// A claim's volume is open now, if it was not said so lately.
    pub(super) fn is_open(&self, claim: &str) {
        if !self.was_open_lately(claim) {
            self.lock().open.put(claim.to_owned(), Instant::now());
        }
    }

    fn lock(&self) -> MutexGuard<'_, Lately> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

//! Volumes with configurations, made on the fly. A BMC reads one in many parts, which must be of one and the same: each is
//! kept for some minutes.

use std::{
    ops::Range,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use beskar7_boot::{
    delivery::Configuration,
    volume::{VolumeError, contents::Format},
};
use bytes::Bytes;
use tokio::time::Instant;

use super::images::Kept;

/// For so long a volume is kept.
const KEPT: Duration = Duration::from_secs(300);
const MOST: usize = 64;
/// Files begin at multiples of this.
const SECTOR: usize = 2048;

/// A volume that was made.
#[derive(Clone)]
pub(super) struct Volume {
    pub(super) bytes: Bytes,
    /// Where the user-data lies.
    pub(super) user_data: Option<Range<u64>>,
    made: Instant,
}

/// The volumes that were made lately.
pub(super) struct Volumes(Mutex<Kept<(String, Format), Volume>>);

impl Default for Volumes {
    fn default() -> Self {
        Self(Mutex::new(Kept::new(MOST)))
    }
}

impl Volumes {
    /// The one that was made for a claim lately.
    pub(super) fn get(&self, claim: &str, format: Format) -> Option<Volume> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get(&(claim.to_owned(), format)).filter(|volume| volume.made.elapsed() < KEPT)
    }

    /// Makes one.
    pub(super) fn make(
        &self,
        claim: &str,
        format: Format,
        configuration: &Configuration,
    ) -> Result<Volume, VolumeError> {
        let bytes = format.volume(configuration)?;
        let user_data = place(&bytes, &configuration.user_data);
        let volume = Volume { bytes, user_data, made: Instant::now() };
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.put((claim.to_owned(), format), volume.clone());
        Ok(volume)
    }
}

/// Where a file lies in a volume.
fn place(volume: &[u8], content: &[u8]) -> Option<Range<u64>> {
    let at = (0..volume.len())
        .step_by(SECTOR)
        .find(|at| volume.get(*at..).is_some_and(|rest| rest.starts_with(content)))?;
    let start = u64::try_from(at).ok()?;
    Some(start..start + u64::try_from(content.len()).ok()?)
}

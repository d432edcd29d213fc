//! Volumes with configurations, made on the fly. A BMC reads one in many parts, which must be of one and the same: each is
//! kept for some minutes, whatever becomes of the Secret that it was made of. It holds secrets, so it is kept no longer than
//! that, whether or not anybody asks again.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
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
pub(super) struct Volumes(Arc<Mutex<Lately>>);

struct Lately {
    made: Kept<(String, Format), Volume>,
    open: Kept<String, Instant>,
}

impl Default for Volumes {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Lately { made: Kept::new(MOST), open: Kept::new(MOST) })))
    }
}

impl Volumes {
    /// The one that was made for a claim lately.
    pub(super) fn get(&self, claim: &str, format: Format) -> Option<Volume> {
        let kept = self.lock().made.get(&(claim.to_owned(), format));
        kept.filter(|volume| volume.made.elapsed() < KEPT)
    }

    /// Makes one, and forgets it some minutes later.
    pub(super) fn make(
        &self,
        claim: &str,
        format: Format,
        configuration: &Configuration,
    ) -> Result<Volume, VolumeError> {
        let bytes = format.volume(configuration)?;
        let volume = Volume { etag: digest(&[&bytes]), bytes, made: Instant::now() };
        let key = (claim.to_owned(), format);
        self.lock().made.put(key.clone(), volume.clone());
        let (made, kept) = (volume.made, Arc::downgrade(&self.0));
        tokio::spawn(async move {
            tokio::time::sleep_until(made + KEPT).await;
            let Some(kept) = kept.upgrade() else { return };
            let all = &mut lock(&kept).made;
            // Another one may have been made in its place.
            if all.get(&key).is_some_and(|volume| volume.made == made) {
                all.forget(&key);
            }
        });
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
        lock(&self.0)
    }
}

fn lock(lately: &Mutex<Lately>) -> MutexGuard<'_, Lately> {
    lately.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use beskar7_boot::delivery::MetaData;

    use super::*;

    fn configuration(user_data: &'static str) -> Configuration {
        let meta_data = MetaData {
            instance_id: "i".to_owned(),
            hostname: "m".to_owned(),
            provider_id: "b7://metal/h".to_owned(),
            zone: None,
            host: "h".to_owned(),
            namespace: "metal".to_owned(),
            cluster: None,
            uuid: None,
            phone_home_url: "http://b/home".to_owned(),
            more: BTreeMap::new(),
        };
        let user_data = Bytes::from_static(user_data.as_bytes());
        Configuration { user_data, meta_data, network_config: None }
    }

    #[tokio::test(start_paused = true)]
    async fn a_volume_stays_as_it_was_made_for_some_minutes_and_is_not_in_memory_any_longer() {
        let volumes = Volumes::default();
        let make = |text| volumes.make("c", Format::Cidata, &configuration(text)).unwrap().etag;
        let there = || volumes.lock().made.get(&("c".to_owned(), Format::Cidata)).map(|kept| kept.etag);
        let pass = |time: Duration| tokio::time::sleep(time);
        let first = make("#cloud-config\n");
        pass(KEPT / 2).await;
        assert_eq!(volumes.get("c", Format::Cidata).unwrap().etag, first);
        assert!(volumes.get("c", Format::Config2).is_none() && volumes.get("d", Format::Cidata).is_none());
        // Of two that were made for the same claim, the end of the first ends nothing for the second.
        let second = make("#cloud-config\n{}\n");
        assert_ne!(first, second);
        pass(KEPT - Duration::from_secs(1)).await;
        assert_eq!(there(), Some(second));
        pass(Duration::from_secs(2)).await;
        assert_eq!(there(), None, "nobody asked for it");
    }
}

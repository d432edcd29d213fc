//! What our own writes make of a host. Each of them comes back by the watch, and until it does, the cache shows the host
//! as it was before: a look at that would ask the BMC in vain, and lose against our own write. And a look at what we have
//! just left behind would find nothing new.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use beskar7_api::PhysicalHost;
use kube::runtime::controller::Action;
use tokio::time::Instant;

use super::Key;

/// The versions of a host that one look has seen and made.
#[derive(Debug, Default)]
pub(super) struct Trail {
    /// Those that were written over.
    passed: Vec<String>,
    last: Option<String>,
    rest: Rest,
}

/// When to look at the last version again.
#[derive(Debug, Default)]
enum Rest {
    #[default]
    Now,
    At(Instant),
    Never,
}

impl Trail {
    /// The host is this now.
    pub(super) fn reach(&mut self, host: &PhysicalHost) {
        let version = &host.metadata.resource_version;
        if self.last != *version {
            self.passed.extend(std::mem::replace(&mut self.last, version.clone()));
        }
    }

    /// Nothing is to be done for so long, if nobody changes the host.
    pub(super) fn rest_for(&mut self, time: Duration) {
        self.rest = Rest::At(Instant::now() + time);
    }

    /// Nothing is to be done until somebody changes the host.
    pub(super) fn rest(&mut self) {
        self.rest = Rest::Never;
    }
}

/// The trails of the last look at each host.
#[derive(Debug, Default)]
pub(super) struct Trails(Mutex<HashMap<Key, Trail>>);

impl Trails {
    /// What to do instead of a look at this version of a host, if none is needed. What was written over gives way to
    /// what was written; should that not happen, it is looked for again after `patience`.
    pub(super) fn spare(&self, key: &Key, host: &PhysicalHost, patience: Duration) -> Option<Action> {
        let trails = self.lock();
        let (trail, version) = (trails.get(key)?, host.metadata.resource_version.as_ref()?);
        if trail.passed.contains(version) {
            return Some(Action::requeue(patience));
        }
        if trail.last.as_ref() != Some(version) {
            return None;
        }
        match trail.rest {
            Rest::Now => None,
            Rest::At(time) => {
                let left = time.saturating_duration_since(Instant::now());
                (!left.is_zero()).then(|| Action::requeue(left))
            }
            Rest::Never => Some(Action::await_change()),
        }
    }

    pub(super) fn keep(&self, key: Key, trail: Trail) {
        self.lock().insert(key, trail);
    }

    pub(super) fn forget(&self, key: &Key) {
        self.lock().remove(key);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Trail>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(5);
    const POLL: Duration = Duration::from_secs(60);

    fn version(version: &str) -> PhysicalHost {
        let mut host = PhysicalHost::new("h", beskar7_api::PhysicalHostSpec::default());
        host.metadata.resource_version = Some(version.to_owned());
        host
    }

    fn key() -> Key {
        ("metal".to_owned(), "h".to_owned())
    }

    /// A look at version 7, which wrote 8 and 9.
    fn trail() -> Trail {
        let mut trail = Trail::default();
        for step in ["7", "8", "8", "9"] {
            trail.reach(&version(step));
        }
        trail
    }

    #[tokio::test(start_paused = true)]
    async fn what_we_wrote_is_no_news_until_it_is_time_to_look() {
        let trails = Trails::default();
        assert_eq!(trails.spare(&key(), &version("7"), PATIENCE), None);
        let mut resting = trail();
        resting.rest_for(POLL);
        trails.keep(key(), resting);
        for passed in ["7", "8"] {
            assert_eq!(trails.spare(&key(), &version(passed), PATIENCE), Some(Action::requeue(PATIENCE)));
        }
        assert_eq!(trails.spare(&key(), &version("9"), PATIENCE), Some(Action::requeue(POLL)));
        assert_eq!(trails.spare(&key(), &version("10"), PATIENCE), None, "somebody changed it");
        tokio::time::advance(POLL).await;
        assert_eq!(trails.spare(&key(), &version("9"), PATIENCE), None, "it is time");
        trails.forget(&key());
        assert_eq!(trails.spare(&key(), &version("8"), PATIENCE), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_look_that_failed_is_tried_again_at_once_but_not_on_what_it_wrote_over() {
        let trails = Trails::default();
        trails.keep(key(), trail());
        assert_eq!(trails.spare(&key(), &version("9"), PATIENCE), None);
        assert_eq!(trails.spare(&key(), &version("8"), PATIENCE), Some(Action::requeue(PATIENCE)));
        let mut done = trail();
        done.rest();
        trails.keep(key(), done);
        assert_eq!(trails.spare(&key(), &version("9"), PATIENCE), Some(Action::await_change()));
    }
}

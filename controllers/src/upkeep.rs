//! Controllers that keep a status current and do nothing else: how they write it, and how that can fail.

use std::{sync::Arc, time::Duration};

use kube::{Client, core::object::HasStatus, runtime::controller::Action};
use serde::Serialize;

use crate::{
    controller::{Failure, Reconciler},
    diagnostics::Metrics,
    retry::{Backoffs, spread},
    status::{self, Reported, StatusError},
    watch::{Key, Watched},
    write::Writable,
};

/// A lost race is looked at again soon, should the watch not wake us before.
const AFTER_LOST_RACE: Duration = Duration::from_secs(5);

/// What keeps the status of one kind current.
pub trait Keeper: Send + Sync + 'static {
    /// Its objects.
    type Kind: Watched;
    /// Its name in logs and metrics.
    const NAME: &'static str;
    /// No look may take longer.
    const LIMIT: Duration;

    /// Looks at an object once. `backoffs` is for what has to be looked at again though it could be written down.
    fn look(
        &self,
        object: &Self::Kind,
        backoffs: &Backoffs<Key>,
    ) -> impl Future<Output = Result<Action, UpkeepError>> + Send;
}

/// A controller of that.
pub struct Upkeep<K> {
    keeper: K,
    metrics: Metrics,
    backoffs: Backoffs<Key>,
}

impl<K: Keeper> Upkeep<K> {
    /// Nothing has failed yet.
    #[must_use]
    pub fn new(keeper: K, metrics: Metrics) -> Self {
        Self { keeper, metrics, backoffs: Backoffs::new() }
    }
}

impl<K: Keeper> Reconciler for Upkeep<K> {
    type Kind = K::Kind;
    type Error = UpkeepError;
    const NAME: &'static str = K::NAME;
    const LIMIT: Duration = K::LIMIT;

    async fn look(self: Arc<Self>, object: Arc<K::Kind>) -> Result<Action, UpkeepError> {
        self.keeper.look(&object, &self.backoffs).await
    }

    fn forget(&self, key: &Key) {
        self.backoffs.forget(key);
    }

    fn backoffs(&self) -> &Backoffs<Key> {
        &self.backoffs
    }

    fn metrics(&self) -> &Metrics {
        &self.metrics
    }
}

/// Why a reconcile has to be tried again.
#[derive(Debug, thiserror::Error)]
pub enum UpkeepError {
    /// The status could not be written.
    #[error(transparent)]
    Status(#[from] StatusError),
    /// It hung.
    #[error("not done within {0:?}")]
    TimedOut(Duration),
}

impl Failure for UpkeepError {
    fn category(&self) -> &'static str {
        match self {
            Self::Status(error) => error.category(),
            Self::TimedOut(_) => "timeout",
        }
    }

    fn timed_out(limit: Duration) -> Self {
        Self::TimedOut(limit)
    }
}

/// Writes a status where the object says something else.
///
/// # Errors
/// It can't be written, for another reason than that the object has changed.
pub(crate) async fn keep<K>(client: &Client, object: &K, wanted: &K::Status) -> Result<Action, UpkeepError>
where
    K: Writable + HasStatus,
    K::Status: Serialize + std::fmt::Debug,
{
    match status::write(client, object, wanted).await? {
        Reported::Unchanged => {}
        Reported::Written(_) => tracing::info!(status = ?wanted, "the status is written"),
        Reported::Stale => return Ok(Action::requeue(spread(AFTER_LOST_RACE))),
    }
    Ok(Action::await_change())
}

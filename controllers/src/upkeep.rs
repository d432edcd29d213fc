//! Controllers that keep a status current and do nothing else: how they write it, and how that can fail.

use std::time::Duration;

use kube::{Client, core::object::HasStatus, runtime::controller::Action};
use serde::Serialize;

use crate::{
    controller::Failure,
    retry::spread,
    status::{self, Reported, StatusError},
    write::Writable,
};

/// A lost race is looked at again soon, should the watch not wake us before.
const AFTER_LOST_RACE: Duration = Duration::from_secs(5);

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

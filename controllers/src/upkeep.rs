//! Controllers that keep a status current and do nothing else: how they write it, and how that can fail.

use std::time::Duration;

use kube::{Client, core::object::HasStatus, runtime::controller::Action};
use serde::Serialize;

use crate::{
    controller::Failure,
    retry::{Backoffs, spread},
    watch::{Key, key},
    write::{Writable, Written, changes, merge_status},
};

/// A lost race is looked at again soon, should the watch not wake us before.
const AFTER_LOST_RACE: Duration = Duration::from_secs(5);

/// Why a reconcile has to be tried again.
#[derive(Debug, thiserror::Error)]
pub enum UpkeepError {
    /// The status could not be written.
    #[error("the status can't be written")]
    Status(#[source] Box<kube::Error>),
    /// The status could not be made into a patch.
    #[error("the status can't be written as JSON")]
    Json(#[source] serde_json::Error),
    /// It hung.
    #[error("not done within {0:?}")]
    TimedOut(Duration),
}

impl Failure for UpkeepError {
    fn category(&self) -> &'static str {
        match self {
            Self::Status(_) => "status",
            Self::Json(_) => "json",
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
pub(crate) async fn keep<K>(
    client: &Client,
    backoffs: &Backoffs<Key>,
    object: &K,
    status: &K::Status,
) -> Result<Action, UpkeepError>
where
    K: Writable + HasStatus,
    K::Status: Serialize + std::fmt::Debug,
{
    let Some(changed) = changes(object.status(), status).map_err(UpkeepError::Json)? else {
        backoffs.forget(&key(object));
        return Ok(Action::await_change());
    };
    let written = merge_status(client, object, changed).await;
    match written.map_err(|error| UpkeepError::Status(Box::new(error)))? {
        Written::To(_) => {
            tracing::info!(?status, "the status is written");
            backoffs.forget(&key(object));
            Ok(Action::await_change())
        }
        Written::Stale => Ok(Action::requeue(spread(AFTER_LOST_RACE))),
    }
}

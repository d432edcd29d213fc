//! Writes what was decided of an object: one patch of what changed in its status, or none, and then the events.

use beskar7_core::events::Event;
use kube::{Client, core::object::HasStatus};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::{
    tell::Recorder,
    write::{Writable, Written, changes, merge_status},
};

/// What became of a report.
#[derive(Debug)]
pub(crate) enum Reported<K> {
    /// The status said so already.
    Unchanged,
    /// The status was written; the object is this now.
    Written(Box<K>),
    /// The object changed or went meanwhile: the decision was about the past.
    Stale,
}

/// Why nothing could be reported.
#[derive(Debug, thiserror::Error)]
pub enum StatusError {
    /// The status could not be written.
    #[error("the status can't be written")]
    Write(#[source] Box<kube::Error>),
    /// The status could not be made into a patch.
    #[error("the status can't be written as JSON")]
    Json(#[source] serde_json::Error),
}

impl StatusError {
    /// The kind of failure, for metrics.
    pub(crate) fn category(&self) -> &'static str {
        match self {
            Self::Write(_) => "status",
            Self::Json(_) => "json",
        }
    }
}

/// Makes the status of an object say this.
pub(crate) async fn write<K>(
    client: &Client,
    object: &K,
    status: &K::Status,
) -> Result<Reported<K>, StatusError>
where
    K: Writable + HasStatus,
    K::Status: Serialize,
{
    patch(client, object, changes(object.status(), status).map_err(StatusError::Json)?).await
}

async fn patch<K: Writable>(
    client: &Client,
    object: &K,
    changed: Option<Map<String, Value>>,
) -> Result<Reported<K>, StatusError> {
    let Some(changed) = changed else { return Ok(Reported::Unchanged) };
    match merge_status(client, object, changed).await {
        Ok(Written::To(written)) => Ok(Reported::Written(written)),
        Ok(Written::Stale) => Ok(Reported::Stale),
        Err(error) => Err(StatusError::Write(Box::new(error))),
    }
}

/// The same, and tells people, once it is written.
pub(crate) async fn report<K>(
    to: (&Client, &Recorder),
    object: &K,
    status: &K::Status,
    events: &[Event],
) -> Result<Reported<K>, StatusError>
where
    K: Writable + HasStatus,
    K::Status: Serialize,
{
    let changed = changes(object.status(), status).map_err(StatusError::Json)?;
    report_changes(to, object, changed, events).await
}

/// The same, for who knows what changed, if something did.
pub(crate) async fn report_changes<K: Writable>(
    (client, recorder): (&Client, &Recorder),
    object: &K,
    changed: Option<Map<String, Value>>,
    events: &[Event],
) -> Result<Reported<K>, StatusError> {
    let reported = patch(client, object, changed).await?;
    if let Reported::Written(_) = &reported {
        recorder.tell(object, events).await;
    }
    Ok(reported)
}

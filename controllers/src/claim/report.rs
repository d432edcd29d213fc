//! Writes what was decided of a consumer: one patch of what changed in the status, or none, and then the events.

use std::fmt::Debug;

use beskar7_core::events::Event;
use kube::Client;
use serde::Serialize;

use super::{
    claimant::Claimant,
    error::{ClaimError, write},
};
use crate::{
    tell::Recorder,
    write::{Written, changes, merge_status},
};

/// Makes the status of a consumer say `after`, and tells people. Whether the consumer was still the one that was decided
/// on.
pub(crate) async fn report<K: Claimant, S: Serialize + Sync>(
    (client, recorder): (&Client, &Recorder),
    object: &K,
    (before, after): (Option<&S>, &S),
    phase: &(dyn Debug + Sync),
    events: &[Event],
) -> Result<bool, ClaimError> {
    let Some(changed) = changes(before, after).map_err(ClaimError::Json)? else { return Ok(true) };
    match merge_status(client, object, changed).await.map_err(write)? {
        Written::To(_) => {
            tracing::info!(?phase, "status written");
            recorder.tell(object, events).await;
            Ok(true)
        }
        Written::Stale => Ok(false),
    }
}

//! Says what was decided of a consumer.

use std::fmt::Debug;

use beskar7_core::events::Event;
use kube::{Client, core::object::HasStatus};
use serde::Serialize;

use super::{claimant::Claimant, error::ClaimError};
use crate::{
    status::{self, Reported},
    tell::Recorder,
};

/// Makes the status of a consumer say this, and tells people. Whether the consumer was still the one that was decided on.
pub(crate) async fn report<K>(
    to: (&Client, &Recorder),
    object: &K,
    status: &K::Status,
    phase: &(dyn Debug + Sync),
    events: &[Event],
) -> Result<bool, ClaimError>
where
    K: Claimant + HasStatus,
    K::Status: Serialize + Sync,
{
    match status::report(to, object, status, events).await? {
        Reported::Unchanged => Ok(true),
        Reported::Written(_) => {
            tracing::info!(?phase, "status written");
            Ok(true)
        }
        Reported::Stale => Ok(false),
    }
}

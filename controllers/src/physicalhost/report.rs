//! Writes what was decided: one patch of what changed in the status, or none, and then the events.

use beskar7_api::{PhysicalHost, PhysicalHostStatus};
use beskar7_core::events::Event;
use kube::Client;

use super::ReconcileError;
use crate::{
    tell::Recorder,
    write::{Written, changes, merge_status},
};

/// What became of a report.
#[derive(Debug)]
pub(super) enum Reported {
    /// The status said so already.
    Unchanged,
    /// The status was written; the host is this now.
    Written(Box<PhysicalHost>),
    /// The host changed or went meanwhile: the decision was about the past.
    Stale,
}

/// Makes the host's status say `status`, and tells people.
pub(super) async fn report(
    client: &Client,
    recorder: &Recorder,
    host: &PhysicalHost,
    status: &PhysicalHostStatus,
    events: &[Event],
) -> Result<Reported, ReconcileError> {
    let Some(changed) = changes(host.status.as_ref(), status).map_err(ReconcileError::Json)? else {
        return Ok(Reported::Unchanged);
    };
    match merge_status(client, host, changed).await {
        Ok(Written::To(written)) => {
            recorder.tell(host, events).await;
            Ok(Reported::Written(written))
        }
        Ok(Written::Stale) => Ok(Reported::Stale),
        Err(error) => Err(ReconcileError::Status(Box::new(error))),
    }
}

//! Writes what was decided: one patch of what changed in the status, or none, and then the events.

use beskar7_api::Beskar7Machine;
use beskar7_core::machine::Decision;
use kube::Client;

use super::error::{ReconcileError, write};
use crate::{
    tell::Recorder,
    write::{Written, changes, merge_status},
};

/// Makes the machine's status say what was decided, and tells people. Whether the machine was still the one that was
/// decided on.
pub(super) async fn report(
    client: &Client,
    recorder: &Recorder,
    machine: &Beskar7Machine,
    decision: &Decision,
) -> Result<bool, ReconcileError> {
    let changed = changes(machine.status.as_ref(), &decision.status).map_err(ReconcileError::Json)?;
    let Some(changed) = changed else { return Ok(true) };
    match merge_status(client, machine, changed).await.map_err(write)? {
        Written::To(_) => {
            tracing::info!(phase = ?decision.status.phase, "status written");
            recorder.tell(machine, &decision.events).await;
            Ok(true)
        }
        Written::Stale => Ok(false),
    }
}

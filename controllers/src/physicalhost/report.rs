//! Writes what was decided: one patch of what changed in the status, or none, and then the events.

use beskar7_api::{PhysicalHost, PhysicalHostStatus};
use beskar7_core::host::{Event as Told, Severity};
use kube::{
    Api, Client, Resource as _, ResourceExt as _,
    api::{Patch, PatchParams},
    runtime::events::{Event, EventType, Recorder},
};
use serde_json::{Map, Value, json};

use super::ReconcileError;
use crate::causes::causes;

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
    events: &[Told],
) -> Result<Reported, ReconcileError> {
    let Some(changed) = changes(host.status.as_ref(), status).map_err(ReconcileError::Json)? else {
        return Ok(Reported::Unchanged);
    };
    let hosts: Api<PhysicalHost> = Api::namespaced(client.clone(), &host.namespace().unwrap_or_default());
    // With the version that was decided on: a stale view loses.
    let patch = json!({"metadata": {"resourceVersion": host.metadata.resource_version}, "status": changed});
    let written =
        match hosts.patch_status(&host.name_any(), &PatchParams::default(), &Patch::Merge(&patch)).await {
            Ok(written) => written,
            Err(kube::Error::Api(refusal)) if refusal.is_conflict() || refusal.is_not_found() => {
                return Ok(Reported::Stale);
            }
            Err(error) => return Err(ReconcileError::Status(Box::new(error))),
        };
    for told in events {
        tell(recorder, host, told).await;
    }
    Ok(Reported::Written(Box::new(written)))
}

/// The fields of the status that differ, as a merge patch; nothing when none does.
fn changes(
    before: Option<&PhysicalHostStatus>,
    after: &PhysicalHostStatus,
) -> Result<Option<Map<String, Value>>, serde_json::Error> {
    let before = match before {
        Some(before) => object(serde_json::to_value(before)?),
        None => Map::new(),
    };
    let after = object(serde_json::to_value(after)?);
    let mut changed = Map::new();
    for (key, value) in &after {
        if before.get(key) != Some(value) {
            changed.insert(key.clone(), value.clone());
        }
    }
    for key in before.keys().filter(|key| !after.contains_key(*key)) {
        changed.insert(key.clone(), Value::Null);
    }
    Ok((!changed.is_empty()).then_some(changed))
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Map::new(),
    }
}

/// Tells people. That it can't be told is no reason to do the work again.
async fn tell(recorder: &Recorder, host: &PhysicalHost, told: &Told) {
    let event = Event {
        type_: match told.severity {
            Severity::Normal => EventType::Normal,
            Severity::Warning => EventType::Warning,
        },
        reason: told.reason.clone(),
        note: Some(told.note.clone()),
        action: told.action.to_owned(),
        secondary: None,
    };
    if let Err(error) = recorder.publish(&event, &host.object_ref(&())).await {
        tracing::warn!(error = causes(&error), reason = told.reason, "an event can't be written");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(json: Value) -> PhysicalHostStatus {
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn a_patch_holds_what_changed_and_no_more() {
        let full =
            || json!({"ready": false, "state": "Enrolling", "errorMessage": "x", "observedGeneration": 1});
        for (before, after, expected) in [
            (Some(full()), full(), None),
            (None, json!({"state": "Enrolling"}), Some(json!({"ready": false, "state": "Enrolling"}))),
            (
                Some(full()),
                json!({"state": "Enrolling", "observedGeneration": 2}),
                Some(json!({"errorMessage": null, "observedGeneration": 2})),
            ),
            (Some(json!({})), json!({"ready": true}), Some(json!({"ready": true}))),
        ] {
            let before = before.map(status);
            let changed = changes(before.as_ref(), &status(after.clone())).unwrap();
            assert_eq!(changed.map(Value::Object), expected, "{after}");
        }
    }
}

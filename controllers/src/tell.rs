//! Tells people what happened to an object, by events.

use beskar7_core::events::{Event as Told, Severity};
use kube::{
    Resource,
    runtime::events::{Event, EventType, Recorder},
};

use crate::causes::causes;

/// Tells people. That it can't be told is no reason to do the work again.
pub async fn tell(recorder: &Recorder, about: &impl Resource<DynamicType = ()>, events: &[Told]) {
    for told in events {
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
        if let Err(error) = recorder.publish(&event, &about.object_ref(&())).await {
            tracing::warn!(error = causes(&error), reason = told.reason, "an event can't be written");
        }
    }
}

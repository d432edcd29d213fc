//! Tells people what happened to an object, by events.
//!
//! Not with the recorder of the library: that one keeps every event whole for six minutes, goes through all of them for
//! each new one, and shows the first sentence of a reason when the second one says something else.

mod lately;

use std::{
    hash::{BuildHasher, RandomState},
    sync::{Arc, Mutex, PoisonError},
};

use beskar7_core::events::{Event as Told, Severity};
use jiff::Timestamp;
use k8s_openapi::{
    api::{core::v1::ObjectReference, events::v1::Event},
    apimachinery::pkg::apis::meta::v1::MicroTime,
};
use kube::{
    Api, Client, Resource,
    api::{ObjectMeta, Patch, PatchParams, PostParams},
};
use serde_json::json;

use self::lately::{Lately, Said};
use crate::causes::causes;

/// The longest name that an object may have.
const LONGEST_NAME: usize = 253;
/// What the API server takes at most as a sentence.
const LONGEST_NOTE: usize = 1024;

/// Writes events in the name of one replica; cheap to clone.
#[derive(Clone)]
pub struct Recorder {
    client: Client,
    controller: &'static str,
    instance: Arc<str>,
    lately: Arc<Mutex<Lately>>,
    hashing: RandomState,
}

impl Recorder {
    /// For the replica `instance` of `controller`.
    #[must_use]
    pub fn new(client: Client, controller: &'static str, instance: &str) -> Self {
        let (lately, hashing) = (Arc::default(), RandomState::new());
        Self { client, controller, instance: instance.into(), lately, hashing }
    }

    /// Tells people. That it can't be told is no reason to do the work again.
    pub async fn tell(&self, about: &impl Resource<DynamicType = ()>, events: &[Told]) {
        let about = about.object_ref(&());
        for told in events {
            if let Err(error) = self.publish(&about, told).await {
                tracing::warn!(error = causes(&error), reason = told.reason, "an event can't be written");
            }
        }
    }

    async fn publish(&self, about: &ObjectReference, told: &Told) -> Result<(), kube::Error> {
        let namespace = about.namespace.as_deref().unwrap_or("default");
        let events: Api<Event> = Api::namespaced(self.client.clone(), namespace);
        // To the nanosecond: it is also a part of the name.
        let (key, now) = (self.key(about, told), Timestamp::now());
        let again = self.lately().said(key, now);
        if let Some(Said { name, count }) = again
            && repeat(&events, &name, count, now).await?
        {
            return Ok(());
        }
        let event = self.event(about, told, now);
        let name = event.metadata.name.clone().unwrap_or_default();
        events.create(&PostParams::default(), &event).await?;
        self.lately().say(key, name, now);
        Ok(())
    }

    fn lately(&self) -> std::sync::MutexGuard<'_, Lately> {
        self.lately.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same for the same words about the same object. Its whole text would be most of what is kept.
    fn key(&self, about: &ObjectReference, told: &Told) -> u64 {
        let object = (&about.kind, &about.namespace, &about.name, &about.uid);
        let warns = told.severity == Severity::Warning;
        self.hashing.hash_one((object, warns, &told.reason, told.action, &told.note))
    }

    fn event(&self, about: &ObjectReference, told: &Told, now: Timestamp) -> Event {
        Event {
            metadata: ObjectMeta {
                name: Some(name(about.name.as_deref().unwrap_or(self.controller), now)),
                namespace: Some(about.namespace.clone().unwrap_or_else(|| "default".to_owned())),
                ..ObjectMeta::default()
            },
            action: Some(told.action.to_owned()),
            reason: Some(told.reason.clone()),
            note: Some(shortened(&told.note)),
            type_: Some(
                match told.severity {
                    Severity::Normal => "Normal",
                    Severity::Warning => "Warning",
                }
                .to_owned(),
            ),
            event_time: Some(MicroTime(now)),
            regarding: Some(about.clone()),
            reporting_controller: Some(self.controller.to_owned()),
            reporting_instance: Some(self.instance.to_string()),
            ..Event::default()
        }
    }
}

/// Counts one more of an event that is there; `false` if it is not there any more.
async fn repeat(events: &Api<Event>, name: &str, count: u32, now: Timestamp) -> Result<bool, kube::Error> {
    let series = json!({"series": {"count": count, "lastObservedTime": MicroTime(now)}});
    match events.patch(name, &PatchParams::default(), &Patch::Merge(series)).await {
        Ok(_) => Ok(true),
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(false),
        Err(error) => Err(error),
    }
}

/// As `kubectl` users know them: the object's name and the time.
fn name(object: &str, now: Timestamp) -> String {
    let time = format!(".{:x}", now.as_nanosecond());
    // Names are ASCII.
    let object = object.get(..LONGEST_NAME - time.len()).unwrap_or(object);
    format!("{}{time}", object.trim_end_matches(['.', '-']))
}

/// What is longer would be refused, and nobody told anything.
fn shortened(note: &str) -> String {
    if note.len() <= LONGEST_NOTE {
        return note.to_owned();
    }
    const REST: &str = "…";
    let end = note.floor_char_boundary(LONGEST_NOTE - REST.len());
    format!("{}{REST}", &note[..end])
}

#[cfg(test)]
#[path = "tell_tests.rs"]
mod tests;

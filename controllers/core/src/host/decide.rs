//! The decision for one PhysicalHost.

use std::time::Duration;

use beskar7_api::{HostState, PhysicalHost, PhysicalHostStatus, annotations, conditions};
use jiff::Timestamp;

use super::connection::{Secrets, Settings, settings};
use crate::conditions::{Finding, Truth, get, set};

/// Secrets are not watched: they are read again this often.
const READ_AGAIN: Duration = Duration::from_secs(300);
/// Somebody is expected to create or complete a Secret: look more often, but less and less.
const LOOK_SOON: Duration = Duration::from_secs(60);

/// Reasons of the condition Paused, as Cluster API words them.
const PAUSED: &str = "Paused";
const NOT_PAUSED: &str = "NotPaused";

/// What was observed for one host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observed {
    /// The Secrets that it names.
    pub secrets: Secrets,
}

/// What follows.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// What its status should say. A status that says so already is not written.
    pub status: PhysicalHostStatus,
    /// What people should be told, once the status is written.
    pub events: Vec<Event>,
    /// When to look again.
    pub requeue: Requeue,
}

/// When to look again though nothing changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Requeue {
    /// Only when something changes.
    OnChange,
    /// After this time.
    After(Duration),
    /// Soon, then less and less often, at least once per this time.
    Growing(Duration),
    /// It failed: as the retry policy says.
    Failed,
}

/// How serious an event is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// As it should be.
    Normal,
    /// Somebody should look.
    Warning,
}

/// Something that people should be told about a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// How serious.
    pub severity: Severity,
    /// Why, in one word.
    pub reason: String,
    /// Why, in a sentence.
    pub note: String,
    /// What was being done.
    pub action: &'static str,
}

/// Whether a host is none of our business, whatever it says: nothing is read for it and nothing written.
#[must_use]
pub fn left_alone(host: &PhysicalHost) -> bool {
    // clusterctl moved it elsewhere and deletes it here.
    has_annotation(host, annotations::DELETE_FOR_MOVE)
}

/// Whether people asked us to leave a host as it is.
#[must_use]
pub fn paused(host: &PhysicalHost) -> bool {
    has_annotation(host, annotations::PAUSED)
}

/// Says that a host is paused, and nothing else.
#[must_use]
pub fn decide_paused(host: &PhysicalHost, now: Timestamp) -> Decision {
    let mut status = host.status.clone().unwrap_or_default();
    let finding = Finding {
        truth: Truth::True,
        reason: PAUSED,
        message: format!("The annotation {} is set", annotations::PAUSED),
    };
    set(&mut status.conditions, conditions::PAUSED, &finding, host.metadata.generation, now);
    Decision { status, events: Vec::new(), requeue: Requeue::OnChange }
}

/// What follows from what is wanted and what was observed.
#[must_use]
pub fn decide(host: &PhysicalHost, observed: &Observed, now: Timestamp) -> Decision {
    let namespace = host.metadata.namespace.as_deref().unwrap_or_default();
    let generation = host.metadata.generation;
    let settings = settings(namespace, &host.spec.redfish_connection, &observed.secrets);
    let (connection, requeue) = match settings {
        Settings::Complete => (not_probed(), Requeue::After(READ_AGAIN)),
        Settings::Incomplete(finding) => (finding, Requeue::Growing(LOOK_SOON)),
        Settings::Unreadable(finding) => (finding, Requeue::Failed),
    };

    let before = host.status.clone().unwrap_or_default();
    let mut status = before.clone();
    status.state = state(host, before.state);
    status.ready = false;
    status.error_message = match connection.truth {
        Truth::False => Some(connection.message.clone()),
        Truth::True | Truth::Unknown => None,
    };
    status.observed_generation = generation;
    let not_paused = Finding { truth: Truth::False, reason: NOT_PAUSED, message: String::new() };
    for (type_, finding) in [
        (conditions::READY, &connection),
        (conditions::host::REDFISH_CONNECTION_READY, &connection),
        (conditions::PAUSED, &not_paused),
    ] {
        set(&mut status.conditions, type_, finding, generation, now);
    }
    let events = connection_event(&before, &connection).into_iter().collect();
    Decision { status, events, requeue }
}

/// A host that nobody holds and that has no state yet is enrolling. A state that is there is never lost here, least
/// of all one that a consumer rests on.
fn state(host: &PhysicalHost, before: Option<HostState>) -> Option<HostState> {
    let claimed = host.spec.consumer_ref.is_some() || host.spec.claim_id.is_some();
    match before {
        None if !claimed => Some(HostState::Enrolling),
        None | Some(_) => before,
    }
}

fn not_probed() -> Finding {
    Finding {
        truth: Truth::Unknown,
        reason: conditions::host::NOT_PROBED,
        message: "The connection settings are complete; the BMC has not been contacted".to_owned(),
    }
}

/// People are told when something is wrong for a new reason, and when it is right again.
fn connection_event(before: &PhysicalHostStatus, now: &Finding) -> Option<Event> {
    let before = get(&before.conditions, conditions::host::REDFISH_CONNECTION_READY);
    let was_wrong = before.is_some_and(|condition| condition.status == Truth::False.as_str());
    let same_reason = before.is_some_and(|condition| condition.reason == now.reason);
    let severity = match (now.truth, was_wrong) {
        (Truth::False, true) if same_reason => return None,
        (Truth::False, true | false) => Severity::Warning,
        (Truth::True | Truth::Unknown, true) => Severity::Normal,
        (Truth::True | Truth::Unknown, false) => return None,
    };
    Some(Event {
        severity,
        reason: now.reason.to_owned(),
        note: now.message.clone(),
        action: "CheckConnectionSettings",
    })
}

fn has_annotation(host: &PhysicalHost, name: &str) -> bool {
    host.metadata.annotations.as_ref().is_some_and(|annotations| annotations.contains_key(name))
}

#[cfg(test)]
#[path = "decide_tests.rs"]
mod tests;

//! What people are told, as data.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use crate::conditions::{Truth, get};

/// How serious an event is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// As it should be.
    Normal,
    /// Somebody should look.
    Warning,
}

/// Something that people should be told about an object.
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

/// A condition is wrong for a new reason, or right again.
#[must_use]
pub fn changed(
    before: &[Condition],
    after: &[Condition],
    type_: &str,
    action: &'static str,
) -> Option<Event> {
    let now = get(after, type_)?;
    let was = get(before, type_);
    let was_wrong = was.is_some_and(|condition| condition.status == Truth::False.as_str());
    let is_wrong = now.status == Truth::False.as_str();
    let same_reason = was.is_some_and(|condition| condition.reason == now.reason);
    let severity = match (is_wrong, was_wrong) {
        (true, true) if same_reason => return None,
        (true, true | false) => Severity::Warning,
        (false, true) => Severity::Normal,
        (false, false) => return None,
    };
    Some(Event { severity, reason: now.reason.clone(), note: now.message.clone(), action })
}

//! What people are told of a host: every change of its state, and what goes wrong or right again.

use beskar7_api::{PhysicalHostStatus, conditions};

use crate::conditions::{Truth, get};

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

/// The events of one change of a status.
pub(super) fn events(before: &PhysicalHostStatus, after: &PhysicalHostStatus) -> Vec<Event> {
    let connection = conditions::host::REDFISH_CONNECTION_READY;
    let mut events: Vec<Event> = changed(before, after, connection, "CheckConnection").into_iter().collect();
    events.extend(transition(before, after));
    events.extend(changed(before, after, conditions::host::PROVISIONED, "Provision").filter(is_news));
    events
}

/// A state was left for another.
fn transition(before: &PhysicalHostStatus, after: &PhysicalHostStatus) -> Option<Event> {
    let (to, from) = (after.state?, before.state);
    if from == Some(to) {
        return None;
    }
    let note = match from {
        Some(from) => format!("{from:?} → {to:?}"),
        None => format!("→ {to:?}"),
    };
    Some(Event { severity: Severity::Normal, reason: format!("{to:?}"), note, action: "ChangeState" })
}

/// A condition is wrong for a new reason, or right again.
fn changed(
    before: &PhysicalHostStatus,
    after: &PhysicalHostStatus,
    type_: &str,
    action: &'static str,
) -> Option<Event> {
    let now = get(&after.conditions, type_)?;
    let was = get(&before.conditions, type_);
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

/// Stages on the way are told by the change of state already.
fn is_news(event: &Event) -> bool {
    use conditions::host as reasons;
    ![reasons::NOT_CLAIMED, reasons::PROVISIONING, reasons::DEPROVISIONING, reasons::WAITING_FOR_BOOT_INFO]
        .contains(&event.reason.as_str())
}

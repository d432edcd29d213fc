//! What people are told of a host: every change of its state, and what goes wrong or right again.

use beskar7_api::{PhysicalHostStatus, conditions};

use crate::events::{Event, Severity, changed};

/// Why a host is left as it is until a person or its consumer puts it right.
const KEPT: [&str; 3] =
    [conditions::host::CONSUMER_MISSING, conditions::host::CLAIM_LOST, conditions::host::CLAIMED_WITHOUT_ID];

/// The events of one change of a status.
pub(super) fn events(before: &PhysicalHostStatus, after: &PhysicalHostStatus) -> Vec<Event> {
    let connection = conditions::host::REDFISH_CONNECTION_READY;
    let changed = |type_, action| changed(&before.conditions, &after.conditions, type_, action);
    let mut events: Vec<Event> = changed(connection, "CheckConnection").into_iter().collect();
    events.extend(transition(before, after));
    let kept = |event: &Event| KEPT.contains(&event.reason.as_str());
    events.extend(changed(conditions::host::AVAILABLE, "Claim").filter(kept));
    events.extend(changed(conditions::host::PROVISIONED, "Provision").filter(is_news));
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

/// Stages on the way are told by the change of state already.
fn is_news(event: &Event) -> bool {
    use conditions::host as reasons;
    ![reasons::NOT_CLAIMED, reasons::PROVISIONING, reasons::DEPROVISIONING, reasons::WAITING_FOR_BOOT_INFO]
        .contains(&event.reason.as_str())
}

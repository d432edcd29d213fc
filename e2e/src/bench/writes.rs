//! What a worker asked of the API server, counted from the audit log.

use std::collections::BTreeMap;

use crate::control_plane::AuditEvent;

/// Requests by what they were about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Writes {
    /// Writes that were done.
    done: BTreeMap<&'static str, usize>,
    /// Writes that were refused: somebody was faster, or the API server was busy.
    refused: usize,
    /// Objects and lists that were read.
    reads: usize,
    /// Renewals of the Lease.
    renewals: usize,
}

impl Writes {
    /// Of those whose user agent begins so.
    pub(super) fn by(agent: &str, events: &[AuditEvent]) -> Self {
        let mut all = Self::default();
        for event in events.iter().filter(|event| event.user_agent.starts_with(agent)) {
            all.add(event);
        }
        all
    }

    fn add(&mut self, event: &AuditEvent) {
        let object = &event.object_ref;
        match event.verb.as_str() {
            "get" | "list" => self.reads += 1,
            // Questions about permissions are asked by creating them.
            "create" if object.resource.ends_with("reviews") => self.reads += 1,
            "create" | "update" | "patch" | "delete" | "deletecollection" if object.resource == "leases" => {
                self.renewals += 1;
            }
            "create" | "update" | "patch" | "delete" | "deletecollection" if event.is_write() => {
                *self.done.entry(what(&object.resource, &object.subresource)).or_default() += 1;
            }
            "create" | "update" | "patch" | "delete" | "deletecollection" => self.refused += 1,
            _ => {}
        }
    }

    /// How many were done.
    pub(super) fn total(&self) -> usize {
        self.done.values().sum()
    }

    pub(super) fn reads(&self) -> usize {
        self.reads
    }

    pub(super) fn refused(&self) -> usize {
        self.refused
    }

    pub(super) fn renewals(&self) -> usize {
        self.renewals
    }

    /// As text, for each of so many objects: `2.10 (1.00 host, 1.10 host status)`.
    pub(super) fn for_each(&self, objects: usize) -> String {
        let share = |count: usize| count as f64 / objects.max(1) as f64;
        let parts: Vec<String> =
            self.done.iter().map(|(what, count)| format!("{:.2} {what}", share(*count))).collect();
        format!("{:.2} ({})", share(self.total()), parts.join(", "))
    }
}

fn what(resource: &str, subresource: &str) -> &'static str {
    match (resource, subresource) {
        ("physicalhosts", "") => "host",
        ("physicalhosts", "status") => "host status",
        ("beskar7machines", "") => "machine",
        ("beskar7machines", "status") => "machine status",
        ("hardwaredata", _) => "HardwareData",
        ("events", _) => "event",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn event(agent: &str, verb: &str, resource: &str, subresource: &str, code: u16) -> AuditEvent {
        serde_json::from_value(json!({
            "verb": verb, "stage": "ResponseComplete", "user": {}, "userAgent": agent,
            "objectRef": {"resource": resource, "subresource": subresource}, "responseStatus": {"code": code},
            "requestReceivedTimestamp": "", "stageTimestamp": "",
        }))
        .unwrap()
    }

    #[test]
    fn what_one_of_them_wrote_is_told_apart() {
        let events = [
            event("manager/1", "patch", "physicalhosts", "", 200),
            event("manager/1", "patch", "physicalhosts", "status", 200),
            event("manager/1", "patch", "physicalhosts", "status", 200),
            event("manager/1", "patch", "physicalhosts", "status", 409),
            event("manager/1", "create", "events", "", 201),
            event("manager/1", "update", "leases", "", 200),
            event("manager/1", "get", "secrets", "", 200),
            event("manager/1", "watch", "physicalhosts", "", 200),
            event("manager/1", "create", "selfsubjectaccessreviews", "", 201),
            event("another/1", "patch", "physicalhosts", "", 200),
        ];
        let writes = Writes::by("manager/", &events);
        assert_eq!(writes.for_each(2), "2.00 (0.50 event, 0.50 host, 1.00 host status)");
        assert_eq!((writes.total(), writes.refused(), writes.reads(), writes.renewals()), (4, 1, 2, 1));
    }
}

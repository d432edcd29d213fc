//! What is counted. Labels have few values: never a name of an object.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, AtomicU64},
    },
    time::Duration,
};

use beskar7_boot::{delivery::Counted, dhcp};
use prometheus_client::{
    encoding::{EncodeLabelSet, EncodeLabelValue, text},
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram, info::Info},
    registry::{Registry, Unit},
};

/// How a reconcile ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EncodeLabelValue)]
#[expect(non_camel_case_types, reason = "the names are label values")]
pub enum Outcome {
    /// Nothing more to do for now.
    success,
    /// It will be tried again.
    error,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReconcileLabels {
    controller: &'static str,
    result: Outcome,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ControllerLabels {
    controller: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ErrorLabels {
    controller: &'static str,
    category: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ApiLabels {
    method: String,
    code: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct BootLabels {
    answer: &'static str,
}

/// What became of a machine that nobody knew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Discovered {
    /// It is a candidate now.
    Written,
    /// It was one, and is inspected once more.
    Again,
    /// As many candidates as there may be are there.
    OverLimit,
    /// Too many wait to be written.
    Dropped,
    /// It could not be written.
    Failed,
}

/// All that is counted; cheap to clone.
#[derive(Debug, Clone)]
pub struct Metrics(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    registry: Registry,
    leader: Gauge<i64, AtomicI64>,
    transitions: Counter<u64, AtomicU64>,
    reconciles: Family<ReconcileLabels, Counter>,
    durations: Family<ControllerLabels, Histogram, fn() -> Histogram>,
    errors: Family<ErrorLabels, Counter>,
    api_errors: Family<ApiLabels, Counter>,
    boot_answers: Family<BootLabels, Counter>,
    dhcp_messages: Family<BootLabels, Counter>,
    tftp_requests: Family<BootLabels, Counter>,
    discovered_machines: Family<BootLabels, Counter>,
}

/// From a status that needs no write to a BMC that does not answer.
fn durations() -> Histogram {
    Histogram::new([0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0])
}

impl Metrics {
    /// Everything at zero.
    #[must_use]
    pub fn new() -> Self {
        let mut registry = Registry::with_prefix("beskar7");
        let leader = Gauge::default();
        let transitions = Counter::default();
        let reconciles = Family::default();
        let durations = Family::new_with_constructor(durations as fn() -> Histogram);
        let errors = Family::default();
        let api_errors = Family::default();
        let boot_answers = Family::default();
        let dhcp_messages = Family::default();
        let tftp_requests = Family::default();
        let discovered_machines = Family::default();
        registry.register(
            "build",
            "The version that runs",
            Info::new(vec![("version".to_owned(), crate::VERSION.to_owned())]),
        );
        registry.register("leader", "Whether this replica leads: 0 or 1", leader.clone());
        registry.register(
            "lease_transitions",
            "How often this replica began or ceased to lead",
            transitions.clone(),
        );
        registry.register("reconcile", "Reconciles, by controller and result", reconciles.clone());
        registry.register_with_unit(
            "reconcile_duration",
            "How long reconciles take, by controller",
            Unit::Seconds,
            durations.clone(),
        );
        registry.register(
            "reconcile_errors",
            "Failed reconciles, by controller and kind of failure",
            errors.clone(),
        );
        registry.register(
            "kube_api_errors",
            "Requests to the API server that failed, by method and status code (0: no answer)",
            api_errors.clone(),
        );
        registry.register(
            "boot_answers",
            "Answers of the boot server: configuration, medium, script, artifact, loader, agent, phone-home, refused, unavailable",
            boot_answers.clone(),
        );
        registry.register(
            "dhcp_messages",
            "DHCP messages: answered, unknown (no such machine), malformed, not-for-us, failed",
            dhcp_messages.clone(),
        );
        registry.register("tftp_requests", "TFTP requests: sent, refused, given-up", tftp_requests.clone());
        registry.register(
            "discovered_machines",
            "Machines that nobody knew: written (as candidates), again (inspected once more), over-limit, dropped, failed",
            discovered_machines.clone(),
        );
        Self(Arc::new(Inner {
            registry,
            leader,
            transitions,
            reconciles,
            durations,
            errors,
            api_errors,
            boot_answers,
            dhcp_messages,
            tftp_requests,
            discovered_machines,
        }))
    }

    /// The boot server answered.
    pub fn boot_answered(&self, what: Counted) {
        let answer = match what {
            Counted::Configuration => "configuration",
            Counted::Medium => "medium",
            Counted::Script => "script",
            Counted::Artifact => "artifact",
            Counted::Loader => "loader",
            Counted::PhoneHome => "phone-home",
            Counted::Agent => "agent",
            Counted::Refused => "refused",
            Counted::Unavailable => "unavailable",
        };
        self.0.boot_answers.get_or_create(&BootLabels { answer }).inc();
    }

    /// A DHCP message came.
    pub fn dhcp_counted(&self, what: dhcp::Counted) {
        let answer = match what {
            dhcp::Counted::Answered => "answered",
            dhcp::Counted::Unknown => "unknown",
            dhcp::Counted::Malformed => "malformed",
            dhcp::Counted::NotForUs => "not-for-us",
            dhcp::Counted::Failed => "failed",
        };
        self.0.dhcp_messages.get_or_create(&BootLabels { answer }).inc();
    }

    /// A file was asked for by TFTP.
    pub fn tftp_counted(&self, answer: &'static str) {
        self.0.tftp_requests.get_or_create(&BootLabels { answer }).inc();
    }

    /// A machine that nobody knows asked for something to boot.
    pub fn discovered(&self, what: Discovered) {
        let answer = match what {
            Discovered::Written => "written",
            Discovered::Again => "again",
            Discovered::OverLimit => "over-limit",
            Discovered::Dropped => "dropped",
            Discovered::Failed => "failed",
        };
        self.0.discovered_machines.get_or_create(&BootLabels { answer }).inc();
    }

    /// This replica leads now.
    pub fn started_leading(&self) {
        self.0.leader.set(1);
        self.0.transitions.inc();
    }

    /// This replica does not lead any more, if it did.
    pub fn stopped_leading(&self) {
        if self.0.leader.set(0) == 1 {
            self.0.transitions.inc();
        }
    }

    /// A reconcile ended.
    pub fn reconciled(&self, controller: &'static str, took: Duration, failure: Option<&'static str>) {
        let result = match failure {
            Some(category) => {
                self.0.errors.get_or_create(&ErrorLabels { controller, category }).inc();
                Outcome::error
            }
            None => Outcome::success,
        };
        self.0.reconciles.get_or_create(&ReconcileLabels { controller, result }).inc();
        self.0.durations.get_or_create(&ControllerLabels { controller }).observe(took.as_secs_f64());
    }

    /// A request to the API server failed; without a status it was not answered.
    pub fn api_error(&self, method: &http::Method, status: Option<http::StatusCode>) {
        let code = status.map_or_else(|| "0".to_owned(), |status| status.as_str().to_owned());
        self.0.api_errors.get_or_create(&ApiLabels { method: method.as_str().to_owned(), code }).inc();
    }

    /// All of it as OpenMetrics text.
    ///
    /// # Errors
    /// A value can't be written as text.
    pub fn text(&self) -> Result<String, std::fmt::Error> {
        let mut text = String::new();
        text::encode(&mut text, &self.0.registry)?;
        Ok(text)
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_happened_is_in_the_text() {
        let metrics = Metrics::new();
        metrics.started_leading();
        metrics.stopped_leading();
        metrics.stopped_leading();
        metrics.started_leading();
        metrics.reconciled("physicalhost", Duration::from_millis(30), None);
        metrics.reconciled("physicalhost", Duration::from_millis(30), Some("status"));
        metrics.api_error(&http::Method::PATCH, Some(http::StatusCode::CONFLICT));
        metrics.api_error(&http::Method::GET, None);
        let text = metrics.text().unwrap();
        for line in [
            &format!("beskar7_build_info{{version=\"{}\"}} 1", crate::VERSION),
            "beskar7_leader 1",
            "beskar7_lease_transitions_total 3",
            "beskar7_reconcile_total{controller=\"physicalhost\",result=\"success\"} 1",
            "beskar7_reconcile_total{controller=\"physicalhost\",result=\"error\"} 1",
            "beskar7_reconcile_errors_total{controller=\"physicalhost\",category=\"status\"} 1",
            "beskar7_reconcile_duration_seconds_count{controller=\"physicalhost\"} 2",
            "beskar7_kube_api_errors_total{method=\"PATCH\",code=\"409\"} 1",
            "beskar7_kube_api_errors_total{method=\"GET\",code=\"0\"} 1",
            "# EOF",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
        }
    }
}

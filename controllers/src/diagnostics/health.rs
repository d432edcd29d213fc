//! Whether the process lives and may be used: `/healthz`, `/livez` and `/readyz`.
//!
//! Alive means that its loops turn; ready means that the checks at start have passed and, on the replica that
//! leads, that what it watches has been read once. A follower is ready too: it can lead at any moment.

use std::{
    fmt::Write as _,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{Router, extract::State, http::StatusCode, routing::get};

use crate::clock;

/// A loop's sign of life.
#[derive(Debug, Clone)]
pub struct Pulse(Arc<PulseInner>);

#[derive(Debug)]
struct PulseInner {
    name: &'static str,
    limit: Duration,
    last: Mutex<Option<Duration>>,
}

impl Pulse {
    /// For a loop that turns at least once per `limit`, from its first turn on.
    #[must_use]
    pub fn new(name: &'static str, limit: Duration) -> Self {
        Self(Arc::new(PulseInner { name, limit, last: Mutex::new(None) }))
    }

    /// The loop turned.
    pub fn beat(&self) {
        self.set(Some(clock::uptime()));
    }

    /// The loop is over, as it should be.
    pub fn rest(&self) {
        self.set(None);
    }

    fn set(&self, at: Option<Duration>) {
        if let Ok(mut last) = self.0.last.lock() {
            *last = at;
        }
    }

    fn stuck_for(&self, now: Duration) -> Option<Duration> {
        let last = self.0.last.lock().ok().and_then(|last| *last)?;
        let silent = now.saturating_sub(last);
        (silent > self.0.limit).then_some(silent)
    }
}

/// What is known of the process's health; cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Health(Arc<HealthInner>);

#[derive(Debug, Default)]
struct HealthInner {
    pulses: Mutex<Vec<Pulse>>,
    /// What readiness waits for.
    waits: Mutex<Vec<&'static str>>,
}

impl Health {
    /// Watches a loop from now on.
    pub fn watch(&self, pulse: &Pulse) {
        if let Ok(mut pulses) = self.0.pulses.lock() {
            pulses.push(pulse.clone());
        }
    }

    /// Not ready until `what` has [passed](Self::passed).
    pub fn wait_for(&self, what: &'static str) {
        if let Ok(mut waits) = self.0.waits.lock() {
            waits.push(what);
        }
    }

    /// `what` need not be waited for any more.
    pub fn passed(&self, what: &'static str) {
        if let Ok(mut waits) = self.0.waits.lock() {
            waits.retain(|wait| *wait != what);
        }
    }

    fn stuck(&self, now: Duration) -> Result<(), String> {
        let pulses = self.0.pulses.lock().map(|pulses| pulses.clone()).unwrap_or_default();
        let mut report = String::new();
        for pulse in pulses {
            if let Some(silent) = pulse.stuck_for(now) {
                // Writing to a String does not fail.
                let _written = writeln!(report, "{} has not moved for {} s", pulse.0.name, silent.as_secs());
            }
        }
        if report.is_empty() { Ok(()) } else { Err(report) }
    }

    fn waiting(&self) -> Result<(), String> {
        let waits = self.0.waits.lock().map(|waits| waits.clone()).unwrap_or_default();
        if waits.is_empty() { Ok(()) } else { Err(format!("waiting for: {}\n", waits.join(", "))) }
    }

    /// The routes.
    pub fn router(&self) -> Router {
        async fn alive(State(health): State<Health>) -> (StatusCode, String) {
            answer(health.stuck(clock::uptime()))
        }
        async fn ready(State(health): State<Health>) -> (StatusCode, String) {
            answer(health.waiting())
        }
        Router::new()
            .route("/healthz", get(alive))
            .route("/livez", get(alive))
            .route("/readyz", get(ready))
            .with_state(self.clone())
    }
}

fn answer(result: Result<(), String>) -> (StatusCode, String) {
    match result {
        Ok(()) => (StatusCode::OK, "ok\n".to_owned()),
        Err(report) => (StatusCode::SERVICE_UNAVAILABLE, report),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_that_stands_still_is_reported_by_name() {
        let health = Health::default();
        let pulse = Pulse::new("election", Duration::from_secs(10));
        health.watch(&pulse);
        let now = clock::uptime();
        assert_eq!(health.stuck(now + Duration::from_secs(100)), Ok(()), "it has not begun");
        pulse.beat();
        assert_eq!(health.stuck(now), Ok(()));
        let report = health.stuck(now + Duration::from_secs(100)).unwrap_err();
        assert!(report.starts_with("election has not moved for "), "{report}");
        pulse.rest();
        assert_eq!(health.stuck(now + Duration::from_secs(100)), Ok(()), "it has ended");
    }

    #[test]
    fn ready_names_what_it_waits_for() {
        let health = Health::default();
        health.wait_for("checks at start");
        health.wait_for("the PhysicalHost cache");
        health.passed("checks at start");
        assert_eq!(health.waiting(), Err("waiting for: the PhysicalHost cache\n".to_owned()));
        health.passed("the PhysicalHost cache");
        assert_eq!(health.waiting(), Ok(()));
    }
}

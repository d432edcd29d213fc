//! Carries out the election: reads and writes the Lease as [`Candidate`] says, and opens and closes the gate.

use std::{future::Future, time::Duration};

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::{
    decision::{Action, Candidate, Loss, Times},
    gate::Gate,
    lease::{Holding, Register, RegisterError},
};
use crate::{
    causes::causes,
    diagnostics::{Metrics, Pulse},
};

/// How an election ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// Asked to stop; the Lease, if it was held, is free for the next.
    Released,
    /// Asked to stop; the Lease was held and could not be freed. It runs out by itself.
    NotReleased,
    /// Leadership ended against our will.
    Lost(Loss),
}

/// What an elector tells others.
pub struct Reports {
    /// Opened while this replica leads.
    pub gate: Gate,
    /// Whether it leads.
    pub leading: watch::Sender<bool>,
    /// Counts and shows leadership.
    pub metrics: Metrics,
    /// Shows that the loop is alive.
    pub pulse: Pulse,
}

/// A candidate with a register to write to.
pub struct Elector<R> {
    register: R,
    candidate: Candidate,
    times: Times,
    reports: Reports,
    now: fn() -> Duration,
    /// Who held the Lease when it was last logged.
    logged: Option<String>,
}

impl<R: Register> Elector<R> {
    /// A candidate called `me`. `now` is the clock that leadership is measured by.
    pub fn new(me: &str, register: R, times: Times, reports: Reports, now: fn() -> Duration) -> Self {
        let candidate = Candidate::new(me.to_owned(), times);
        Self { register, candidate, times, reports, now, logged: None }
    }

    /// Takes part until `stop`, or until leadership is lost.
    pub async fn run(mut self, stop: CancellationToken) -> Ended {
        loop {
            self.reports.pulse.beat();
            if stop.is_cancelled() {
                return self.release().await;
            }
            let pause = match self.step().await {
                Ok(pause) => pause,
                Err(loss) => return self.lost(loss),
            };
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = stop.cancelled() => {}
            }
        }
    }

    /// One look and at most one write; how long to pause then.
    async fn step(&mut self) -> Result<Duration, Loss> {
        let leading = self.candidate.leads_until().is_some();
        if !leading && let Err(error) = self.look().await {
            tracing::warn!(error = causes(&error), "the Lease can't be read; trying again");
            return Ok(self.jittered());
        }
        let result = match self.candidate.next((self.now)()) {
            Action::Create => self.write(None, 0, true).await,
            Action::Take { version, transitions } => self.write(Some(&version), transitions, true).await,
            Action::Renew { version, transitions } => self.write(Some(&version), transitions, false).await,
            Action::Wait(left) => {
                self.log_holder();
                return Ok(self.jittered().min(left));
            }
            Action::Lost(loss) => return Err(loss),
        };
        match result {
            Ok(()) => {}
            Err(RegisterError::Conflict) => {
                // Somebody wrote since our last look: look again at once, and let the next step decide.
                if let Err(error) = self.look().await {
                    tracing::warn!(error = causes(&error), "the Lease can't be read; trying again");
                }
                return Ok(if leading { Duration::ZERO } else { self.jittered() });
            }
            Err(error @ (RegisterError::Api(_) | RegisterError::NotAnswered(_))) => {
                tracing::warn!(error = causes(&error), leading, "the Lease can't be written; trying again");
            }
        }
        let left = self.candidate.leads_until().map(|until| until.saturating_sub((self.now)()));
        Ok(self.jittered().min(left.unwrap_or(Duration::MAX)))
    }

    async fn look(&mut self) -> Result<(), RegisterError> {
        let read = self.within(self.register.read()).await?;
        self.candidate.saw(read, (self.now)());
        Ok(())
    }

    async fn write(
        &mut self,
        version: Option<&str>,
        transitions: i32,
        acquired: bool,
    ) -> Result<(), RegisterError> {
        let was_leading = self.candidate.leads_until().is_some();
        let started = (self.now)();
        let me = self.candidate.me().to_owned();
        let holding = Holding { holder: Some(&me), transitions, acquired };
        let written = match version {
            Some(version) => self.within(self.register.replace(version, holding)).await?,
            None => self.within(self.register.create(holding)).await?,
        };
        self.candidate.wrote(written, started);
        if let Some(until) = self.candidate.leads_until() {
            self.reports.gate.open_until(until);
        }
        if !was_leading && self.reports.gate.left((self.now)()).is_some() {
            tracing::info!(identity = self.candidate.me(), transitions, "leading");
            self.reports.metrics.started_leading();
            self.reports.leading.send_replace(true);
        }
        Ok(())
    }

    /// No request may outlast half the leader's time: there must be room for a second try.
    async fn within<T>(
        &self,
        request: impl Future<Output = Result<T, RegisterError>>,
    ) -> Result<T, RegisterError> {
        let left = self.candidate.leads_until().map(|until| until.saturating_sub((self.now)()));
        let limit = (self.times.renew_deadline / 2).min(left.unwrap_or(Duration::MAX));
        tokio::time::timeout(limit, request).await.unwrap_or(Err(RegisterError::NotAnswered(limit)))
    }

    fn lost(&mut self, loss: Loss) -> Ended {
        self.step_down();
        tracing::error!(reason = %loss, "leadership lost");
        Ended::Lost(loss)
    }

    fn step_down(&mut self) {
        self.reports.gate.close();
        self.candidate.step_down();
        self.reports.metrics.stopped_leading();
        self.reports.leading.send_replace(false);
    }

    /// Frees the Lease, so that the next replica need not wait until it runs out.
    async fn release(&mut self) -> Ended {
        let next = self.candidate.next((self.now)());
        let leading = self.candidate.leads_until().is_some();
        self.step_down();
        let Action::Renew { version, transitions } = next else {
            return if leading { Ended::NotReleased } else { Ended::Released };
        };
        let holding = Holding { holder: None, transitions, acquired: false };
        match self.within(self.register.replace(&version, holding)).await {
            Ok(_) => {
                tracing::info!("the Lease is released");
                Ended::Released
            }
            Err(error) => {
                tracing::warn!(error = causes(&error), "the Lease can't be released; it runs out by itself");
                Ended::NotReleased
            }
        }
    }

    fn log_holder(&mut self) {
        let holder = self.candidate.holder().map(ToOwned::to_owned);
        if holder.is_some() && holder != self.logged {
            tracing::info!(holder = holder.as_deref(), identity = self.candidate.me(), "following");
            self.logged = holder;
        }
    }

    /// The retry period, a little shorter by chance, so that replicas do not fall into step.
    fn jittered(&self) -> Duration {
        self.times.retry.mul_f64(0.8 + 0.2 * fastrand::f64())
    }
}

#[cfg(test)]
#[path = "elector_tests.rs"]
mod tests;

//! What follows from what the agent reports.

use beskar7_agent_protocol::report::{Outcome, Report, State};
use beskar7_api::PhysicalHost;
use jiff::Timestamp;

use super::{
    orders::{install_id, restart_id},
    said::Said,
};
use crate::{
    delivery::{booting, claim_of},
    host::{
        heard::{Heard as Words, Word},
        hold::{Booting, Progress},
    },
};

/// What follows from a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    /// It goes on with what it was told.
    Goes(Said),
    /// The image is on its disk.
    Installed(Said),
    /// It could not do what it was told.
    Failed(Said),
    /// It goes down, to start from its disk.
    GoesDown,
    /// It says nothing new: what it is about is over, and went well.
    Late,
    /// Nothing can be written down now: its host is paused. What matters is to be said again.
    NotNow,
    /// What it is about is not wanted any more.
    NotWanted,
    /// It does not answer what it was told.
    Nonsense,
}

/// What follows from what the agent on the machine of a host reports under this claim.
#[must_use]
pub fn hear(host: &PhysicalHost, claim: &str, report: &Report, now: Timestamp) -> Heard {
    let Some(booting) = armed(host, claim) else { return Heard::NotWanted };
    let heard = if report.order == install_id(&booting) {
        of_installation(host, &booting, report, now)
    } else if report.order == restart_id(&booting) {
        match &report.state {
            State::Done(Outcome::GoingDown) => Heard::GoesDown,
            State::Running(_) => Heard::Late,
            State::Done(Outcome::Inspected(_) | Outcome::Cleaned(_) | Outcome::Installed(_))
            | State::Failed(_) => Heard::Nonsense,
        }
    } else {
        Heard::NotWanted
    };
    // A paused host is left as it is, and its machine with it.
    match (self::booting(host, claim).is_none(), heard) {
        (true, Heard::Goes(_)) => Heard::Late,
        (true, Heard::Installed(_) | Heard::Failed(_) | Heard::GoesDown) => Heard::NotNow,
        (_, heard) => heard,
    }
}

fn of_installation(host: &PhysicalHost, booting: &Booting, report: &Report, now: Timestamp) -> Heard {
    let is_over = Words::of(host, &booting.claim).has(Word::Installed);
    match &report.state {
        State::Done(Outcome::Installed(installed)) => {
            Heard::Installed(Said::installed(booting, installed, now))
        }
        State::Running(_) | State::Failed(_) if is_over => Heard::Late,
        State::Running(progress) => Heard::Goes(Said::running(booting, progress, now)),
        State::Failed(failure) => Heard::Failed(Said::failed(booting, failure, now)),
        State::Done(Outcome::Inspected(_) | Outcome::Cleaned(_) | Outcome::GoingDown) => Heard::Nonsense,
    }
}

/// The mark of a machine that was turned on for this claim, whether its host is paused or not.
fn armed(host: &PhysicalHost, claim: &str) -> Option<Booting> {
    let installs = host.spec.boot.as_ref().is_some_and(|boot| boot.install.is_some());
    if !installs || claim_of(host) != Some(claim) {
        return None;
    }
    match Progress::of(host, claim) {
        Progress::Booting(booting) => Some(booting),
        Progress::NotBegun | Progress::Seen => None,
    }
}

#[cfg(test)]
#[path = "reports_tests.rs"]
mod tests;

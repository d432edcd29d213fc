//! What follows from what the agent reports.

use beskar7_agent_protocol::{
    hardware::Inventory,
    report::{Cleaned, Outcome, Report, State},
};
use beskar7_api::{HostBootConfiguration, PhysicalHost, hardware::Hardware};
use jiff::Timestamp;

use super::{
    assignment::{Assignment, Work},
    identity::Stranger,
    orders::{NotReady, is_enough, is_to_be_verified},
    said::Said,
    unseen::unseen,
};
use crate::host::{
    cleaning::demand_with_agent,
    errand::is_inspected,
    heard::{Heard as Words, Word},
};

/// What follows from a report.
#[derive(Debug, Clone, PartialEq)]
pub enum Heard {
    /// It goes on with what it was told.
    Goes(Said),
    /// The image is on its disk.
    Installed(Said),
    /// The machine is made of this.
    Inspected(Box<Inventory>),
    /// The disks are clean of this claim.
    Cleaned {
        /// The claim.
        claim: String,
        /// What became of the disks.
        cleaned: Cleaned,
    },
    /// It could not do what it was told.
    Failed(Said),
    /// It goes down, to start from its disk.
    GoesDown,
    /// It says nothing new: what it is about is over, and went well.
    Late,
    /// Nothing can be written down now: its host is paused, or what it was told is not known here. What matters is to be
    /// said again.
    NotNow,
    /// What it is about is not wanted any more.
    NotWanted,
    /// It does not answer what it was told.
    Nonsense,
}

/// What is known beside a report.
#[derive(Debug, Clone, Copy, Default)]
pub struct Known<'a> {
    /// What the order was made of.
    pub configuration: Option<&'a HostBootConfiguration>,
    /// What an agent saw of the machine before.
    pub inspected: Option<&'a Hardware>,
}

/// What follows from what the agent on the machine of a host reports under this claim, or on this errand.
#[must_use]
pub fn hear(host: &PhysicalHost, id: &str, report: &Report, known: Known<'_>, now: Timestamp) -> Heard {
    let Some(assignment) = Assignment::standing(host, id) else { return Heard::NotWanted };
    let is_of_work = report.order == assignment.order();
    let heard = match Stranger::of(host, report) {
        _ if !is_of_work && report.order != assignment.farewell() => Heard::NotWanted,
        Some(stranger) if is_of_work => of_stranger(host, &assignment, &stranger, report, now),
        // It goes down, whatever it was told.
        Some(_) => Heard::Late,
        None if is_of_work => of_work(host, &assignment, report, known, now),
        None => of_farewell(&assignment, report),
    };
    // A paused host is left as it is, and its machine with it.
    match (Assignment::of(host, id).is_none(), heard) {
        (true, Heard::Goes(_)) => Heard::Late,
        (
            true,
            Heard::Installed(_)
            | Heard::Inspected(_)
            | Heard::Cleaned { .. }
            | Heard::Failed(_)
            | Heard::GoesDown,
        ) => Heard::NotNow,
        (_, heard) => heard,
    }
}

fn of_work(
    host: &PhysicalHost,
    assignment: &Assignment,
    report: &Report,
    known: Known<'_>,
    now: Timestamp,
) -> Heard {
    match (&report.state, assignment.work) {
        (State::Running(_) | State::Failed(_), _) if is_over(host, assignment) => Heard::Late,
        (State::Running(progress), _) => {
            let before = Said::of(host, assignment);
            Heard::Goes(Said::running(assignment, progress, before.as_ref(), now))
        }
        (State::Failed(failure), _) => Heard::Failed(Said::failed(assignment, failure, now)),
        (State::Done(Outcome::Installed(installed)), Work::Install) => {
            let counts = match is_to_be_verified(host, known.configuration) {
                _ if installed.verified => Ok(true),
                is_to_be => is_to_be.map(|is_to_be| !is_to_be),
            };
            match counts {
                Ok(true) => Heard::Installed(Said::installed(assignment, installed, now)),
                // It was told to compare the image.
                Ok(false) => Heard::Nonsense,
                Err(NotReady) => Heard::NotNow,
            }
        }
        (State::Done(Outcome::Inspected(_)), Work::Inspect) if is_inspected(host) => Heard::Late,
        (State::Done(Outcome::Inspected(inventory)), Work::Inspect) => Heard::Inspected(inventory.clone()),
        (State::Done(Outcome::Cleaned(cleaned)), Work::Clean(how)) => match demand_with_agent(host) {
            Some(demand) if is_enough(host, how) => match unseen(host, (cleaned, &demand), known.inspected) {
                Some(failure) => Heard::Failed(Said::failed(assignment, &failure, now)),
                None => Heard::Cleaned { claim: demand.claim, cleaned: cleaned.clone() },
            },
            Some(_) => Heard::NotWanted,
            None => Heard::Late,
        },
        (
            State::Done(
                Outcome::Installed(_) | Outcome::Inspected(_) | Outcome::Cleaned(_) | Outcome::GoingDown,
            ),
            Work::Install | Work::Inspect | Work::Clean(_),
        ) => Heard::Nonsense,
    }
}

/// What another machine came to counts for nothing, but that it is another one.
fn of_stranger(
    host: &PhysicalHost,
    assignment: &Assignment,
    stranger: &Stranger,
    report: &Report,
    now: Timestamp,
) -> Heard {
    match &report.state {
        State::Running(_) => Heard::NotWanted,
        State::Done(_) | State::Failed(_) if is_over(host, assignment) => Heard::Late,
        State::Done(_) | State::Failed(_) => {
            let said = Said::of_another(assignment, stranger, now);
            if is_written(host, assignment, &said) { Heard::Late } else { Heard::Failed(said) }
        }
    }
}

/// Whether it is written down that this other machine came: in the same words, which name both UUIDs.
fn is_written(host: &PhysicalHost, assignment: &Assignment, said: &Said) -> bool {
    Said::of(host, assignment)
        .is_some_and(|before| before.is_of_another_machine() && before.to_string() == said.to_string())
}

fn is_over(host: &PhysicalHost, assignment: &Assignment) -> bool {
    if Said::of(host, assignment).is_some_and(|said| said.gave_up()) {
        return true;
    }
    match assignment.work {
        Work::Install => Words::of(host, &assignment.booting.claim).has(Word::Installed),
        // What it came to ends the errand.
        Work::Inspect | Work::Clean(_) => false,
    }
}

fn of_farewell(assignment: &Assignment, report: &Report) -> Heard {
    match (&report.state, assignment.work) {
        (State::Done(Outcome::GoingDown), Work::Install) => Heard::GoesDown,
        (State::Done(Outcome::GoingDown), Work::Inspect | Work::Clean(_)) | (State::Running(_), _) => {
            Heard::Late
        }
        (State::Done(Outcome::Inspected(_) | Outcome::Cleaned(_) | Outcome::Installed(_)), _)
        | (State::Failed(_), _) => Heard::Nonsense,
    }
}

#[cfg(test)]
#[path = "reports_tests.rs"]
mod tests;

//! What follows from what the agent reports.

use beskar7_agent_protocol::{
    hardware::Inventory,
    report::{CleanedDisk, Failure, Outcome, Report, State},
};
use beskar7_api::PhysicalHost;
use jiff::Timestamp;

use super::{
    assignment::{Assignment, Work},
    orders::is_enough,
    said::{Said, Stage},
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
        /// What became of each disk.
        disks: Vec<CleanedDisk>,
    },
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

/// What follows from what the agent on the machine of a host reports under this claim, or on this errand.
#[must_use]
pub fn hear(host: &PhysicalHost, id: &str, report: &Report, now: Timestamp) -> Heard {
    let Some(assignment) = Assignment::standing(host, id) else { return Heard::NotWanted };
    let heard = if report.order == assignment.order() {
        of_work(host, &assignment, report, now)
    } else if report.order == assignment.farewell() {
        of_farewell(&assignment, report)
    } else {
        Heard::NotWanted
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

fn of_work(host: &PhysicalHost, assignment: &Assignment, report: &Report, now: Timestamp) -> Heard {
    match (&report.state, assignment.work) {
        (State::Running(_) | State::Failed(_), _) if is_over(host, assignment) => Heard::Late,
        (State::Running(progress), _) => Heard::Goes(Said::running(assignment, progress, now)),
        (State::Failed(failure), _) => Heard::Failed(Said::failed(assignment, failure, now)),
        (State::Done(Outcome::Installed(installed)), Work::Install) => {
            Heard::Installed(Said::installed(assignment, installed, now))
        }
        (State::Done(Outcome::Inspected(_)), Work::Inspect) if is_inspected(host) => Heard::Late,
        (State::Done(Outcome::Inspected(inventory)), Work::Inspect) => Heard::Inspected(inventory.clone()),
        (State::Done(Outcome::Cleaned(disks)), Work::Clean(how)) => match demand_with_agent(host) {
            Some(_) if is_enough(host, how) && disks.is_empty() && known_disks(host) > 0 => {
                Heard::Failed(Said::failed(assignment, &nothing_found(host), now))
            }
            Some(demand) if is_enough(host, how) => {
                Heard::Cleaned { claim: demand.claim, disks: disks.clone() }
            }
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

/// What was not seen was not wiped: a controller without a driver hides its disks, and nobody knows what is on them.
fn nothing_found(host: &PhysicalHost) -> Failure {
    let message = format!(
        "no disk was found, and {} are known of this machine: the agent's ramdisk may lack the driver of their controller",
        known_disks(host)
    );
    Failure { step: "wiping".to_owned(), disk: None, message }
}

fn known_disks(host: &PhysicalHost) -> usize {
    let details = host.status.as_ref().and_then(|status| status.hardware_details.as_ref());
    details.map_or(0, |details| details.hardware.storage.len())
}

fn is_over(host: &PhysicalHost, assignment: &Assignment) -> bool {
    if Said::of(host, assignment).is_some_and(|said| said.stage() == Stage::Failed) {
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

//! A machine that the agent installs: what its silence, its words and its power mean.
//!
//! **What is half written is never started.** Until the agent has said that its image is on the disk, a machine that is
//! found off is begun anew, with the agent; after that it is only turned on.

use std::time::Duration;

use beskar7_api::{PhysicalHost, conditions::host as reasons, physical_host::PowerState};
use jiff::Timestamp;

use super::{
    awaiting::{MOST_TRIES, has_passed, lost_too_often},
    contact::Trouble,
    heard::{Heard, Word},
    hold::{Booting, Evidence},
    plan::{Means, Plan, Seen, Sight},
    wanted::begin,
};
use crate::{
    agent::{Assignment, Said, Stage, Work},
    delivery::way,
};

/// An agent that says nothing for so long is not waited for any more: it reports while it works.
const SILENT: Duration = Duration::from_secs(300);
/// For so long an agent that was told to start its machine anew may ask once more, or say once more that it does: an answer
/// may be lost, and once the boot counts as seen it is told nothing any more.
const FAREWELL: Duration = Duration::from_secs(30);

/// What follows for a machine that was turned on to be installed.
pub(super) fn await_installation(
    host: &PhysicalHost,
    booting: Booting,
    seen: Seen,
    now: Timestamp,
    means: Means,
) -> Plan {
    let heard = Heard::of(host, &booting.claim);
    let assignment = Assignment { work: Work::Install, booting };
    let said = Said::of(host, &assignment);
    let booting = &assignment.booting;
    let is_installed = heard.has(Word::Installed);
    match seen.power {
        PowerState::Off if host.spec.online == Some(false) => Plan::WaitForConsumer,
        PowerState::Off if is_installed && is_in_the_way(&heard, seen, now, means) => Plan::TakeOut,
        PowerState::Off if is_installed => Plan::TurnOn,
        PowerState::Off => begin_anew(host, booting, said.as_ref(), means),
        PowerState::On => {
            let spoke = [(Word::Home, Evidence::Home), (Word::Node, Evidence::Node)];
            if let Some((_, evidence)) = spoke.into_iter().find(|(word, _)| heard.has(*word)) {
                return Plan::WriteSeen(Sight::By(evidence));
            }
            if is_installed && is_in_the_way(&heard, seen, now, means) {
                return Plan::TakeOut;
            }
            if is_installed {
                return await_start(host, &heard, now, means);
            }
            if said.is_none() && !booting.is_over(now, means.patience) && seen.medium == Some(false) {
                return put_back(host, booting, means);
            }
            if !booting.on && !has_ended(said.as_ref(), now) {
                return Plan::NoteOn(assignment.booting.seen_on());
            }
            await_agent(&assignment, said.as_ref(), now, means.patience)
        }
        PowerState::PoweringOn | PowerState::PoweringOff | PowerState::Paused | PowerState::Unknown => {
            Plan::AwaitBoot
        }
    }
}

/// It is off, and not installed. Where it ran before, that is not tried for ever.
fn begin_anew(host: &PhysicalHost, booting: &Booting, said: Option<&Said>, means: Means) -> Plan {
    if booting.tries < MOST_TRIES || !(booting.on || said.is_some()) {
        return begin(host, means.delivery);
    }
    refuse(
        reasons::INSTALLATION_INTERRUPTED,
        format!(
            "The machine was off before its image was installed, {} times: look at its power and its console, or delete the machine or the claim that holds the host, so that another host is taken{}",
            booting.tries,
            last_word(said)
        ),
        false,
    )
}

/// What the agent said last, behind a sentence. Of an arming before the last, nothing is known any more.
pub(super) fn last_word(said: Option<&Said>) -> String {
    said.map(|said| format!(". Its last word: {said}")).unwrap_or_default()
}

/// Its image is on its disk.
fn await_start(host: &PhysicalHost, heard: &Heard, now: Timestamp, means: Means) -> Plan {
    let Some(restarting) = heard.since(Word::Restarting) else {
        let installed = heard.since(Word::Installed);
        if installed.is_some_and(|installed| has_passed(installed, now, SILENT)) {
            return refuse(
                reasons::AGENT_SILENT,
                "The agent has installed the image, and was not heard again: it did not ask what to do next. Turn the machine off by its BMC; it is then turned on, and starts from its disk".to_owned(),
                true,
            );
        }
        return Plan::AwaitBoot;
    };
    // Who is given a configuration calls home by it, or becomes a node: that is better than what the agent says.
    let may_call = host.spec.boot.as_ref().and_then(way).is_some();
    let waits = if may_call { means.patience } else { FAREWELL };
    if !has_passed(restarting, now, waits) {
        return Plan::AwaitBoot;
    }
    Plan::WriteSeen(Sight::By(Evidence::Installed))
}

/// Whether the medium that the agent came on is still in its drive, though its work is done: firmware that begins with
/// drives would start the agent again, and not what it installed. A BMC that does not let it go does not hold the machine
/// for ever.
fn is_in_the_way(heard: &Heard, seen: Seen, now: Timestamp, means: Means) -> bool {
    let is_tried = heard.since(Word::Installed).is_some_and(|at| !has_passed(at, now, means.patience));
    seen.medium == Some(true) && is_tried
}

/// The BMC has lost the medium that the agent is on.
fn put_back(host: &PhysicalHost, booting: &Booting, means: Means) -> Plan {
    if booting.tries < MOST_TRIES { begin(host, means.delivery) } else { lost_too_often(booting) }
}

/// Whether nothing more is to be expected of an agent that spoke.
fn has_ended(said: Option<&Said>, now: Timestamp) -> bool {
    said.is_some_and(|said| said.stage() == Stage::Failed || said.is_older_than(SILENT, now))
}

/// The agent runs, or is to.
pub(super) fn await_agent(
    assignment: &Assignment,
    said: Option<&Said>,
    now: Timestamp,
    patience: Duration,
) -> Plan {
    let Assignment { work, booting } = assignment;
    match said {
        Some(said) if said.stage() == Stage::Failed => refuse(
            work.failure(),
            format!(
                "The agent could not {}: {said}. Once that is put right, turn the machine off by its BMC, and it is begun anew. {}",
                work.failed_to(),
                work.otherwise()
            ),
            false,
        ),
        Some(said) if said.is_older_than(SILENT, now) => refuse(
            reasons::AGENT_SILENT,
            format!(
                "The agent was not heard for more than {} minutes. Its last word: {said}. Look at the machine's console and network; turned off by its BMC, it is begun anew{}",
                SILENT.as_secs() / 60,
                work.instead()
            ),
            true,
        ),
        Some(said) => match said.stuck_since(*work, now) {
            Some(since) => refuse(
                reasons::AGENT_STUCK,
                format!(
                    "The agent is heard, and has come no further since {since}: {said}. What it works on may hang, a disk or where the image comes from: look at the machine's console. Once that is put right, turn the machine off by its BMC, and it is begun anew. {}",
                    work.otherwise()
                ),
                true,
            ),
            None => Plan::AwaitBoot,
        },
        None if booting.is_over(now, patience) => refuse(
            reasons::AGENT_NOT_HEARD,
            format!(
                "The machine was turned on, and its agent has not asked what to do. Look at its console: whether it starts the agent, and whether its network reaches the boot server at --boot-url. {}",
                work.anew()
            ),
            true,
        ),
        None => Plan::AwaitBoot,
    }
}

fn refuse(reason: &'static str, message: String, passes: bool) -> Plan {
    Plan::Refuse(Trouble { reason, message, passes })
}

#[cfg(test)]
#[path = "installing_tests.rs"]
mod tests;

//! What the agent is started for on a machine that nobody uses: to look at it before its host can be claimed, and to wipe
//! its disks before others get it.
//!
//! An errand stands on the host, in one annotation: `<what> <id>`, and behind it when its machine was turned on for it. It
//! is written before anything is done. Its id is random, and the agent's capability follows from it: who had the machine
//! before can't speak for the agent that cleans it. What an errand came to is a mark of its own (`…/inspected`,
//! `…/cleaned`), written by the replica that heard it.

use std::fmt;

use beskar7_agent_protocol::order::Thoroughness;
use beskar7_api::{
    PhysicalHost, annotations,
    boot::{AgentTask, BootMethod},
    conditions::host as reasons,
    physical_host::{HostBoot, PowerState},
};
use jiff::Timestamp;

use super::{
    awaiting::MOST_TRIES,
    boot_parameters::parameters,
    cleaning::{Demand, demand},
    contact::Trouble,
    hold::{Booting, Hold, annotation, is_released},
    installing::{await_agent, last_word},
    left_alone,
    plan::{Means, Plan, Seen, Switch},
    trouble,
    wanted::Wanted,
};
use crate::{
    agent::{Assignment, Said, Stage, Work},
    delivery::{AgentBoot, Delivery},
    disk_image::{NEEDS_AGENT, agent_url},
};

/// What the agent is started for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// To say what the machine is made of.
    Inspect,
    /// To wipe its disks, this thoroughly.
    Clean(Thoroughness),
}

impl Purpose {
    const ALL: [Self; 3] =
        [Self::Inspect, Self::Clean(Thoroughness::Metadata), Self::Clean(Thoroughness::Full)];

    const fn word(self) -> &'static str {
        match self {
            Self::Inspect => "inspect",
            Self::Clean(Thoroughness::Metadata) => "clean-metadata",
            Self::Clean(Thoroughness::Full) => "clean-full",
        }
    }

    /// As the agent is told.
    #[must_use]
    pub const fn work(self) -> Work {
        match self {
            Self::Inspect => Work::Inspect,
            Self::Clean(how) => Work::Clean(how),
        }
    }

    /// As it stands in what its host boots.
    #[must_use]
    pub const fn task(self) -> AgentTask {
        match self {
            Self::Inspect => AgentTask::Inspect,
            Self::Clean(_) => AgentTask::Clean,
        }
    }
}

/// An errand on a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Errand {
    /// What for.
    pub purpose: Purpose,
    /// What its capabilities follow from.
    pub id: String,
    /// That the machine was turned on for it.
    pub armed: Option<Booting>,
}

impl Errand {
    /// A new one.
    #[must_use]
    pub fn new(purpose: Purpose, chance: u128) -> Self {
        Self { purpose, id: format!("{chance:032x}"), armed: None }
    }

    /// The same, for a machine that is off and is turned on for it next.
    #[must_use]
    pub fn sent(&self, now: Timestamp) -> Self {
        let tries = self.armed.as_ref().map_or(0, |before| before.tries).saturating_add(1);
        let armed = Booting { claim: self.id.clone(), since: now, on: false, tries, evidence: Vec::new() };
        Self { armed: Some(armed), ..self.clone() }
    }

    /// The same, now that the machine was seen to have power.
    #[must_use]
    pub fn seen_on(&self) -> Self {
        Self { armed: self.armed.clone().map(Booting::seen_on), ..self.clone() }
    }

    /// The errand that a host is on now. What stands there of a host that somebody holds, or that is paused, says nothing.
    #[must_use]
    pub fn of(host: &PhysicalHost) -> Option<Self> {
        Self::standing(host).filter(|_| Hold::of(host) != Hold::OnHold)
    }

    /// The same, also while the host is paused: a pause takes nothing from what runs.
    #[must_use]
    pub fn standing(host: &PhysicalHost) -> Option<Self> {
        // What people run there is theirs, whatever was begun before they said so.
        if host.spec.externally_provisioned {
            return None;
        }
        let errand = Self::parse(annotation(host, annotations::ERRAND)?)?;
        let fits = match (Hold::of(host), errand.purpose) {
            (Hold::Free, Purpose::Inspect) | (Hold::Leaving, Purpose::Clean(_)) => true,
            (Hold::OnHold, Purpose::Inspect) => host.spec.consumer_ref.is_none() && !left_alone(host),
            (Hold::OnHold, Purpose::Clean(_)) => is_released(host) && !left_alone(host),
            (Hold::Free | Hold::Leaving | Hold::Held { .. } | Hold::Kept(_) | Hold::Cleaned, _) => false,
        };
        fits.then_some(errand)
    }

    /// The id of the errand that a host is on, paused or not.
    #[must_use]
    pub fn id_of(host: &PhysicalHost) -> Option<&str> {
        Self::standing(host)?;
        annotation(host, annotations::ERRAND)?.split_whitespace().nth(1)
    }

    /// Reads the annotation; what is not one of ours is none.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (word, rest) = text.trim().split_once(char::is_whitespace)?;
        let purpose = Purpose::ALL.into_iter().find(|purpose| purpose.word() == word)?;
        let id = rest.split_whitespace().next()?.to_owned();
        let is_called = rest.split_whitespace().nth(1).is_none();
        let armed = Booting::parse(rest);
        (is_called || armed.is_some()).then_some(Self { purpose, id, armed })
    }

    /// Whether it is what is wanted of a host that is to be clean of the claim in `demand`.
    fn suffices(&self, demand: &Demand) -> bool {
        self.purpose == Purpose::Clean(demand.how)
    }

    /// What its host boots for it.
    #[must_use]
    pub fn boot(&self, agent: AgentBoot) -> Option<HostBoot> {
        let method = match agent {
            AgentBoot::VirtualMedia => BootMethod::VirtualMedia,
            AgentBoot::Network => BootMethod::Ipxe,
            AgentBoot::None => return None,
        };
        Some(HostBoot { method, kernel_args: vec![agent_url()], ..HostBoot::default() })
    }
}

impl fmt::Display for Errand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.armed {
            Some(armed) => write!(f, "{} {armed}", self.purpose.word()),
            None => write!(f, "{} {}", self.purpose.word(), self.id),
        }
    }
}

/// Whether a host is to be inspected before it can be claimed. `always` is what counts where it says nothing of that.
#[must_use]
pub fn wants_inspection(host: &PhysicalHost, always: bool) -> bool {
    let asked = host.spec.inspect.unwrap_or(always);
    asked && !host.spec.externally_provisioned && annotation(host, annotations::INSPECTED).is_none()
}

/// Whether the errand of a host has come to its end, and only that is left to be cleared up.
#[must_use]
pub fn is_inspected(host: &PhysicalHost) -> bool {
    Errand::of(host).is_some_and(|errand| errand.purpose == Purpose::Inspect)
        && annotation(host, annotations::INSPECTED).is_some()
}

/// Whether the disks of a host are being wiped, and nothing is wrong with that: every block of a large one takes hours.
#[must_use]
pub fn is_being_wiped(host: &PhysicalHost) -> bool {
    let wipes = |errand: Errand| errand.armed.is_some() && errand.purpose != Purpose::Inspect;
    Errand::of(host).is_some_and(wipes) && trouble(host).is_none()
}

/// What follows for a host that nobody holds and that is not being deleted.
pub(super) fn before_it_is_free(host: &PhysicalHost, seen: Seen, now: Timestamp, means: Means) -> Plan {
    let is_cordoned = host.spec.cordoned.is_some();
    match (Errand::of(host), wants_inspection(host, means.inspect)) {
        (None, false) => Plan::Watch,
        (Some(_), false) => Plan::EndErrand,
        (None, true) if is_cordoned => Plan::Watch,
        (None, true) => call(Purpose::Inspect, means.delivery),
        (Some(errand), true) if is_cordoned && errand.armed.is_none() => Plan::Watch,
        (Some(errand), true) => run(host, &errand, seen, now, means),
    }
}

/// What follows for a host that nobody holds any more.
pub(super) fn before_it_is_given_back(host: &PhysicalHost, seen: Seen, now: Timestamp, means: Means) -> Plan {
    let is_deleted = host.metadata.deletion_timestamp.is_some() && is_released(host);
    match (Errand::of(host), demand(host, means.delivery)) {
        (Some(_), Some(_)) if is_deleted => Plan::Deprovision,
        (Some(errand), Some(demand)) if errand.suffices(&demand) => run(host, &errand, seen, now, means),
        // More is wanted by now, or less: what was begun has wiped where partitions begin and end before anything else.
        (Some(_), Some(demand)) => call(Purpose::Clean(demand.how), means.delivery),
        (Some(_), None) | (None, Some(_) | None) => Plan::Deprovision,
    }
}

/// What follows for a host that is off and empty, and whose disks are to be cleaned.
pub(super) fn clean(host: &PhysicalHost, delivery: Delivery) -> Plan {
    match demand(host, delivery) {
        Some(demand) => call(Purpose::Clean(demand.how), delivery),
        None => Plan::Deprovision,
    }
}

fn call(purpose: Purpose, delivery: Delivery) -> Plan {
    match delivery.agent() {
        AgentBoot::None => no_agent(),
        AgentBoot::VirtualMedia | AgentBoot::Network => Plan::CallAgent(purpose),
    }
}

fn no_agent() -> Plan {
    let message = format!("The machine is to be started with the agent. {NEEDS_AGENT}");
    refuse(reasons::AGENT_NOT_AVAILABLE, message, false)
}

fn run(host: &PhysicalHost, errand: &Errand, seen: Seen, now: Timestamp, means: Means) -> Plan {
    let Some(booting) = errand.armed.clone() else { return send(host, errand, means.delivery) };
    let assignment = Assignment { work: errand.purpose.work(), booting };
    let said = Said::of(host, &assignment);
    let (tries, is_over) = (assignment.booting.tries, assignment.booting.is_over(now, means.patience));
    let has_failed = said.as_ref().is_some_and(|said| said.stage() == Stage::Failed);
    let another_came = said.as_ref().filter(|said| said.is_of_another_machine());
    // Power that does not come is the BMC's matter, and tried for as long as it takes.
    let has_run = assignment.booting.on || said.is_some();
    match (seen.power, another_came) {
        (PowerState::Off, Some(another)) => sent_away(&assignment, another),
        // It did not start the agent: what it runs is what is on its disks.
        (PowerState::On, Some(_)) => Plan::Power(Switch::Off),
        // Who has put it right turned it off: what was tried before does not count.
        (PowerState::Off, None) if has_failed => {
            send(host, &Errand { armed: None, ..errand.clone() }, means.delivery)
        }
        (PowerState::Off, None) if tries >= MOST_TRIES && has_run && said.is_none() && is_over => {
            left_off(&assignment)
        }
        (PowerState::Off, None) if tries >= MOST_TRIES && has_run => interrupted(&assignment, said.as_ref()),
        (PowerState::Off, None) => send(host, errand, means.delivery),
        // It never asked what to do: nothing is interrupted.
        (PowerState::On, None) if said.is_none() && is_over && tries < MOST_TRIES => {
            send(host, errand, means.delivery)
        }
        (PowerState::On, None) if !assignment.booting.on => Plan::NoteSent(errand.seen_on()),
        // Not left running: that may be the system of who had it before, with what it knows of its cluster.
        (PowerState::On, None) if said.is_none() && is_over => Plan::Power(Switch::Off),
        (PowerState::On, None) => await_agent(&assignment, said.as_ref(), now, means.patience),
        (PowerState::PoweringOn | PowerState::PoweringOff | PowerState::Paused | PowerState::Unknown, _) => {
            Plan::AwaitBoot
        }
    }
}

/// Has the machine started with the agent.
fn send(host: &PhysicalHost, errand: &Errand, delivery: Delivery) -> Plan {
    let Some(boot) = errand.boot(delivery.agent()) else { return no_agent() };
    match parameters(host, &boot, boot.method, delivery) {
        Ok(parameters) => {
            let (method, mode) = (boot.method, boot.boot_mode);
            let wanted =
                Wanted { image: None, method, mode, parameters, configuration: None, starts_agent: true };
            Plan::SendAgent(errand.clone(), wanted)
        }
        Err(trouble) => Plan::Refuse(trouble),
    }
}

/// It never started the agent, and was turned off.
fn left_off(assignment: &Assignment) -> Plan {
    refuse(
        reasons::AGENT_NOT_HEARD,
        format!(
            "The machine was turned on, {} times, and its agent has never asked what to do. It is kept off: what it started \
             may be what is on its disks. See whether its BMC starts it with the agent, and whether its network reaches the \
             boot server at --boot-url. {}. {}",
            assignment.booting.tries,
            assignment.work.anew(),
            assignment.work.otherwise()
        ),
        false,
    )
}

/// Another machine started the agent in its place.
fn sent_away(assignment: &Assignment, said: &Said) -> Plan {
    refuse(
        assignment.work.failure(),
        format!(
            "The agent could not {}: {said}. The host's own machine is kept off. {}. {}",
            assignment.work.failed_to(),
            assignment.work.anew(),
            assignment.work.otherwise()
        ),
        false,
    )
}

fn interrupted(assignment: &Assignment, said: Option<&Said>) -> Plan {
    refuse(
        reasons::AGENT_INTERRUPTED,
        format!(
            "The machine went off, {} times, before the agent was done {}: look at its power and its console. {}. {}{}",
            assignment.booting.tries,
            assignment.work.doing(),
            assignment.work.anew(),
            assignment.work.otherwise(),
            last_word(said)
        ),
        false,
    )
}

fn refuse(reason: &'static str, message: String, passes: bool) -> Plan {
    Plan::Refuse(Trouble { reason, message, passes })
}

#[cfg(test)]
#[path = "errand_tests.rs"]
mod tests;

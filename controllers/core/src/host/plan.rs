//! What is to be done with a machine next.
//!
//! Every plan can be begun again from its start: what is done already is seen to be done. The order of steps is what
//! makes a crash between any two of them harmless.

use std::time::Duration;

use beskar7_api::{PhysicalHost, annotations, conditions::host as reasons, physical_host::PowerState};
use jiff::Timestamp;

use super::{
    awaiting::{await_boot, has_passed},
    contact::Trouble,
    discovery::is_identified,
    errand::{Errand, Purpose, before_it_is_free, before_it_is_given_back},
    hold::{Booting, Evidence, Hold, Progress, annotation, is_released},
    restart::{Restart, pending},
    wanted::{Wanted, begin},
};
use crate::{conditions::get, delivery::Delivery};

/// What the BMC shows of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// Power.
    pub power: PowerState,
    /// Whether a one-time override waits to be used; nothing where the BMC does not say.
    pub armed: Option<bool>,
    /// How far the boot has come; nothing where the BMC does not say.
    pub boot: Option<Boot>,
    /// Whether an image is in a drive; nothing where nobody looked.
    pub medium: Option<bool>,
}

/// How far a boot has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Boot {
    /// Nothing since the last reset.
    NotBegun,
    /// In firmware.
    Firmware,
    /// The operating system was started, or runs.
    OperatingSystem,
}

/// How a boot counts as seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sight {
    /// By this.
    By(Evidence),
    /// Nothing could be seen of it within the limit.
    Unobservable,
}

/// What is to be done next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Plan {
    /// Nothing: look again at the usual pace.
    Watch,
    /// Nothing until the consumer says what to boot, or wants the machine to run.
    WaitForConsumer,
    /// Nothing until somebody changes what is wanted, or more is known of the machine: as it is wanted it can't be
    /// booted.
    Refuse(Trouble),
    /// Off, insert, arm, write the mark, on: from the beginning.
    Install(Wanted),
    /// The machine has power: add that to its mark.
    NoteOn(Booting),
    /// What it started from is not needed any more: eject it, or firmware that begins with drives starts it again.
    TakeOut,
    /// It had power and is off: what ran on it ended so. Turn it on.
    TurnOn,
    /// Wait for the boot, looking often.
    AwaitBoot,
    /// The boot was seen: write it down.
    WriteSeen(Sight),
    /// As the consumer wants it while its machine is installed.
    Power(Switch),
    /// Turn it off so, and write down that this restart was made: it is turned on again by itself.
    Restart(Restart),
    /// Write down that this restart was made: the machine is off.
    NoteRestarted(Restart),
    /// Off, eject, clear the override.
    Deprovision,
    /// The agent is wanted on a machine that nobody uses: write that down.
    CallAgent(Purpose),
    /// Off, insert, arm, write that down, on: the agent is started on an errand.
    SendAgent(Errand, Wanted),
    /// The machine of an errand has power: write that down.
    NoteSent(Errand),
    /// An errand is over, or not wanted any more: off, eject, clear the override, and what was written of it goes.
    EndErrand,
    /// The machine of an errand is on, and its BMC can't be asked: what it starts the agent with when it asks is to be there.
    ServeAgent(Errand),
    /// The same is over, or its agent was not heard: what was made for it goes, and what was written of it.
    CloseErrand,
    /// The machine is clean, and the status says so: the claim and all that was written about it go.
    ClearClaim,
    /// The machine is clean of the last claim, and the status says so: it is the next one's.
    HandOver,
    /// The host is being deleted and there is nothing left to do: take the finalizer off.
    LetGo(Farewell),
}

impl Plan {
    /// Why it can't be booted as it is wanted.
    pub(super) fn refusal(&self) -> Option<&Trouble> {
        match self {
            Self::Refuse(trouble) => Some(trouble),
            Self::Watch
            | Self::WaitForConsumer
            | Self::Install(_)
            | Self::NoteOn(_)
            | Self::TakeOut
            | Self::TurnOn
            | Self::AwaitBoot
            | Self::WriteSeen(_)
            | Self::Power(_)
            | Self::Restart(_)
            | Self::NoteRestarted(_)
            | Self::Deprovision
            | Self::CallAgent(_)
            | Self::SendAgent(..)
            | Self::NoteSent(_)
            | Self::EndErrand
            | Self::ServeAgent(_)
            | Self::CloseErrand
            | Self::ClearClaim
            | Self::HandOver
            | Self::LetGo(_) => None,
        }
    }
}

/// In which state a deleted host leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Farewell {
    /// Off and empty, or never touched.
    Clean,
    /// Nobody knows: its BMC did not do as it was told for too long.
    GivenUp,
}

/// Which way to turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Switch {
    /// On.
    On,
    /// Off.
    Off,
}

/// How a machine is provisioned here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Means {
    /// For so long a boot is awaited.
    pub patience: Duration,
    /// Whether there is a boot server.
    pub delivery: Delivery,
    /// Whether hosts are inspected that do not say whether they want to be.
    pub inspect: bool,
}

/// What follows for the machine.
#[must_use]
pub fn plan(host: &PhysicalHost, seen: Seen, now: Timestamp, means: Means) -> Plan {
    let is_foreign = host.spec.externally_provisioned;
    match Hold::of(host) {
        Hold::Free if is_foreign => leave_to_others(host),
        Hold::Held { claim } if is_foreign => match Progress::of(host, claim) {
            Progress::NotBegun | Progress::Booting(_) => not_ours(),
            Progress::Seen => Plan::Watch,
        },
        Hold::Free if host.metadata.deletion_timestamp.is_some() => Plan::Deprovision,
        Hold::Free => before_it_is_free(host, seen, now, means),
        Hold::Kept(_) | Hold::OnHold => Plan::Watch,
        Hold::Leaving => before_it_is_given_back(host, seen, now, means),
        Hold::Cleaned => Plan::ClearClaim,
        Hold::Held { claim } => match Progress::of(host, claim) {
            Progress::NotBegun => begin(host, means.delivery),
            Progress::Booting(booting) => await_boot(host, booting, seen, now, means),
            Progress::Seen => keep(host, seen.power),
        },
    }
}

/// It runs what we did not install.
fn leave_to_others(host: &PhysicalHost) -> Plan {
    let was_on_errand = annotation(host, annotations::ERRAND).is_some();
    match host.metadata.deletion_timestamp {
        Some(_) => Plan::LetGo(Farewell::Clean),
        None if was_on_errand => Plan::CloseErrand,
        None => Plan::Watch,
    }
}

/// Somebody holds it, and waits for it to boot.
fn not_ours() -> Plan {
    Plan::Refuse(Trouble {
        reason: reasons::EXTERNALLY_PROVISIONED,
        message: "Nothing is done with the machine while spec.externallyProvisioned is true: set it to false, or delete the machine or the claim that holds the host".to_owned(),
        passes: false,
    })
}

/// What follows for a host that is being deleted and whose machine can't be dealt with: it is let go when nothing was
/// ever done with it, or when it was tried for as long as `patience`.
#[must_use]
pub fn plan_without_contact(host: &PhysicalHost, now: Timestamp, patience: Duration) -> Plan {
    if Hold::of(host) == Hold::Cleaned {
        return Plan::ClearClaim;
    }
    if host.metadata.deletion_timestamp.is_none() {
        return Plan::Watch;
    }
    let identified = host.status.as_ref().is_some_and(|status| is_identified(host, status));
    let over = leaving_since(host).is_some_and(|since| has_passed(since, now, patience));
    match Hold::of(host) {
        Hold::Held { .. } | Hold::Kept(_) | Hold::OnHold => Plan::Watch,
        Hold::Leaving if !is_released(host) => Plan::Watch,
        Hold::Free if !identified => Plan::LetGo(Farewell::Clean),
        Hold::Free | Hold::Leaving | Hold::Cleaned if over => Plan::LetGo(Farewell::GivenUp),
        Hold::Free | Hold::Leaving | Hold::Cleaned => Plan::Watch,
    }
}

/// Since when a deleted host is on its way out: since its deletion, or since its machine was not its consumer's any more,
/// where that came later. Nothing while its status still says that it is: then nobody has tried anything.
fn leaving_since(host: &PhysicalHost) -> Option<Timestamp> {
    let deleted = host.metadata.deletion_timestamp.as_ref()?.0;
    let conditions = host.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
    match get(conditions, reasons::PROVISIONED) {
        Some(told) if told.status == "True" => None,
        Some(told) => Some(deleted.max(told.last_transition_time.0)),
        None => Some(deleted),
    }
}

/// An installed machine is touched only where its consumer has said what it wants.
fn keep(host: &PhysicalHost, power: PowerState) -> Plan {
    match (pending(host), host.spec.online, power) {
        (Some(restart), Some(true), PowerState::On) => return Plan::Restart(restart),
        (Some(restart), Some(true | false), PowerState::Off) => return Plan::NoteRestarted(restart),
        (None | Some(_), Some(_) | None, _) => {}
    }
    match (host.spec.online, power) {
        (Some(true), PowerState::Off) => Plan::Power(Switch::On),
        (Some(false), PowerState::On) => Plan::Power(Switch::Off),
        (
            Some(true | false) | None,
            PowerState::On
            | PowerState::Off
            | PowerState::PoweringOn
            | PowerState::PoweringOff
            | PowerState::Paused
            | PowerState::Unknown,
        ) => Plan::Watch,
    }
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;

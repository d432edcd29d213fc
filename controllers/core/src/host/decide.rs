//! The decision for one PhysicalHost: what to do with its machine, what to say of it, and when to look again.

use std::time::Duration;

use beskar7_api::{
    PhysicalHost, PhysicalHostStatus,
    address::MachineAddress,
    annotations, conditions,
    hardware::{Cpu, Hardware, Nic},
    physical_host::HardwareDetails,
};
use jiff::Timestamp;

use super::connection::{Secrets, Settings, settings};
use super::contact::{Contact, Parts, Trouble};
use super::discovery::{AnotherMachine, is_candidate, is_discovered, nowhere, without_bmc};
use super::errand::{clean, wants_inspection};
use super::events::events;
use super::hold::{Hold, Progress, consumer_is_missing, is_released};
use super::plan::{Farewell, Means, Plan, Sight, plan, plan_without_contact};
use super::standing::standing;
use crate::claim::Candidate;
use crate::conditions::{Finding, Truth, set};
use crate::delivery::Delivery;
use crate::events::Event;

/// Somebody is expected to create or complete a Secret: look more often, but less and less.
const LOOK_SOON: Duration = Duration::from_secs(60);
/// While a machine is awaited of which everything changes its host, but that it is not heard.
const LOOK_NOW_AND_THEN: Duration = Duration::from_secs(20);
/// While something happens with a machine.
const LOOK_OFTEN: Duration = Duration::from_secs(5);

/// So many interfaces are known of a machine: a BMC that makes up new ones does not fill its host.
const MOST_NICS: usize = 256;

/// What was observed for one host.
#[derive(Debug, Clone, PartialEq)]
pub struct Observed {
    /// The Secrets that it names.
    pub secrets: Secrets,
    /// What its BMC told.
    pub contact: Contact,
    /// Whether the one who holds it exists; absent where nobody looked.
    pub consumer_exists: Option<bool>,
    /// What went wrong when the last plan was carried out, if it did.
    pub trouble: Option<Trouble>,
    /// How the boot was seen, if that was written down just now.
    pub sight: Option<Sight>,
    /// Whether the machine was turned off and emptied just now, and what is left to be done to it.
    pub emptied: Option<Emptied>,
    /// What the agent saw of the machine, where that is to be written down now.
    pub inspected: Option<Box<Hardware>>,
    /// That the BMC is in another machine than the agent saw, where the host was discovered.
    pub another: Option<AnotherMachine>,
}

/// What is left to be done to a machine that is off and empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Emptied {
    /// Nothing: it is clean.
    Clean,
    /// Its disks are to be wiped.
    ToBeWiped,
}

/// How patient to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// Between two looks at a BMC when nothing happens.
    pub poll: Duration,
    /// For a boot to be seen.
    pub boot: Duration,
    /// For a machine to be turned off and emptied, before a deletion goes on without it.
    pub release: Duration,
    /// Whether there is a boot server.
    pub delivery: Delivery,
    /// Whether hosts are inspected that do not say whether they want to be.
    pub inspect: bool,
}

/// What follows.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// What its status should say. A status that says so already is not written.
    pub status: PhysicalHostStatus,
    /// What people should be told, once the status is written.
    pub events: Vec<Event>,
    /// What to do with the machine, once the status is written.
    pub plan: Plan,
    /// When to look again.
    pub requeue: Requeue,
}

/// When to look again though nothing changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Requeue {
    /// Only when something changes.
    OnChange,
    /// After this time.
    After(Duration),
    /// Soon, then less and less often, at least once per this time.
    Growing(Duration),
    /// It failed: as the retry policy says.
    Failed(Failure),
}

/// What failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// A Secret could not be read.
    Secret,
    /// The BMC did not answer, or did not do as it was told.
    Bmc,
    /// What it boots from the network is not ready.
    BootResources,
}

/// Whether a host is none of our business, whatever it says: nothing is read for it and nothing written.
#[must_use]
pub fn left_alone(host: &PhysicalHost) -> bool {
    // clusterctl moved it elsewhere and deletes it here.
    has_annotation(host, annotations::DELETE_FOR_MOVE)
}

/// Whether people asked us to leave a host as it is.
#[must_use]
pub fn paused(host: &PhysicalHost) -> bool {
    has_annotation(host, annotations::PAUSED)
}

/// Says that a host is paused, and nothing else.
#[must_use]
pub fn decide_paused(host: &PhysicalHost, now: Timestamp) -> Decision {
    let mut status = host.status.clone().unwrap_or_default();
    let finding = Finding::paused(Some(format!("The annotation {} is set", annotations::PAUSED)));
    set(&mut status.conditions, conditions::PAUSED, &finding, host.metadata.generation, now);
    Decision { status, events: Vec::new(), plan: Plan::Watch, requeue: Requeue::OnChange }
}

/// What the settings of a host come to, before its BMC is asked: whether it may be.
#[must_use]
pub fn may_be_asked(host: &PhysicalHost, secrets: &Secrets) -> bool {
    let complete = settings(namespace(host), &host.spec.redfish_connection, secrets) == Settings::Complete;
    // Credentials are sent nowhere before somebody says where to.
    complete && !is_candidate(host)
}

/// What follows from what is wanted and what was observed.
#[must_use]
pub fn decide(host: &PhysicalHost, observed: &Observed, pace: Pace, now: Timestamp) -> Decision {
    let settings = settings(namespace(host), &host.spec.redfish_connection, &observed.secrets);
    let connection = match &settings {
        Settings::Complete if is_candidate(host) => nowhere(),
        Settings::Complete => observed.contact.finding(),
        Settings::Incomplete(finding) | Settings::Unreadable(finding) => finding.clone(),
    };
    let next = next_plan(host, observed, pace, now);
    let before = host.status.clone().unwrap_or_default();
    let mut status = before.clone();
    remember(host, &mut status, observed);
    let inspects = wants_inspection(host, pace.inspect);
    let standing = standing(host, &status, observed, &connection, (&next, inspects));
    status.claim_id = machine_of(host, &before, observed.emptied == Some(Emptied::Clean));
    status.addresses = addresses(host, &before, &observed.contact);
    status.state = standing.state;
    status.ready = standing.ready.truth == Truth::True;
    status.error_message = match standing.ready.truth {
        Truth::False => Some(standing.ready.message.clone()),
        Truth::True | Truth::Unknown => None,
    };
    status.observed_generation = host.metadata.generation;
    let not_paused = Finding::paused(None);
    for (type_, finding) in [
        (conditions::READY, &standing.ready),
        (conditions::host::REDFISH_CONNECTION_READY, &connection),
        (conditions::host::AVAILABLE, &standing.available),
        (conditions::host::PROVISIONED, &standing.provisioned),
        (conditions::PAUSED, &not_paused),
    ] {
        set(&mut status.conditions, type_, finding, host.metadata.generation, now);
    }
    let requeue = requeue(&settings, observed, &next, pace);
    Decision { events: events(&before, &status), status, plan: next, requeue }
}

/// Whose the machine is. It is written before anything is done for a claim, and cleared when all traces of it are gone.
fn machine_of(host: &PhysicalHost, before: &PhysicalHostStatus, cleaned: bool) -> Option<String> {
    match Hold::of(host) {
        Hold::Free | Hold::Cleaned => None,
        Hold::Held { claim } => Some(claim.to_owned()),
        Hold::Leaving if cleaned => None,
        Hold::Leaving => {
            let known = Candidate::new(host).claim.machine_of.map(str::to_owned);
            known.or_else(|| host.spec.claim_id.clone())
        }
        Hold::Kept(_) | Hold::OnHold => before.claim_id.clone(),
    }
}

/// Whether a machine runs for its consumer and nobody knows under which address: nobody declared one, and its BMC has not
/// told any.
#[must_use]
pub fn wants_addresses(host: &PhysicalHost) -> bool {
    let known = host.status.as_ref().is_some_and(|status| !status.addresses.is_empty());
    runs_for_consumer(host) && host.spec.addresses.is_empty() && !known
}

fn runs_for_consumer(host: &PhysicalHost) -> bool {
    matches!(Hold::of(host), Hold::Held { claim } if Progress::of(host, claim) == Progress::Seen)
}

/// The addresses of what runs for the consumer: declared, or as the BMC told them last. What ran before it had others.
fn addresses(host: &PhysicalHost, before: &PhysicalHostStatus, contact: &Contact) -> Vec<MachineAddress> {
    match Hold::of(host) {
        Hold::Held { .. } if runs_for_consumer(host) && !host.spec.addresses.is_empty() => {
            host.spec.addresses.clone()
        }
        Hold::Held { .. } if runs_for_consumer(host) => match contact {
            Contact::Answered(sighting) => sighting
                .parts
                .as_ref()
                .map_or_else(|| before.addresses.clone(), |parts| parts.addresses.clone()),
            Contact::Failed(_) | Contact::NotTried => before.addresses.clone(),
        },
        Hold::Kept(_) | Hold::OnHold => before.addresses.clone(),
        Hold::Held { .. } | Hold::Free | Hold::Leaving | Hold::Cleaned => Vec::new(),
    }
}

fn next_plan(host: &PhysicalHost, observed: &Observed, pace: Pace, now: Timestamp) -> Plan {
    match (observed.emptied, Hold::of(host)) {
        (Some(Emptied::Clean), Hold::Leaving) if is_released(host) => return Plan::ClearClaim,
        (Some(Emptied::Clean), Hold::Leaving) => return Plan::HandOver,
        (Some(Emptied::ToBeWiped), Hold::Leaving) => return clean(host, pace.delivery),
        (Some(_) | None, _) => {}
    }
    if consumer_is_missing(host, observed.consumer_exists) {
        return Plan::Watch;
    }
    let is_new = Hold::of(host) == Hold::Free && host.metadata.deletion_timestamp.is_none();
    if let Some(another) = observed.another.as_ref().filter(|_| is_new) {
        return Plan::Refuse(another.trouble());
    }
    let without = plan_without_contact(host, now, pace.release);
    match (&observed.contact, &observed.trouble) {
        (Contact::NotTried | Contact::Failed(_), _) if without == Plan::Watch => {
            without_bmc(host, now, pace.boot)
        }
        (Contact::NotTried | Contact::Failed(_), _) => without,
        // The BMC answers, and what it is told does not come about: not for ever, either.
        (Contact::Answered(_), Some(_)) if without == Plan::LetGo(Farewell::GivenUp) => without,
        (Contact::Answered(sighting), _) => {
            let means = Means { patience: pace.boot, delivery: pace.delivery, inspect: pace.inspect };
            plan(host, sighting.seen, now, means)
        }
    }
}

/// What a BMC told is kept until it tells something else: a host does not lose its identity to a hiccup. What it does not
/// see at all stays as the agent saw it.
fn remember(host: &PhysicalHost, status: &mut PhysicalHostStatus, observed: &Observed) {
    let Contact::Answered(sighting) = &observed.contact else {
        remember_inspected(host, status, observed);
        return;
    };
    let mut before = status.hardware_details.take().unwrap_or_default();
    let mut hardware = sighting.hardware.clone();
    // Another machine behind the same address: what was known is of no use.
    let first_contact = is_discovered(host) && status.observed_power_state.is_none();
    let same_machine = before.hardware.uuid == hardware.uuid || (first_contact && observed.another.is_none());
    if first_contact {
        only_seen_by_agent(&mut before.hardware.nics);
    }
    if observed.inspected.is_some() {
        // It was looked at anew: what the agent saw before, and is not there any more, is gone.
        before.hardware.nics.retain(is_told_by_bmc);
    }
    match &sighting.parts {
        Some(parts) => {
            put(&mut hardware, parts.clone());
            if observed.inspected.is_some() {
                before.hardware.nics.clear();
            }
        }
        None if same_machine => put(&mut hardware, parts_of(before.hardware.clone())),
        None => {}
    }
    if let Some(inspected) = &observed.inspected {
        let mut inspected = inspected.as_ref().clone();
        only_seen_by_agent(&mut inspected.nics);
        add_unseen(&mut hardware, inspected);
    }
    if same_machine {
        add_unseen(&mut hardware, before.hardware);
    }
    status.observed_power_state = Some(sighting.seen.power);
    status.hardware_details = Some(HardwareDetails {
        hardware,
        status: Some(sighting.health.clone()),
        bmc: sighting.bmc.clone().or(before.bmc),
    });
}

/// What the agent saw of a discovered machine, whose BMC nobody knows yet.
fn remember_inspected(host: &PhysicalHost, status: &mut PhysicalHostStatus, observed: &Observed) {
    if let (Some(inspected), true) = (&observed.inspected, is_discovered(host)) {
        let before = status.hardware_details.take().unwrap_or_default();
        status.hardware_details = Some(HardwareDetails { hardware: inspected.as_ref().clone(), ..before });
    }
}

/// Adds what was known, where nothing of it is seen now. Firmware is none of it: what is not there any more is gone.
fn add_unseen(hardware: &mut Hardware, known: Hardware) {
    if let Some(known) = known.cpu {
        let cpu = hardware.cpu.get_or_insert_default();
        cpu.architecture = cpu.architecture.or(known.architecture);
        cpu.sockets = cpu.sockets.or(known.sockets);
        cpu.cores = cpu.cores.or(known.cores);
        cpu.threads = cpu.threads.or(known.threads);
        if cpu.model.is_none() {
            cpu.model = known.model;
        }
    }
    if hardware.memory.as_ref().is_none_or(|memory| memory.total_mib.is_none()) {
        hardware.memory = known.memory.or(hardware.memory.take());
    }
    if hardware.storage.is_empty() {
        hardware.storage = known.storage;
    }
    add_unseen_nics(&mut hardware.nics, known.nics);
}

/// Some BMCs know the interfaces on the board only: what else has an address stays, marked as unknown to them.
fn add_unseen_nics(nics: &mut Vec<Nic>, known: Vec<Nic>) {
    if nics.is_empty() {
        *nics = known;
        return;
    }
    for mut nic in known {
        let is_new = nic.mac_address.as_deref().is_some_and(|mac| {
            !nics
                .iter()
                .any(|seen| seen.mac_address.as_deref().is_some_and(|seen| seen.eq_ignore_ascii_case(mac)))
        });
        if is_new && nics.len() < MOST_NICS {
            nic.unknown_to_bmc = Some(true);
            nics.push(nic);
        }
    }
}

fn only_seen_by_agent(nics: &mut [Nic]) {
    for nic in nics {
        nic.unknown_to_bmc = Some(true);
    }
}

fn is_told_by_bmc(nic: &Nic) -> bool {
    nic.unknown_to_bmc != Some(true)
}

fn put(hardware: &mut Hardware, parts: Parts) {
    let cpu = hardware.cpu.get_or_insert_default();
    (cpu.model, cpu.architecture) = (parts.cpu_model, parts.architecture);
    if *cpu == Cpu::default() {
        hardware.cpu = None;
    }
    if let Some(memory) = &mut hardware.memory {
        memory.modules = parts.memory_modules;
    }
    (hardware.storage, hardware.nics, hardware.firmware) = (parts.storage, parts.nics, parts.firmware);
}

fn parts_of(hardware: Hardware) -> Parts {
    let cpu = hardware.cpu.unwrap_or_default();
    Parts {
        cpu_model: cpu.model,
        architecture: cpu.architecture,
        memory_modules: hardware.memory.and_then(|memory| memory.modules),
        storage: hardware.storage,
        nics: hardware.nics,
        firmware: hardware.firmware,
        addresses: Vec::new(),
    }
}

/// Whether a host waits for what it boots from the network, and not for its BMC.
fn is_of_boot_resources(trouble: &Trouble) -> bool {
    let awaited = [
        conditions::host::BOOT_CONFIGURATION_NOT_READY,
        conditions::host::BOOT_MAC_IN_USE,
        conditions::host::BOOT_ADDRESS_IN_USE,
        conditions::host::BOOT_RESOURCES_NOT_WRITTEN,
    ];
    awaited.contains(&trouble.reason)
}

fn requeue(settings: &Settings, observed: &Observed, plan: &Plan, pace: Pace) -> Requeue {
    match (plan, &observed.contact, &observed.trouble) {
        (Plan::ServeAgent(_) | Plan::CloseErrand, _, Some(_)) => {
            return Requeue::Failed(Failure::BootResources);
        }
        (Plan::ServeAgent(_), _, None) => return Requeue::After(LOOK_NOW_AND_THEN),
        (Plan::AwaitBoot, Contact::NotTried | Contact::Failed(_), _) | (Plan::CloseErrand, _, None) => {
            return Requeue::After(LOOK_OFTEN);
        }
        (_, Contact::NotTried | Contact::Failed(_) | Contact::Answered(_), _) => {}
    }
    match settings {
        Settings::Incomplete(_) => return Requeue::Growing(LOOK_SOON),
        Settings::Unreadable(_) => return Requeue::Failed(Failure::Secret),
        Settings::Complete => {}
    }
    match (&observed.contact, &observed.trouble) {
        (Contact::Answered(_), _) if plan.refusal().is_some() => Requeue::After(pace.poll),
        (Contact::Failed(trouble), _) | (_, Some(trouble)) if !trouble.passes => Requeue::Growing(pace.poll),
        (Contact::NotTried | Contact::Answered(_), Some(trouble)) if is_of_boot_resources(trouble) => {
            Requeue::Failed(Failure::BootResources)
        }
        (Contact::Failed(_), _) | (_, Some(_)) => Requeue::Failed(Failure::Bmc),
        (Contact::NotTried | Contact::Answered(_), None) => match plan {
            Plan::Watch | Plan::WaitForConsumer | Plan::Refuse(_) => Requeue::After(pace.poll),
            Plan::Install(_)
            | Plan::NoteOn(_)
            | Plan::TakeOut
            | Plan::TurnOn
            | Plan::AwaitBoot
            | Plan::WriteSeen(_)
            | Plan::Power(_)
            | Plan::Restart(_)
            | Plan::NoteRestarted(_)
            | Plan::CallAgent(_)
            | Plan::SendAgent(..)
            | Plan::NoteSent(_)
            | Plan::EndErrand
            | Plan::ServeAgent(_)
            | Plan::CloseErrand
            | Plan::Deprovision
            | Plan::ClearClaim
            | Plan::HandOver
            | Plan::LetGo(_) => Requeue::After(LOOK_OFTEN),
        },
    }
}

fn namespace(host: &PhysicalHost) -> &str {
    host.metadata.namespace.as_deref().unwrap_or_default()
}

fn has_annotation(host: &PhysicalHost, name: &str) -> bool {
    super::hold::annotation(host, name).is_some()
}

#[cfg(test)]
#[path = "settings_tests.rs"]
mod settings_tests;
#[cfg(test)]
#[path = "decide_tests.rs"]
mod tests;

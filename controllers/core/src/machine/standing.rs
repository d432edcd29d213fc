//! Where a machine stands, and in which words that is said.

use beskar7_api::{
    Beskar7Machine, Beskar7MachineStatus, PhysicalHost, annotations, conditions,
    conditions::{host as host_reasons, machine as reasons},
    initialization::Initialization,
    labels,
    machine::MachinePhase,
    reference::ObjectReference,
};
use jiff::Timestamp;

use crate::{
    claim::Obstacle,
    conditions::{Finding, Truth, get, set},
    events::{Event, Severity, changed},
    host::{agents_words, hold::Progress, trouble},
};

/// What became of a look at a machine.
#[derive(Debug, Clone)]
pub enum Course<'a> {
    /// It is to be left as it is, for this reason.
    Paused(&'a str),
    /// Something must be there first.
    Blocked(&'a Obstacle),
    /// No host fits; the text counts why.
    Searching(&'a str),
    /// A host was chosen, `<namespace>/<name>`, and is not bound yet.
    Binding(&'a str),
    /// This host is its own.
    Held(&'a PhysicalHost),
    /// Its host, `<namespace>/<name>`, is paused or moved away.
    HostPaused(&'a str),
    /// It had a host, and has none any more.
    Lost,
    /// Its host is being given back; `overdue` when that takes longer than it should.
    Releasing {
        /// The host, while it is there.
        host: Option<&'a PhysicalHost>,
        /// Whether it takes longer than it should.
        overdue: bool,
    },
}

/// What is said of a machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// The status to write.
    pub status: Beskar7MachineStatus,
    /// What people are told.
    pub events: Vec<Event>,
}

impl Decision {
    /// The same with what is said of the machine's Node. Where only people can say which Node it is, the machine is not
    /// Ready, though its infrastructure is: who reads one condition reads what to do.
    #[must_use]
    pub fn with_node(
        mut self,
        machine: &Beskar7Machine,
        found: &Finding,
        needs_people: bool,
        now: Timestamp,
    ) -> Self {
        let generation = machine.metadata.generation;
        set(&mut self.status.conditions, reasons::NODE_LINKED, found, generation, now);
        if needs_people && self.status.ready {
            set(&mut self.status.conditions, conditions::READY, found, generation, now);
        }
        let before = machine.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
        let event = changed(before, &self.status.conditions, reasons::NODE_LINKED, "LinkNode");
        let told = needs_people || [reasons::LINKED, reasons::NODE_LINK_FAILED].contains(&found.reason);
        self.events.extend(event.filter(|_| told));
        self
    }
}

impl Decision {
    /// The same, where no policy lets the machine have its host any more, and it is left to it all the same.
    #[must_use]
    pub fn tolerated(mut self, machine: &Beskar7Machine, host: &PhysicalHost, now: Timestamp) -> Self {
        let own = machine.metadata.namespace.as_deref().unwrap_or_default();
        let there = host.metadata.namespace.as_deref().unwrap_or_default();
        let message = format!(
            "PhysicalHost {}, though no HostDeployPolicy in namespace {there} lets namespace {own} have its hosts any \
             more. It is kept; a machine that comes after it gets none there",
            name(host)
        );
        let finding = Finding { truth: Truth::True, reason: reasons::NOT_AUTHORIZED, message };
        let generation = machine.metadata.generation;
        let type_ = reasons::PHYSICAL_HOST_ASSOCIATED;
        set(&mut self.status.conditions, type_, &finding, generation, now);
        let before = machine.status.as_ref().and_then(|status| get(&status.conditions, type_));
        if before.is_none_or(|before| before.reason != finding.reason) {
            let (reason, note) = (finding.reason.to_owned(), finding.message);
            self.events.push(Event { severity: Severity::Warning, reason, note, action: "CheckPolicy" });
        }
        self
    }
}

/// The identity of a machine on this host, as its Node will carry it.
#[must_use]
pub fn provider_id(host: &PhysicalHost) -> String {
    format!("b7://{}", name(host))
}

/// What is said of a machine.
#[must_use]
pub fn decide(machine: &Beskar7Machine, course: &Course<'_>, now: Timestamp) -> Decision {
    let before = machine.status.clone().unwrap_or_default();
    let mut status = before.clone();
    let generation = machine.metadata.generation;
    let paused = match course {
        Course::Paused(why) => Finding::paused(Some((*why).to_owned())),
        Course::Blocked(_)
        | Course::Searching(_)
        | Course::Binding(_)
        | Course::Held(_)
        | Course::HostPaused(_)
        | Course::Lost
        | Course::Releasing { .. } => Finding::paused(None),
    };
    set(&mut status.conditions, conditions::PAUSED, &paused, generation, now);
    if let Course::Paused(_) = course {
        return Decision { status, events: Vec::new() };
    }
    status.observed_generation = generation;
    status.phase = Some(phase(machine, course));
    remember(&mut status, course);
    let associated = associated(course);
    let ready = ready(machine, course, &associated);
    status.ready = ready.truth == Truth::True;
    if status.ready {
        status.initialization = Some(Initialization { provisioned: Some(true) });
    }
    for (type_, finding) in [
        (conditions::READY, &ready),
        (reasons::INFRASTRUCTURE_READY, &ready),
        (reasons::PHYSICAL_HOST_ASSOCIATED, &associated),
    ] {
        set(&mut status.conditions, type_, finding, generation, now);
    }
    let events = events(&before, &status);
    Decision { status, events }
}

fn phase(machine: &Beskar7Machine, course: &Course<'_>) -> MachinePhase {
    match course {
        Course::Releasing { .. } => MachinePhase::Deleting,
        Course::Lost => MachinePhase::Failed,
        Course::Paused(_) | Course::Blocked(_) => MachinePhase::Pending,
        Course::Searching(_) | Course::Binding(_) => MachinePhase::Associating,
        Course::Held(host) if is_provisioned(machine, host) => MachinePhase::Provisioned,
        Course::Held(_) => MachinePhase::Provisioning,
        Course::HostPaused(_) if machine.spec.provider_id.is_some() => MachinePhase::Provisioned,
        Course::HostPaused(_) => MachinePhase::Provisioning,
    }
}

/// What is known of the host stays known while it can't be looked at.
fn remember(status: &mut Beskar7MachineStatus, course: &Course<'_>) {
    match course {
        Course::Held(host) => {
            status.host_ref = Some(host_reference(host));
            status.addresses = addresses(host);
            status.failure_domain = zone(host);
        }
        Course::Lost | Course::Blocked(_) | Course::Searching(_) => {
            status.host_ref = None;
            status.conditions.retain(|condition| condition.type_ != reasons::NODE_LINKED);
        }
        Course::Paused(_) | Course::Binding(_) | Course::HostPaused(_) | Course::Releasing { .. } => {}
    }
}

fn host_reference(host: &PhysicalHost) -> ObjectReference {
    ObjectReference {
        api_version: Some(format!("{}/{}", beskar7_api::GROUP, beskar7_api::VERSION)),
        kind: Some("PhysicalHost".to_owned()),
        namespace: host.metadata.namespace.clone(),
        name: host.metadata.name.clone(),
        uid: host.metadata.uid.clone(),
        ..ObjectReference::default()
    }
}

/// What was declared, else what was discovered.
fn addresses(host: &PhysicalHost) -> Vec<beskar7_api::address::MachineAddress> {
    match host.spec.addresses.is_empty() {
        false => host.spec.addresses.clone(),
        true => host.status.as_ref().map(|status| status.addresses.clone()).unwrap_or_default(),
    }
}

fn zone(host: &PhysicalHost) -> Option<String> {
    host.metadata.labels.as_ref()?.get(labels::ZONE).cloned()
}

/// Seen to have booted for this claim, and known to Cluster API by its identity.
fn is_provisioned(machine: &Beskar7Machine, host: &PhysicalHost) -> bool {
    let seen = |claim: &String| Progress::of(host, claim) == Progress::Seen;
    machine.spec.provider_id.is_some() && host.spec.claim_id.as_ref().is_some_and(seen)
}

fn not(reason: &'static str, message: impl Into<String>) -> Finding {
    Finding { truth: Truth::False, reason, message: message.into() }
}

fn associated(course: &Course<'_>) -> Finding {
    match course {
        Course::Held(host) => Finding {
            truth: Truth::True,
            reason: reasons::PHYSICAL_HOST_BOUND,
            message: format!("PhysicalHost {}", name(host)),
        },
        Course::Blocked(obstacle) => not(obstacle.reason, &obstacle.message),
        Course::Searching(counts) => not(reasons::WAITING_FOR_PHYSICAL_HOST, *counts),
        Course::Binding(host) => {
            not(reasons::BINDING_PHYSICAL_HOST, format!("PhysicalHost {host} was chosen"))
        }
        Course::HostPaused(host) => not(
            reasons::PHYSICAL_HOST_PAUSED,
            format!("PhysicalHost {host} is paused: nothing is done with it"),
        ),
        Course::Lost => not(
            reasons::PHYSICAL_HOST_LOST,
            "Its PhysicalHost was taken from it, and it gets no other: delete the Machine, or let a \
             MachineHealthCheck replace it",
        ),
        Course::Paused(why) => not(reasons::PHYSICAL_HOST_NOT_READY, *why),
        Course::Releasing { host: None, .. } => not(reasons::RELEASING_PHYSICAL_HOST, "It is being deleted"),
        Course::Releasing { host: Some(host), overdue: false } => not(
            reasons::RELEASING_PHYSICAL_HOST,
            format!("PhysicalHost {} is turned off and cleaned first", name(host)),
        ),
        Course::Releasing { host: Some(host), overdue: true } => not(
            reasons::RELEASE_PHYSICAL_HOST_FAILED,
            format!(
                "PhysicalHost {host} could not be turned off and cleaned yet ({why}): see its conditions. Who is sure \
                 that its machine does no harm sets the annotation {force} on this Beskar7Machine; the host stays back \
                 until it is clean",
                host = name(host),
                why = trouble(host).unwrap_or(host_reasons::DEPROVISIONING),
                force = annotations::FORCE_RELEASE,
            ),
        ),
    }
}

fn ready(machine: &Beskar7Machine, course: &Course<'_>, associated: &Finding) -> Finding {
    let Course::Held(host) = course else { return associated.clone() };
    if is_provisioned(machine, host) {
        return Finding { truth: Truth::True, reason: reasons::PROVISIONED, message: String::new() };
    }
    // Of what a BMC said nothing is repeated here: who owns the cluster may not know the BMC.
    let words = agents_words(host);
    match (trouble(host), words) {
        (Some(host_reasons::INSTALLATION_FAILED), Some(words)) => {
            not(reasons::PHYSICAL_HOST_ERROR, format!("PhysicalHost {}: {words}", name(host)))
        }
        (Some(reason), Some(_) | None) => not(
            reasons::PHYSICAL_HOST_ERROR,
            format!("PhysicalHost {} says {reason}: see its conditions", name(host)),
        ),
        (None, Some(_) | None) => {
            not(reasons::PHYSICAL_HOST_NOT_READY, format!("PhysicalHost {} boots", name(host)))
        }
    }
}

fn name(host: &PhysicalHost) -> String {
    let text = |part: &Option<String>| part.clone().unwrap_or_default();
    format!("{}/{}", text(&host.metadata.namespace), text(&host.metadata.name))
}

/// A change of phase, and what goes wrong or right again.
fn events(before: &Beskar7MachineStatus, after: &Beskar7MachineStatus) -> Vec<Event> {
    let associated = get(&after.conditions, reasons::PHYSICAL_HOST_ASSOCIATED);
    let mut events = Vec::new();
    if before.phase != after.phase
        && let Some(phase) = after.phase
    {
        let note = match (phase, associated) {
            (MachinePhase::Provisioning | MachinePhase::Provisioned, Some(found)) => found.message.clone(),
            (
                MachinePhase::Pending
                | MachinePhase::Associating
                | MachinePhase::Provisioning
                | MachinePhase::Provisioned
                | MachinePhase::Failed
                | MachinePhase::Deleting,
                Some(_) | None,
            ) => String::new(),
        };
        let reason = format!("{phase:?}");
        events.push(Event { severity: Severity::Normal, reason, note, action: "ChangePhase" });
    }
    let ready = changed(&before.conditions, &after.conditions, reasons::INFRASTRUCTURE_READY, "Provision");
    events.extend(ready.filter(is_news));
    events
}

/// Stages on the way are told by the change of phase already.
fn is_news(event: &Event) -> bool {
    ![
        reasons::WAITING_FOR_OWNER_MACHINE,
        reasons::WAITING_FOR_CLUSTER_INFRASTRUCTURE,
        reasons::WAITING_FOR_BOOTSTRAP_DATA,
        reasons::BINDING_PHYSICAL_HOST,
        reasons::PHYSICAL_HOST_NOT_READY,
        reasons::RELEASING_PHYSICAL_HOST,
        reasons::PROVISIONED,
    ]
    .contains(&event.reason.as_str())
}

#[cfg(test)]
#[path = "standing_tests.rs"]
mod tests;

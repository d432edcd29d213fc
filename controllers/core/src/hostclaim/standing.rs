//! Where a claim stands, and in which words that is said. Nothing of a BMC is among them.

use beskar7_api::{
    HostClaim, HostClaimStatus, PhysicalHost, annotations, conditions,
    conditions::{claim as reasons, host as host_reasons},
    host_claim::ClaimPhase,
    physical_host::PowerState,
    reference::NamespacedReference,
};
use jiff::Timestamp;

use super::configuration::Synced;
use super::image::{Image, image, later, order};
use crate::{
    claim::told_to_boot,
    conditions::{Finding, Truth, set},
    delivery::Delivery,
    events::{Event, Severity, changed},
    host::{
        agents_words,
        hold::{Hold, Progress},
        trouble,
    },
    policy::Tenure,
};

/// What became of a look at a claim.
#[derive(Debug, Clone)]
pub enum Course<'a> {
    /// It is to be left as it is, for this reason.
    Paused(&'a str),
    /// No policy lets it have any host, in words.
    Unauthorized(&'a str),
    /// No host fits; the text counts why.
    Searching(&'a str),
    /// A host was chosen, and is not bound yet.
    Binding,
    /// This host is its own, and has its configuration, or not.
    Held(&'a PhysicalHost, Tenure, &'a Synced),
    /// Its host is paused or moved away.
    HostPaused,
    /// It had a machine, and has none any more.
    Lost,
    /// Its host is being given back; `overdue` when that takes longer than it should.
    Releasing {
        /// Whether it takes longer than it should.
        overdue: bool,
    },
}

/// What is said of a claim.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// The status to write.
    pub status: HostClaimStatus,
    /// What people are told.
    pub events: Vec<Event>,
}

impl Decision {
    /// With what was made for the claim on a host that it holds: its boot configuration and its reservation, where they are
    /// there.
    #[must_use]
    pub fn referring(mut self, made: Made, host: &PhysicalHost) -> Self {
        let reference = || NamespacedReference {
            name: host.metadata.name.clone().unwrap_or_default(),
            namespace: host.metadata.namespace.clone(),
        };
        self.status.boot_configuration_ref = made.configuration.then(reference);
        self.status.dhcp_reservation_ref = made.reservation.then(reference);
        self
    }
}

/// What was made for a claim whose machine boots from the network. Each has the host's name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Made {
    /// What it boots.
    pub configuration: bool,
    /// What it is told when it asks.
    pub reservation: bool,
}

/// What is said of a claim.
#[must_use]
pub fn decide(claim: &HostClaim, course: &Course<'_>, delivery: Delivery, now: Timestamp) -> Decision {
    let before = claim.status.clone().unwrap_or_default();
    let mut status = before.clone();
    let generation = claim.metadata.generation;
    let paused = match course {
        Course::Paused(why) => Some((*why).to_owned()),
        Course::Unauthorized(_)
        | Course::Searching(_)
        | Course::Binding
        | Course::Held(..)
        | Course::HostPaused
        | Course::Lost
        | Course::Releasing { .. } => None,
    };
    let left_alone = paused.is_some();
    set(&mut status.conditions, conditions::PAUSED, &Finding::paused(paused), generation, now);
    if left_alone {
        return Decision { status, events: Vec::new() };
    }
    status.observed_generation = generation;
    remember(&mut status, course);
    let association = association(course);
    if let Course::HostPaused = course {
        // Nothing is looked at there: what was said of the machine stays.
        set(&mut status.conditions, reasons::ASSOCIATION, &association, generation, now);
        return Decision { events: events(&before, &status), status };
    }
    let findings = [
        (reasons::ASSOCIATION, association),
        (reasons::SYNCHRONIZATION, synchronization(claim, course, delivery)),
        (reasons::PROVISIONED, provisioned(claim, course, delivery)),
    ];
    set(&mut status.conditions, conditions::READY, &ready(&findings), generation, now);
    for (type_, finding) in &findings {
        set(&mut status.conditions, type_, finding, generation, now);
    }
    let events = events(&before, &status);
    Decision { status, events }
}

/// What is known of the host, as far as it is the tenant's to know.
fn remember(status: &mut HostClaimStatus, course: &Course<'_>) {
    match course {
        Course::Held(host, ..) => {
            status.phase = Some(ClaimPhase::Bound);
            status.hardware_data = Some(NamespacedReference {
                name: host.metadata.name.clone().unwrap_or_default(),
                namespace: host.metadata.namespace.clone(),
            });
            let seen = host.status.as_ref();
            status.hardware =
                seen.and_then(|seen| seen.hardware_details.as_ref()).map(|details| details.hardware.clone());
            status.host_uid.clone_from(&host.metadata.uid);
            status.powered_on =
                seen.and_then(|seen| seen.observed_power_state).map(|power| power == PowerState::On);
        }
        Course::Unauthorized(_) | Course::Searching(_) | Course::Binding | Course::Lost => {
            status.phase = Some(ClaimPhase::Unbound);
            status.hardware_data = None;
            status.hardware = None;
            status.host_uid = None;
            status.powered_on = None;
            status.boot_configuration_ref = None;
            status.dhcp_reservation_ref = None;
        }
        Course::Paused(_) | Course::HostPaused | Course::Releasing { .. } => {}
    }
}

fn no(reason: &'static str, message: impl Into<String>) -> Finding {
    Finding { truth: Truth::False, reason, message: message.into() }
}

fn yes(reason: &'static str) -> Finding {
    Finding { truth: Truth::True, reason, message: String::new() }
}

fn association(course: &Course<'_>) -> Finding {
    match course {
        Course::Held(_, Tenure::Allowed, _) => yes(reasons::HOST_ASSOCIATED),
        Course::HostPaused => Finding {
            message: "The platform team has paused the host: nothing is done with it".to_owned(),
            ..yes(reasons::HOST_ASSOCIATED)
        },
        Course::Held(_, Tenure::Tolerated, _) => Finding {
            message:
                "No HostDeployPolicy allows this any more. The host is kept; another one would not be given"
                    .to_owned(),
            ..yes(reasons::NOT_AUTHORIZED)
        },
        Course::Held(_, Tenure::Unknown, _) => Finding {
            message: "The HostDeployPolicy that may allow this goes by labels of namespaces, which the manager does not know. \
                      The host is kept; another one would not be given"
                .to_owned(),
            ..yes(reasons::NOT_AUTHORIZED)
        },
        Course::Held(_, Tenure::Revoked, _) => {
            no(reasons::NOT_AUTHORIZED, "No HostDeployPolicy allows this any more: the host is taken back")
        }
        Course::Unauthorized(why) => no(reasons::NOT_AUTHORIZED, *why),
        Course::Searching(counts) | Course::Paused(counts) => no(reasons::NO_MATCHING_HOST, *counts),
        Course::Binding => no(reasons::ASSOCIATING, "A host was chosen"),
        Course::Lost => no(
            reasons::HOST_LOST,
            "The machine was taken from this claim, which gets no other: delete the claim, and write another one",
        ),
        Course::Releasing { overdue: false } => {
            no(reasons::RELEASING, "The machine is turned off and cleaned first")
        }
        Course::Releasing { overdue: true } => no(
            reasons::RELEASING,
            format!(
                "The machine could not be turned off and cleaned yet: ask the platform team. Who is sure that it does no \
                 harm sets the annotation {} on this claim; the host stays back until it is clean",
                annotations::FORCE_RELEASE
            ),
        ),
    }
}

fn synchronization(claim: &HostClaim, course: &Course<'_>, delivery: Delivery) -> Finding {
    match course {
        Course::Held(_, _, synced) => match (order(claim, delivery), synced) {
            (Err(why), _) => no(reasons::CONFIGURATION_NOT_SUPPORTED, why),
            (Ok(_), Synced::No { reason, message }) => no(reason, message.clone()),
            (Ok(_), Synced::Yes) => yes(reasons::CONFIGURATION_SYNCED),
        },
        Course::Paused(_)
        | Course::Unauthorized(_)
        | Course::Searching(_)
        | Course::Binding
        | Course::HostPaused
        | Course::Lost
        | Course::Releasing { .. } => no(reasons::NOT_ASSOCIATED, String::new()),
    }
}

fn provisioned(claim: &HostClaim, course: &Course<'_>, delivery: Delivery) -> Finding {
    let Course::Held(host, ..) = course else { return no(reasons::NOT_ASSOCIATED, String::new()) };
    if let Hold::Leaving | Hold::Cleaned = Hold::of(host) {
        return trouble(host).map_or_else(
            || no(reasons::DEPROVISIONING, "What ran on the machine is taken off it first"),
            host_error,
        );
    }
    let begun = host.spec.claim_id.as_deref().map(|claim| Progress::of(host, claim));
    match (&begun, not_usable(claim, delivery)) {
        (Some(Progress::Seen), Some(why)) => {
            no(reasons::IMAGE_NOT_SUPPORTED, format!("{why}. Meanwhile the machine runs what it did"))
        }
        (_, Some(why)) => no(reasons::IMAGE_NOT_SUPPORTED, why),
        (Some(Progress::Seen), None) => {
            Finding { message: later(claim, host).unwrap_or_default().to_owned(), ..yes(reasons::BOOTED) }
        }
        (_, None) => match trouble(host) {
            Some(host_reasons::INSTALLATION_FAILED) => no(
                reasons::HOST_ERROR,
                agents_words(host).unwrap_or_else(|| host_error(host_reasons::INSTALLATION_FAILED).message),
            ),
            Some(reason) => host_error(reason),
            None if matches!(begun, Some(Progress::Booting(_))) || told_to_boot(host).is_some() => {
                no(reasons::PROVISIONING, String::new())
            }
            None => no(reasons::WAITING, String::new()),
        },
    }
}

/// Why the image of a claim can't be brought onto a host, if it can't.
fn not_usable(claim: &HostClaim, delivery: Delivery) -> Option<String> {
    match image(claim) {
        Image::NotUsable(why) => Some(why.to_owned()),
        Image::Disk(_) => order(claim, delivery).err(),
        Image::Iso(_) | Image::Kernel(..) | Image::Registry(_) | Image::None => None,
    }
}

fn host_error(reason: &str) -> Finding {
    no(reasons::HOST_ERROR, format!("The host says {reason}: ask the platform team, who can see more of it"))
}

/// All of them in one: a line for each that is not so.
fn ready(findings: &[(&str, Finding)]) -> Finding {
    let lines: Vec<String> = findings
        .iter()
        .filter(|(_, finding)| finding.truth != Truth::True)
        .map(|(type_, finding)| {
            let why = if finding.message.is_empty() { finding.reason } else { &finding.message };
            format!("* {type_}: {why}")
        })
        .collect();
    match lines.is_empty() {
        true => yes(reasons::INFO_REPORTED),
        false => no(reasons::ISSUES_REPORTED, lines.join("\n")),
    }
}

/// A change of phase, and what goes wrong or right again.
fn events(before: &HostClaimStatus, after: &HostClaimStatus) -> Vec<Event> {
    let mut events = Vec::new();
    if before.phase != after.phase
        && let Some(phase) = after.phase
    {
        let note = after.hardware_data.as_ref().map(|host| format!("Host {}", host.name)).unwrap_or_default();
        let reason = format!("{phase:?}");
        events.push(Event { severity: Severity::Normal, reason, note, action: "ChangePhase" });
    }
    for (type_, action) in [(reasons::ASSOCIATION, "Associate"), (reasons::PROVISIONED, "Provision")] {
        let event = changed(&before.conditions, &after.conditions, type_, action);
        events.extend(event.filter(is_news));
    }
    events
}

/// Stages on the way are told by the change of phase already.
fn is_news(event: &Event) -> bool {
    ![
        reasons::ASSOCIATING,
        reasons::NOT_ASSOCIATED,
        reasons::RELEASING,
        reasons::WAITING,
        reasons::PROVISIONING,
    ]
    .contains(&event.reason.as_str())
}

#[cfg(test)]
#[path = "standing_tests.rs"]
mod tests;

//! Machines that nobody wrote down: what is written of one that asks for something to boot, and what follows for it while
//! nobody knows its BMC.
//!
//! It stands there as a PhysicalHost, a candidate: cordoned, with an address that leads nowhere and a Secret that is not
//! there. It is on already, so it is on an errand already: it is told to start the agent when it asks again, the agent
//! says what it is made of, and is told to turn it off. No BMC is needed for that. Whoever gives it the address and the
//! credentials of its BMC and takes the cordon off has accepted it; from then on it is a host like all others.

use std::{collections::BTreeMap, time::Duration};

use beskar7_api::{
    PhysicalHost, PhysicalHostSpec, PhysicalHostStatus, annotations, conditions::host as reasons,
    hardware::Hardware, labels, physical_host::RedfishConnection,
};
use beskar7_machine_uuid::MachineUuid;
use jiff::Timestamp;

use super::{
    awaiting::has_passed,
    contact::Trouble,
    errand::{Errand, Purpose, wants_inspection},
    hold::{Hold, annotation},
    installing::last_word,
    moving::BLOCKED,
    plan::Plan,
};
use crate::agent::{Assignment, Said, Stage};
use crate::conditions::{Finding, Truth};

/// The BMC's address of a machine whose BMC nobody knows: a name that never leads anywhere (RFC 2606).
pub const NOWHERE: &str = "https://bmc.invalid";
/// Why it must not be claimed.
pub const CORDON: &str = "Discovered: give it its BMC's address and credentials, then uncordon it";
/// For so long its agent may ask what to do next when it has said what the machine is made of: to be told to turn it off.
/// It asks every few seconds.
const FAREWELL: Duration = Duration::from_secs(60);
/// An agent that says nothing for so long is not waited for any more.
const SILENT: Duration = Duration::from_secs(300);

/// The name of a machine that asked with this MAC address.
#[must_use]
pub fn name(mac: &str) -> String {
    let digits: String = mac.chars().filter(char::is_ascii_hexdigit).collect();
    format!("discovered-{}", digits.to_ascii_lowercase())
}

/// What is written of a machine that asked with this MAC address, in lower case: it is on, and the agent is to inspect it.
/// `watch_filter` makes it that manager's which found it.
#[must_use]
pub fn candidate(
    mac: &str,
    namespace: &str,
    watch_filter: Option<&str>,
    chance: u128,
    now: Timestamp,
) -> PhysicalHost {
    let name = name(mac);
    let spec = PhysicalHostSpec {
        redfish_connection: RedfishConnection {
            address: NOWHERE.to_owned(),
            credentials_secret_ref: format!("{name}-bmc"),
            ..RedfishConnection::default()
        },
        boot_mac_address: Some(mac.to_owned()),
        cordoned: Some(CORDON.to_owned()),
        inspect: Some(true),
        ..PhysicalHostSpec::default()
    };
    let mut host = PhysicalHost::new(&name, spec);
    host.metadata.namespace = Some(namespace.to_owned());
    let filter = watch_filter.map(|value| (labels::WATCH_FILTER.to_owned(), value.to_owned()));
    host.metadata.labels =
        Some(filter.into_iter().chain([(labels::DISCOVERED.to_owned(), "true".to_owned())]).collect());
    host.metadata.annotations = Some(BTreeMap::from([
        (annotations::ERRAND.to_owned(), begun(chance, now).to_string()),
        (annotations::BLOCK_MOVE.to_owned(), BLOCKED.to_owned()),
    ]));
    host
}

/// The errand of a machine that just asked for something to boot: it is on, so it counts as turned on.
#[must_use]
pub fn begun(chance: u128, now: Timestamp) -> Errand {
    Errand::new(Purpose::Inspect, chance).sent(now).seen_on()
}

/// Whether a host was written down because its machine asked.
#[must_use]
pub fn is_discovered(host: &PhysicalHost) -> bool {
    host.metadata.labels.as_ref().is_some_and(|all| all.contains_key(labels::DISCOVERED))
}

/// Whether nobody has said yet where the BMC of a discovered machine is.
#[must_use]
pub fn is_candidate(host: &PhysicalHost) -> bool {
    is_discovered(host) && host.spec.redfish_connection.address == NOWHERE
}

/// The host that the agent's machine is, of all that were not discovered and are not accepted yet: it has its UUID, or one
/// of its MAC addresses.
pub fn same_machine<'a>(
    candidate: &PhysicalHost,
    seen: &Hardware,
    hosts: impl IntoIterator<Item = &'a PhysicalHost>,
) -> Option<&'a PhysicalHost> {
    if !is_candidate(candidate) {
        return None;
    }
    let addresses: Vec<&str> = seen.nics.iter().filter_map(|nic| nic.mac_address.as_deref()).collect();
    let own = seen.uuid.as_deref().and_then(MachineUuid::real);
    let is_seen =
        |mac: &str| is_of_one_machine(mac) && addresses.iter().any(|seen| seen.eq_ignore_ascii_case(mac));
    hosts.into_iter().filter(|host| !is_candidate(host)).find(|host| {
        let known = host.status.as_ref().and_then(|status| status.hardware_details.as_ref());
        let uuid = known.and_then(|known| MachineUuid::real(known.hardware.uuid.as_deref()?));
        let nics = known.map(|known| known.hardware.nics.as_slice()).unwrap_or_default();
        uuid.zip(own).is_some_and(|(known, own)| known.is_same_machine(own))
            || host.spec.boot_mac_address.as_deref().is_some_and(is_seen)
            || nics.iter().filter_map(|nic| nic.mac_address.as_deref()).any(is_seen)
    })
}

/// Whether an address may be one interface's: not what stands for none or for all.
fn is_of_one_machine(mac: &str) -> bool {
    let mut digits = mac.chars().filter(char::is_ascii_hexdigit);
    let first = digits.clone().nth(1).and_then(|digit| digit.to_digit(16));
    first.is_some_and(|digit| digit & 1 == 0) && digits.any(|digit| digit != '0')
}

/// The host that the machine of a discovered one turned out to be, as `<namespace>/<name>`.
#[must_use]
pub fn turned_out_to_be(host: &PhysicalHost) -> Option<&str> {
    annotation(host, annotations::SAME_MACHINE).filter(|_| is_candidate(host))
}

/// Whether the agent is to be started on the machine of a candidate that asks once more: it was not heard the last time.
#[must_use]
pub fn may_be_begun_again(host: &PhysicalHost) -> bool {
    is_candidate(host)
        && host.metadata.deletion_timestamp.is_none()
        && Hold::of(host) == Hold::Free
        && annotation(host, annotations::ERRAND).is_none()
        && turned_out_to_be(host).is_none()
        && wants_inspection(host, false)
}

/// Whether what the agent saw of a candidate is to be looked up once more: a move takes no status along.
#[must_use]
pub fn has_lost_details(host: &PhysicalHost) -> bool {
    let known = host.status.as_ref().and_then(|status| status.hardware_details.as_ref());
    is_candidate(host) && known.is_none() && annotation(host, annotations::INSPECTED).is_some()
}

/// Whether a BMC has told what its machine is. What the agent saw of a discovered one says nothing of its BMC.
pub(super) fn is_identified(host: &PhysicalHost, status: &PhysicalHostStatus) -> bool {
    status.hardware_details.is_some() && (!is_discovered(host) || status.observed_power_state.is_some())
}

/// Whether a discovered machine is being inspected.
pub(super) fn is_inspecting(host: &PhysicalHost) -> bool {
    is_discovered(host)
        && Errand::of(host).is_some_and(|errand| errand.purpose == Purpose::Inspect && errand.armed.is_some())
}

/// What follows for a discovered machine whose BMC can't be asked.
pub(super) fn without_bmc(host: &PhysicalHost, now: Timestamp, patience: Duration) -> Plan {
    if host.metadata.deletion_timestamp.is_some() || !is_inspecting(host) {
        return Plan::Watch;
    }
    let Some(errand) = Errand::of(host) else { return Plan::Watch };
    let Some(booting) = errand.armed.clone() else { return Plan::Watch };
    if let Some(inspected) = annotation(host, annotations::INSPECTED) {
        // What is no time was written by people: there is nothing to wait for.
        let waits = inspected.parse().is_ok_and(|since| !has_passed(since, now, FAREWELL));
        return if waits { Plan::AwaitBoot } else { Plan::CloseErrand };
    }
    if !wants_inspection(host, false) {
        return Plan::CloseErrand;
    }
    let is_over = booting.is_over(now, patience);
    let work = errand.purpose.work();
    let works = Said::of(host, &Assignment { work, booting }).is_some_and(|said| {
        said.stage() != Stage::Failed
            && !said.is_older_than(SILENT, now)
            && said.stuck_since(work, now).is_none()
    });
    if is_over && !works { Plan::CloseErrand } else { Plan::ServeAgent(errand) }
}

/// What is said of the connection of a candidate that has its credentials already.
pub(super) fn nowhere() -> Finding {
    Finding {
        truth: Truth::False,
        reason: reasons::NOT_PROBED,
        message: "Nobody has said where its BMC is: set spec.redfishConnection.address".to_owned(),
    }
}

/// What a cordoned candidate says of itself beside why it is cordoned.
pub(super) fn known_of(host: &PhysicalHost) -> String {
    if let Some(known) = turned_out_to_be(host) {
        return format!(
            "Its machine is the one of host {known}, which has its UUID or one of its MAC addresses: it was started anew, and \
             is left alone. Write this address into that host, and delete this one"
        );
    }
    let known = if annotation(host, annotations::INSPECTED).is_some() {
        "What it is made of is in status.hardwareDetails, and in its HardwareData"
    } else if wants_inspection(host, false) {
        let again = "It is tried again when the machine asks again for something to boot";
        return match Said::last(host) {
            Some(said) => format!(
                "It was not inspected: its agent could not say within --boot-timeout what it is made of. {again}{}",
                last_word(Some(&said))
            ),
            None => format!(
                "It was not inspected: its agent did not come within --boot-timeout, or what it saw was taken back. \
                 {again}"
            ),
        };
    } else {
        "It is left alone: spec.inspect says so"
    };
    known.to_owned()
}

/// Whether what the agent said stays when the errand of a host is closed: it could not say what the machine is made of, and
/// its last word is all that people can go by.
#[must_use]
pub fn keeps_last_word(host: &PhysicalHost) -> bool {
    is_candidate(host) && wants_inspection(host, false)
}

/// The BMC that a discovered host was given is in another machine than the agent saw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnotherMachine {
    /// The UUID that the agent saw.
    pub inspected: String,
    /// The one that the BMC tells.
    pub told: String,
}

impl AnotherMachine {
    pub(super) fn trouble(&self) -> Trouble {
        let Self { inspected, told } = self;
        Trouble {
            reason: reasons::BMC_OF_ANOTHER_MACHINE,
            message: format!(
                "The BMC is in the machine with UUID {told}, and the one that was discovered has {inspected}. Correct \
                 redfishConnection.address; where it is right, and its BMC tells another UUID than its firmware, take the \
                 annotation {} off",
                annotations::INSPECTED_UUID
            ),
            passes: false,
        }
    }
}

#[cfg(test)]
#[path = "discovery_tests.rs"]
mod tests;

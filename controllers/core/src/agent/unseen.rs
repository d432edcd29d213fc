//! Disks that an agent did not see, and so did not wipe: a controller without a driver hides them, and nobody knows what is on
//! them.
//!
//! A controller that nothing drives may have no disks at all: many boards have one that nobody uses. So it keeps a host back
//! only where somebody has demanded that its disks are wiped: there, what may hold a tenant's data is not called clean. Where
//! wiping is only what is usual, a host that would stay back for ever for a controller without disks is worse; an event names
//! the controllers.

use std::collections::BTreeMap;

use beskar7_agent_protocol::{
    hardware::PciDevice,
    report::{Cleaned, CleanedDisk, Failure},
};
use beskar7_api::{PhysicalHost, annotations, hardware::Hardware};
use beskar7_machine_uuid::MachineUuid;

use super::{identity::machine_of, inspected::text};
use crate::host::cleaning::Demand;

/// So many serial numbers are named, and so much of each.
const MOST_NAMED: usize = 6;
const LONGEST_NAME: usize = 40;
/// So many controllers are named, and so much of each address and number.
const MOST_CONTROLLERS: usize = 3;
const LONGEST_NUMBER: usize = 16;

/// What is missing among the disks that were wiped, if something is. `inspected` is what an agent saw of the machine before;
/// disks that only its BMC tells of may be behind a RAID controller, under other names.
pub(super) fn unseen(
    host: &PhysicalHost,
    (Cleaned { disks: wiped, undriven }, demand): (&Cleaned, &Demand),
    inspected: Option<&Hardware>,
) -> Option<Failure> {
    let failed = |message| Some(Failure { step: "wiping".to_owned(), disk: None, message });
    if let (Some(controllers), true) = (controllers(undriven), demand.is_asked_for) {
        return failed(behind(&controllers, &demand.claim));
    }
    let inspected = inspected.filter(|seen| is_of_machine(host, seen));
    let details = host.status.as_ref().and_then(|status| status.hardware_details.as_ref());
    let told = details.map_or(0, |details| details.hardware.storage.len());
    let message = match (wiped.as_slice(), inspected.map(|seen| seen.storage.len())) {
        ([], Some(0)) if told == 0 => return None,
        ([], None) if told == 0 => format!(
            "no disk was found, and nobody knows whether the machine has any: {DRIVER}. One that has none is called clean \
             where the agent has inspected it, or with spec.cleaning None"
        ),
        ([], seen) => {
            let known = told.max(seen.unwrap_or(0));
            format!("no disk was found, and {known} are known of this machine: {DRIVER}")
        }
        ([_, ..], None | Some(_)) => missing(wiped, inspected?, &demand.claim)?,
    };
    failed(message)
}

/// Why nobody knows whether all disks are wiped.
fn behind(controllers: &str, claim: &str) -> String {
    format!(
        "what is behind storage controllers that nothing in the agent's ramdisk drives was neither seen nor wiped: \
         {controllers}. Make a ramdisk with their modules, or with a kernel that has them. Where they have no disks, turn them \
         off in the machine's firmware; or set the annotation {} to {claim}, which says that all disks are clean. A \
         host of which nothing needs to be wiped has spec.cleaning None, where no policy demands more",
        annotations::CLEANED
    )
}

/// The controllers that nothing drives, in words: `0000:02:00.0 (1000:0097)`. None where there are none.
#[must_use]
pub fn controllers(undriven: &[PciDevice]) -> Option<String> {
    let short =
        |text: &str| -> String { text.chars().filter(char::is_ascii_graphic).take(LONGEST_NUMBER).collect() };
    let named =
        undriven.iter().take(MOST_CONTROLLERS).map(|PciDevice { address, vendor, device, class: _ }| {
            format!("{} ({}:{})", short(address), short(vendor), short(device))
        });
    let named = named.collect::<Vec<_>>().join(", ");
    match undriven.len().saturating_sub(MOST_CONTROLLERS) {
        _ if undriven.is_empty() => None,
        0 => Some(named),
        more => Some(format!("{named}, and {more} more")),
    }
}

const DRIVER: &str = "the agent's ramdisk may lack the driver of their controller";

/// Whether it is this machine that was inspected, as far as that can be told.
fn is_of_machine(host: &PhysicalHost, seen: &Hardware) -> bool {
    let inspected = seen.uuid.as_deref().and_then(MachineUuid::real);
    !matches!((machine_of(host), inspected), (Some(own), Some(seen)) if !own.is_same_machine(seen))
}

/// Which disks are missing that were there when the machine was inspected. Several may have one serial number: the namespaces
/// of an NVMe disk. Those without one are only counted.
fn missing(wiped: &[CleanedDisk], inspected: &Hardware, claim: &str) -> Option<String> {
    let mut left: BTreeMap<Option<String>, usize> = BTreeMap::new();
    for disk in wiped {
        *left.entry(text(disk.serial_number.as_deref())).or_default() += 1;
    }
    let is_missing = |serial: &Option<String>| match left.get_mut(serial).filter(|left| **left > 0) {
        Some(left) => {
            *left -= 1;
            false
        }
        None => true,
    };
    let mut serials: Vec<Option<String>> =
        inspected.storage.iter().map(|disk| disk.serial_number.clone()).collect();
    serials.retain(is_missing);
    let named = serials.iter().take(MOST_NAMED).map(|serial| match serial {
        Some(serial) => serial.chars().take(LONGEST_NAME).collect(),
        None => "one without a serial number".to_owned(),
    });
    let named = named.collect::<Vec<String>>().join(", ");
    let more = match serials.len().saturating_sub(MOST_NAMED) {
        _ if serials.is_empty() => return None,
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    Some(format!(
        "{} of the {} disks that the agent saw when it inspected the machine were not found: {named}{more}. They are broken, \
         or {DRIVER}. If they were taken out, set the annotation {} to {claim}; and take {} off, that it is inspected anew",
        serials.len(),
        inspected.storage.len(),
        annotations::CLEANED,
        annotations::INSPECTED
    ))
}

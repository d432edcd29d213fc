//! Which machine an order is for, and whether another one speaks: a MAC address that was mistyped has another one start the
//! agent.

use beskar7_agent_protocol::report::{Failure, Report};
use beskar7_api::{PhysicalHost, annotations};
use beskar7_machine_uuid::MachineUuid;

use crate::host::hold::annotation;

/// What people write where the UUIDs are not to be compared.
const NOT_COMPARED: &str = "none";

/// The machine of a host: what people say its UUID is, else what its BMC tells. Nothing where that is no real one, or where
/// people say `none`. A slip of the pen turns nothing off: what is no UUID counts as if it were not there.
#[must_use]
pub(super) fn machine_of(host: &PhysicalHost) -> Option<MachineUuid> {
    let written = annotation(host, annotations::MACHINE_UUID);
    if written.is_some_and(|written| written.trim().eq_ignore_ascii_case(NOT_COMPARED)) {
        return None;
    }
    let told = || host.status.as_ref()?.hardware_details.as_ref()?.hardware.uuid.as_deref();
    written.and_then(MachineUuid::real).or_else(|| MachineUuid::real(told()?))
}

/// Another machine than the host's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stranger {
    ordered: MachineUuid,
    /// Its UUID.
    pub(super) own: MachineUuid,
}

impl Stranger {
    /// Who reports, where that is another machine. One that tells no UUID of its own can't be told from the host's.
    pub(super) fn of(host: &PhysicalHost, report: &Report) -> Option<Self> {
        let own = MachineUuid::real(report.machine.as_deref()?)?;
        let ordered = machine_of(host)?;
        (!ordered.is_same_machine(own)).then_some(Self { ordered, own })
    }

    /// What people do about it.
    pub(super) fn failure(&self) -> Failure {
        let Self { ordered, own } = self;
        let message = format!(
            "the machine of this host has the UUID {ordered}, and the one that started the agent for it has {own}; that one \
             was left as it is. Correct spec.bootMACAddress, which is another machine's. Where this is the right one, and its \
             BMC tells another UUID than its firmware, set the annotation {} to {own}",
            annotations::MACHINE_UUID
        );
        Failure { step: "comparing UUIDs".to_owned(), disk: None, message }
    }
}

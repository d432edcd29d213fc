//! Filter: whether a host will do for a wish, and if not, the one reason why.

use beskar7_api::HostState;

use super::{
    candidate::Candidate,
    labels,
    wish::{ReservationRule, Wish},
};

const MIB_PER_GIB: i64 = 1024;
const BYTES_PER_GB: i64 = 1_000_000_000;

/// What a wish gets from a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It will do.
    Fits,
    /// It is one of those that the wish may know of, and will not do.
    Rejected(Rejection),
    /// The wish may not know of it: it is not counted and not spoken of.
    OutOfSight,
}

/// Why a host will not do. A host is rejected for the first reason in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rejection {
    /// It is on its way back.
    Deprovisioning,
    /// Somebody holds it.
    Claimed,
    /// It runs something that we did not install.
    ExternallyProvisioned,
    /// Its BMC is being reached, or its hardware read.
    Enrolling,
    /// It could not be enrolled.
    InError,
    /// Nobody knows its state.
    StateUnknown,
    /// Its BMC is silent, or a part is critical.
    Unhealthy,
    /// The platform team keeps it from new consumers.
    Cordoned,
    /// It is to be left as it is.
    OnHold,
    /// It is being deleted.
    Deleting,
    /// It is kept for somebody else.
    Reserved,
    /// Another host is kept for this wish.
    NotTheReserved,
    /// It lacks the labels.
    Labels,
    /// It is in another zone.
    Zone,
    /// Kernel parameters reach its kernel in another way, if at all.
    BootParameters,
    /// Nobody knows with which MAC address it boots from the network.
    BootMac,
    /// Too few cores.
    Cores,
    /// Nobody knows its cores yet.
    CoresUnknown,
    /// Too little memory.
    Memory,
    /// Nobody knows its memory yet.
    MemoryUnknown,
    /// No disk is large enough.
    Disk,
    /// Nobody knows its disks yet.
    DiskUnknown,
    /// It has another architecture.
    Architecture,
    /// Nobody knows its architecture.
    ArchitectureUnknown,
}

/// Whether a host will do for a wish.
#[must_use]
pub fn judge(wish: &Wish<'_>, host: &Candidate<'_>) -> Verdict {
    if !in_sight(wish, host) {
        return Verdict::OutOfSight;
    }
    let reason = not_free(host)
        .or_else(|| not_usable(host))
        .or_else(|| kept_for_others(wish, host))
        .or_else(|| of_another_kind(wish, host))
        .or_else(|| too_small(wish, host));
    reason.map_or(Verdict::Fits, Verdict::Rejected)
}

/// Whether a host is of the kind that a wish is for, whoever has it and however it is today. One that runs what we did
/// not install is for nobody.
#[must_use]
pub fn suits(wish: &Wish<'_>, host: &Candidate<'_>) -> bool {
    in_sight(wish, host)
        && !host.externally_provisioned
        && of_another_kind(wish, host).is_none()
        && too_small(wish, host).is_none()
}

fn in_sight(wish: &Wish<'_>, host: &Candidate<'_>) -> bool {
    wish.namespaces.contains(host.namespace)
        && wish.host.is_none_or(|name| name == host.name)
        && wish.pool.is_none_or(|pool| labels::fit(host.labels, pool))
}

/// Free is a host that says Available and names no claim anywhere: not in its spec, and not as the one that its
/// machine was last made ready for.
pub(super) fn not_free(host: &Candidate<'_>) -> Option<Rejection> {
    let claim = &host.claim;
    let held = claim.consumer.is_some() || claim.claim_id.is_some() || claim.machine_of.is_some();
    let released = claim.claim_id.is_some() && claim.released == claim.claim_id;
    match host.state {
        Some(HostState::Deprovisioning) => Some(Rejection::Deprovisioning),
        None | Some(_) if released => Some(Rejection::Deprovisioning),
        None | Some(_) if held => Some(Rejection::Claimed),
        None | Some(_) if host.externally_provisioned => Some(Rejection::ExternallyProvisioned),
        Some(HostState::Available) => None,
        Some(HostState::Enrolling | HostState::Inspecting) => Some(Rejection::Enrolling),
        Some(HostState::Claimed | HostState::Provisioning | HostState::Provisioned) => {
            Some(Rejection::Claimed)
        }
        Some(HostState::Error) => Some(Rejection::InError),
        None | Some(HostState::Unknown) => Some(Rejection::StateUnknown),
    }
}

fn not_usable(host: &Candidate<'_>) -> Option<Rejection> {
    [
        (!host.healthy, Rejection::Unhealthy),
        (host.cordoned, Rejection::Cordoned),
        (host.on_hold, Rejection::OnHold),
        (host.deleting, Rejection::Deleting),
    ]
    .into_iter()
    .find_map(|(so, reason)| so.then_some(reason))
}

fn kept_for_others(wish: &Wish<'_>, host: &Candidate<'_>) -> Option<Rejection> {
    match (wish.reservation, host.reserved_for) {
        (ReservationRule::Unreserved, None) => None,
        (ReservationRule::Unreserved, Some(_)) => Some(Rejection::Reserved),
        (ReservationRule::Only(mine), Some(theirs)) if mine == theirs => None,
        (ReservationRule::Only(_), Some(_)) => Some(Rejection::Reserved),
        (ReservationRule::Only(_), None) => Some(Rejection::NotTheReserved),
    }
}

fn of_another_kind(wish: &Wish<'_>, host: &Candidate<'_>) -> Option<Rejection> {
    if wish.selector.is_some_and(|selector| !labels::fit(host.labels, selector)) {
        return Some(Rejection::Labels);
    }
    if wish.zone.is_some_and(|zone| host.zone() != Some(zone)) {
        return Some(Rejection::Zone);
    }
    let in_vain = wish.parameters_by.is_some_and(|ways| !ways.contains(&host.parameters_by));
    if in_vain {
        return Some(Rejection::BootParameters);
    }
    (wish.from_network && !host.has_boot_mac).then_some(Rejection::BootMac)
}

fn too_small(wish: &Wish<'_>, host: &Candidate<'_>) -> Option<Rejection> {
    let wanted = wish.requirements?;
    let size = &host.size;
    let least = |wanted: Option<i32>, unit: i64| wanted.map(|n| i64::from(n).saturating_mul(unit));
    lacks(least(wanted.min_cpu_cores, 1), size.cores, (Rejection::Cores, Rejection::CoresUnknown))
        .or_else(|| {
            let wanted = least(wanted.min_memory_gb, MIB_PER_GIB);
            lacks(wanted, size.memory_mib, (Rejection::Memory, Rejection::MemoryUnknown))
        })
        .or_else(|| {
            let wanted = least(wanted.min_disk_gb, BYTES_PER_GB);
            lacks(wanted, size.disk_bytes, (Rejection::Disk, Rejection::DiskUnknown))
        })
        .or_else(|| match (wanted.architecture, host.architecture) {
            (None, None | Some(_)) => None,
            (Some(_), None) => Some(Rejection::ArchitectureUnknown),
            (Some(wanted), Some(there)) => (wanted != there).then_some(Rejection::Architecture),
        })
}

fn lacks(
    wanted: Option<i64>,
    there: Option<i64>,
    (less, unknown): (Rejection, Rejection),
) -> Option<Rejection> {
    match (wanted, there) {
        (None, None | Some(_)) => None,
        (Some(_), None) => Some(unknown),
        (Some(wanted), Some(there)) => (there < wanted).then_some(less),
    }
}

#[cfg(test)]
#[path = "filter_tests.rs"]
mod tests;

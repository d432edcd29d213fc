//! Bind and release, the host's side: what the claim on a host asks of the PhysicalHost controller.
//!
//! `spec.claimID` says who shall have the machine, `status.claimID` whose it was last made ready for. A machine is
//! taken from somebody for one reason only: its claim is named by the annotation `…/release`. That something is
//! missing, the consumer, the reference to it, the claim itself, is never a reason.

use beskar7_api::HostState;

use super::candidate::Candidate;

/// What the claim on a host asks of its controller. Every write that follows carries the `resourceVersion`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Custody {
    /// Paused or moved away: nothing is done and nothing written.
    OnHold,
    /// Nobody's, and clean. Only now may its state become Available, in a write of its own.
    Free,
    /// Nobody's, clean, and to be deleted: its finalizer may go.
    MayGo,
    /// Somebody new has it: `status.claimID` becomes `spec.claimID`, and the state Claimed, before anything is done to
    /// the machine.
    Accept,
    /// Its consumer's, and to be made what that wants, wherever it stands: also when it was being deprovisioned.
    Held,
    /// Left exactly as it is, until somebody puts it right. Nothing is turned off, booted or handed out.
    Kept(Kept),
    /// To be turned off and cleaned. First the state becomes Deprovisioning and `status.claimID` names the claim that
    /// it is cleaned of; in the end `status.claimID` is cleared and the state stays.
    Deprovision,
    /// Clean: in one patch of the host, `claimID` and what is left of `consumerRef`, `bootIsoSource` and `boot` are
    /// cleared, the annotation `…/release` is removed, and `…/fence` names the claim that ended.
    ClearClaim,
}

/// Why a host is left as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kept {
    /// The object that holds it does not exist; it may be on its way from another management cluster. A person who is
    /// sure writes the annotation `…/release` with the claim ID.
    ConsumerMissing,
    /// `consumerRef` is empty and `claimID` is not: its consumer puts it back.
    ReferenceLost,
    /// The spec names no claim, and the machine is not clean of one: its consumer puts it back.
    ClaimLost,
    /// `consumerRef` is there and no `claimID`: nobody can say whose it is.
    NoClaimId,
}

/// What the claim on a host asks of its controller. `consumer_exists` is `None` where nobody looked.
#[must_use]
pub fn custody(host: &Candidate<'_>, consumer_exists: Option<bool>) -> Custody {
    let claim = &host.claim;
    if host.on_hold {
        return Custody::OnHold;
    }
    match (claim.claim_id, claim.machine_of) {
        (None, None) if claim.consumer.is_some() => Custody::Kept(Kept::NoClaimId),
        (None, None) if host.deleting => Custody::MayGo,
        (None, None) => Custody::Free,
        (None, Some(machine)) if claim.released == Some(machine) => Custody::Deprovision,
        (None, Some(_)) => Custody::Kept(Kept::ClaimLost),
        // Clean of the last one before it is the next one's: its consumer wants another image, or none.
        (Some(wanted), Some(machine)) if wanted != machine => Custody::Deprovision,
        (Some(wanted), None | Some(_)) if claim.released == Some(wanted) => {
            if claim.machine_of.is_none() && cleaned(host.state) {
                Custody::ClearClaim
            } else {
                Custody::Deprovision
            }
        }
        (Some(_), None | Some(_)) if claim.consumer.is_none() => Custody::Kept(Kept::ReferenceLost),
        // A host may come to another management cluster before its consumer does, and without its status.
        (Some(_), None | Some(_)) if consumer_exists == Some(false) => Custody::Kept(Kept::ConsumerMissing),
        (Some(_), None) => Custody::Accept,
        (Some(_), Some(_)) => Custody::Held,
    }
}

/// Of a released host that names no claim in its status: whether that is so because it is clean, or because nothing
/// was done yet, or because the status was lost. In doubt it is cleaned again.
fn cleaned(state: Option<HostState>) -> bool {
    match state {
        Some(HostState::Deprovisioning) => true,
        None
        | Some(
            HostState::Enrolling
            | HostState::Inspecting
            | HostState::Available
            | HostState::Claimed
            | HostState::Provisioning
            | HostState::Provisioned
            | HostState::Error
            | HostState::Unknown,
        ) => false,
    }
}

#[cfg(test)]
#[path = "custody_tests.rs"]
mod tests;

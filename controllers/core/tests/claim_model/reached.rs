//! Which decisions a search came to: one that never comes to a decision says nothing about it.

use std::sync::atomic::{AtomicU64, Ordering};

use beskar7_core::claim::{Custody, GivenUp, Kept, Step, Wait, Why};

static REACHED: AtomicU64 = AtomicU64::new(0);

/// The decisions that a search must come to, by name.
const ALL: [&str; 28] = [
    "wait for deprovisioning",
    "wait, having lost the host",
    "bound",
    "choose",
    "intent: finalizer lost",
    "intent: adopted",
    "give up: gone",
    "give up: rejected",
    "give up: released",
    "give up: lost",
    "give up: holds another",
    "drop the intent",
    "let go",
    "bind",
    "restore",
    "renew",
    "fence",
    "release",
    "release a stray",
    "free",
    "may go",
    "accept",
    "held",
    "kept: consumer missing",
    "kept: reference lost",
    "kept: claim lost",
    "deprovision",
    "clear the claim",
];

fn reach(name: &str) {
    let bit = ALL.iter().position(|known| *known == name).expect("a known name");
    if REACHED.load(Ordering::Relaxed) & (1 << bit) == 0 {
        REACHED.fetch_or(1 << bit, Ordering::Relaxed);
    }
}

/// What no search of this process came to.
pub fn never() -> Vec<&'static str> {
    let reached = REACHED.load(Ordering::Relaxed);
    ALL.iter().enumerate().filter(|(bit, _)| reached & (1 << bit) == 0).map(|(_, name)| *name).collect()
}

pub fn step(step: &Step) {
    reach(match step {
        Step::Wait(Wait::Deprovisioning) => "wait for deprovisioning",
        Step::Wait(Wait::HostLost) => "wait, having lost the host",
        // Nobody is on hold in the model, or has a finalizer of others.
        Step::Wait(Wait::OnHold | Wait::HostOnHold | Wait::NothingHeld) => return,
        Step::Look(_) => return,
        Step::Bound => "bound",
        Step::Choose => "choose",
        Step::WriteIntent(_, Why::FinalizerLost) => "intent: finalizer lost",
        Step::WriteIntent(_, Why::Adopted) => "intent: adopted",
        Step::WriteIntent(_, Why::GivingUp(why)) => match why {
            GivenUp::HostGone => "give up: gone",
            GivenUp::Rejected(_) => "give up: rejected",
            GivenUp::Released => "give up: released",
            GivenUp::Lost => "give up: lost",
            GivenUp::HoldsAnother => "give up: holds another",
            // There are no policies in the model.
            GivenUp::NotAllowed => return,
        },
        Step::DropIntent => "drop the intent",
        Step::LetGo => "let go",
        Step::BindHost(_) => "bind",
        Step::RestoreHost(_) => "restore",
        Step::RenewHost(_) => "renew",
        Step::FenceHost(_) => "fence",
        Step::ReleaseHost(_) => "release",
        Step::ReleaseStray { .. } => "release a stray",
    });
}

pub fn custody(custody: Custody) {
    reach(match custody {
        Custody::Free => "free",
        Custody::MayGo => "may go",
        Custody::Accept => "accept",
        Custody::Held => "held",
        Custody::Kept(Kept::ConsumerMissing) => "kept: consumer missing",
        Custody::Kept(Kept::ReferenceLost) => "kept: reference lost",
        Custody::Kept(Kept::ClaimLost) => "kept: claim lost",
        Custody::Deprovision => "deprovision",
        Custody::ClearClaim => "clear the claim",
        // Nobody is on hold in the model, and nobody takes off the claim ID alone.
        Custody::OnHold | Custody::Kept(Kept::NoClaimId) => return,
    });
}

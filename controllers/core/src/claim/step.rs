//! Bind and release, the consumer's side: the one next write.
//!
//! Why it is safe, in short. A binding is decided from a host that was read first and a consumer that was read after
//! it, and counts only if the host is still the one that was read. Whoever gives up a claim makes that visible on the
//! consumer first (`given-up`, or its deletion), then changes a host that is free (the fence), and only then, having
//! looked at the host once more, forgets the claim. So a decision that did not see the giving up is older than the
//! fence, and fails; and what the host says after the fence is the last word on that claim.

use super::{
    candidate::Candidate,
    consumer::Consumer,
    filter::{Rejection, Verdict, judge, not_free},
    intent::{ClaimId, Intent},
    wish::Wish,
};

/// What was found where the intent points.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Intended<'a> {
    /// Nobody looked: there was no intent then.
    NotLooked,
    /// The host.
    There(Candidate<'a>),
    /// No host of this name.
    Gone {
        /// Where it would be.
        namespace: &'a str,
        /// What it would be called.
        name: &'a str,
    },
}

/// In which order the intended host and the consumer were read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Order {
    /// The host, from wherever; then the consumer, from the API server. What binds needs this one.
    HostThenConsumer,
    /// The consumer, then the host, both from the API server. What gives up or forgets a claim needs this one.
    ConsumerThenHost,
}

/// The one next write, or none. All but `FenceHost` are made at the `resourceVersion` that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Nothing, until something changes.
    Wait(Wait),
    /// Nothing yet: look again at once, in this order. The step that comes next rests on it.
    Look(Order),
    /// All is as it should be: the host is this consumer's.
    Bound,
    /// It has no host: [`super::choose`] one, and write the [`Intent`] to take it.
    Choose,
    /// On the consumer: this intent as annotation, and our finalizer, in one patch.
    WriteIntent(Intent, Why),
    /// On the consumer: remove the annotation.
    DropIntent,
    /// On the consumer: remove the annotation and our finalizer, in one patch.
    LetGo,
    /// On the host, in one merge patch: `consumerRef`, `claimID`, `bootIsoSource`, `boot`, and who owns it for the
    /// next choice.
    BindHost(ClaimId),
    /// The same patch, where somebody else took these fields off a host that is this consumer's.
    RestoreHost(ClaimId),
    /// The same patch, on a host that is this consumer's under the claim that this one takes the place of: the machine is
    /// cleaned of that one, and nobody else can get it in between.
    RenewHost(ClaimId),
    /// On the host: the annotation `…/fence` with this claim. The only write without `resourceVersion`: its point is
    /// to move it. What the API server answers may be taken as the host that was seen.
    FenceHost(ClaimId),
    /// On the host, in one merge patch: clear `consumerRef`, `bootIsoSource` and `boot`, and write the annotation
    /// `…/release` with this claim.
    ReleaseHost(ClaimId),
    /// The same, on another host that this consumer should not have.
    ReleaseStray {
        /// The host's namespace.
        namespace: String,
        /// The host's name.
        name: String,
        /// Its claim.
        claim_id: ClaimId,
    },
}

/// What is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Wait {
    /// The consumer is paused or moved away: nothing is bound and nothing released.
    OnHold,
    /// Its host is: nothing is put back there and nothing released.
    HostOnHold,
    /// The host is being turned off and cleaned.
    Deprovisioning,
    /// It had its machine, and lost it: it gets no other.
    HostLost,
    /// It holds nothing, and is only not gone because others have finalizers on it.
    NothingHeld,
}

/// Why an intent is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Why {
    /// Somebody took our finalizer off.
    FinalizerLost,
    /// Somebody took the annotation off, and this host says that it belongs here.
    Adopted,
    /// The host is given up.
    GivingUp(GivenUp),
}

/// Why a host is given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GivenUp {
    /// It is gone.
    HostGone,
    /// It does not fit any more: mostly another was faster.
    Rejected(Rejection),
    /// No policy allows it any more, or it left the pool.
    NotAllowed,
    /// A person released it, or this claim ended there.
    Released,
    /// The consumer had it, and it is somebody else's now, or nobody's.
    Lost,
    /// The consumer has another host already.
    HoldsAnother,
}

/// What a consumer does next, from what was read in this order. `referring` are the hosts whose `consumerRef` names it.
/// They matter only where somebody edited an intent, and may come from a cache; for a consumer that is deleted and has
/// no intent, ask the API server.
#[must_use]
pub fn next(
    consumer: &Consumer<'_>,
    wish: &Wish<'_>,
    order: Order,
    intended: &Intended<'_>,
    referring: &[Candidate<'_>],
) -> Step {
    let step = whatever_the_order(consumer, wish, intended, referring);
    match (&step, order) {
        (
            Step::RestoreHost(_) | Step::RenewHost(_) | Step::ReleaseHost(_),
            Order::HostThenConsumer | Order::ConsumerThenHost,
        ) if on_hold(intended) => Step::Wait(Wait::HostOnHold),
        (Step::BindHost(_) | Step::RestoreHost(_) | Step::RenewHost(_), Order::ConsumerThenHost) => {
            Step::Look(Order::HostThenConsumer)
        }
        (
            Step::WriteIntent(_, Why::GivingUp(_)) | Step::DropIntent | Step::LetGo,
            Order::HostThenConsumer,
        ) => Step::Look(Order::ConsumerThenHost),
        (
            Step::BindHost(_)
            | Step::RestoreHost(_)
            | Step::RenewHost(_)
            | Step::DropIntent
            | Step::LetGo
            | Step::Wait(_)
            | Step::Look(_)
            | Step::Bound
            | Step::Choose
            | Step::WriteIntent(..)
            | Step::FenceHost(_)
            | Step::ReleaseHost(_)
            | Step::ReleaseStray { .. },
            Order::HostThenConsumer | Order::ConsumerThenHost,
        ) => step,
    }
}

fn on_hold(intended: &Intended<'_>) -> bool {
    match intended {
        Intended::There(host) => host.on_hold,
        Intended::NotLooked | Intended::Gone { .. } => false,
    }
}

fn whatever_the_order(
    consumer: &Consumer<'_>,
    wish: &Wish<'_>,
    intended: &Intended<'_>,
    referring: &[Candidate<'_>],
) -> Step {
    if consumer.on_hold {
        return Step::Wait(Wait::OnHold);
    }
    let intent = consumer.intent.and_then(Intent::parse);
    let stray = referring.iter().find_map(|host| stray(consumer, intent.as_ref(), host));
    let Some(intent) = intent else { return without_intent(consumer, stray) };
    if !looked_at(&intent, intended) {
        return Step::Look(Order::HostThenConsumer);
    }
    if consumer.deleting || intent.given_up {
        return leaving(consumer, &intent, intended, stray.as_ref());
    }
    if !consumer.finalizer {
        return Step::WriteIntent(intent, Why::FinalizerLost);
    }
    match intended {
        Intended::NotLooked => Step::Look(Order::HostThenConsumer),
        Intended::Gone { .. } => give_up(&intent, GivenUp::HostGone),
        Intended::There(host) => holding(consumer, wish, &intent, host, stray),
    }
}

fn looked_at(intent: &Intent, intended: &Intended<'_>) -> bool {
    let (namespace, name) = match intended {
        Intended::NotLooked => return false,
        Intended::There(host) => (host.namespace, host.name),
        Intended::Gone { namespace, name } => (*namespace, *name),
    };
    intent.namespace == namespace && intent.host == name
}

/// A host that is this very consumer's by its own account, and that the intent does not speak of: somebody edited
/// the intent.
fn stray(consumer: &Consumer<'_>, intent: Option<&Intent>, host: &Candidate<'_>) -> Option<Intent> {
    let claim = &host.claim;
    let claim_id = ClaimId::parse(claim.claim_id?)?;
    let meant = claim.consumer.is_some_and(|reference| consumer.identity.is_meant_by(reference));
    let known =
        intent.is_some_and(|intent| intent.claim_id == claim_id || intent.renews.as_ref() == Some(&claim_id));
    let released = claim.released == Some(claim_id.as_str());
    (meant && !known && !released).then(|| Intent {
        namespace: host.namespace.to_owned(),
        host: host.name.to_owned(),
        claim_id,
        renews: None,
        given_up: false,
    })
}

/// No intent, or one that nobody can read. What was meant can't be known from it; a host that names this very object
/// can be believed.
fn without_intent(consumer: &Consumer<'_>, stray: Option<Intent>) -> Step {
    if let Some(intent) = stray {
        return Step::WriteIntent(intent, Why::Adopted);
    }
    match (consumer.deleting, consumer.finalizer || consumer.intent.is_some()) {
        (true, true) => Step::LetGo,
        (true, false) => Step::Wait(Wait::NothingHeld),
        (false, true | false) if consumer.intent.is_some() => Step::DropIntent,
        (false, true | false) if consumer.settled => Step::Wait(Wait::HostLost),
        (false, true | false) => Step::Choose,
    }
}

/// Whose a host is, seen from a claim.
enum Whose<'a> {
    /// This consumer's, under this claim, or under the one whose place that takes.
    Mine(&'a ClaimId),
    /// The same, but the host's spec says nothing any more.
    MineWiped(&'a ClaimId),
    /// Another's, or nobody's.
    NotMine,
}

/// The claim ID alone does not make it this consumer's: who copies a consumer copies its annotation, too, and the host
/// says whose it is.
fn whose<'a>(consumer: &Consumer<'_>, intent: &'a Intent, host: &Candidate<'_>) -> Whose<'a> {
    if host.claim.consumer.is_some_and(|reference| consumer.identity.is_not_meant_by(reference)) {
        return Whose::NotMine;
    }
    let ours = |id: &str| {
        let all = std::iter::once(&intent.claim_id).chain(intent.renews.as_ref());
        all.into_iter().find(|mine| mine.as_str() == id)
    };
    match (host.claim.claim_id, host.claim.machine_of) {
        (Some(claim), None | Some(_)) => ours(claim).map_or(Whose::NotMine, Whose::Mine),
        (None, Some(machine)) => ours(machine).map_or(Whose::NotMine, Whose::MineWiped),
        (None, None) => Whose::NotMine,
    }
}

fn holding(
    consumer: &Consumer<'_>,
    wish: &Wish<'_>,
    intent: &Intent,
    host: &Candidate<'_>,
    stray: Option<Intent>,
) -> Step {
    let claim = &host.claim;
    match whose(consumer, intent, host) {
        Whose::Mine(id) | Whose::MineWiped(id) if claim.released == Some(id.as_str()) => {
            give_up(intent, GivenUp::Released)
        }
        Whose::Mine(id) | Whose::MineWiped(id) if *id != intent.claim_id => {
            Step::RenewHost(intent.claim_id.clone())
        }
        Whose::MineWiped(id) => Step::RestoreHost(id.clone()),
        Whose::Mine(id) => match (claim.consumer, stray) {
            (Some(reference), None) if consumer.identity.is_meant_by(reference) => Step::Bound,
            (Some(reference), Some(stray)) if consumer.identity.is_meant_by(reference) => {
                Step::ReleaseStray { namespace: stray.namespace, name: stray.host, claim_id: stray.claim_id }
            }
            (None | Some(_), None | Some(_)) => Step::RestoreHost(id.clone()),
        },
        Whose::NotMine if consumer.settled => give_up(intent, GivenUp::Lost),
        Whose::NotMine if stray.is_some() => give_up(intent, GivenUp::HoldsAnother),
        Whose::NotMine if claim.fence == Some(intent.claim_id.as_str()) => give_up(intent, GivenUp::Released),
        Whose::NotMine => match judge(wish, host) {
            Verdict::Fits => Step::BindHost(intent.claim_id.clone()),
            Verdict::Rejected(reason) => give_up(intent, GivenUp::Rejected(reason)),
            Verdict::OutOfSight => give_up(intent, GivenUp::NotAllowed),
        },
    }
}

fn give_up(intent: &Intent, why: GivenUp) -> Step {
    Step::WriteIntent(intent.give_up(), Why::GivingUp(why))
}

/// The consumer goes, or goes for another host. Either is written on it already, so nothing new is bound under this
/// claim by whoever reads it now; whoever read it before loses to the fence.
fn leaving(
    consumer: &Consumer<'_>,
    intent: &Intent,
    intended: &Intended<'_>,
    stray: Option<&Intent>,
) -> Step {
    let done = match (consumer.deleting, stray) {
        (true, None) => Step::LetGo,
        // A stray is adopted next, and left in its turn.
        (true, Some(_)) | (false, None | Some(_)) => Step::DropIntent,
    };
    let host = match intended {
        Intended::NotLooked => return Step::Look(Order::ConsumerThenHost),
        Intended::Gone { .. } => return done,
        Intended::There(host) => host,
    };
    match whose(consumer, intent, host) {
        Whose::Mine(id) | Whose::MineWiped(id) if host.claim.released == Some(id.as_str()) => {
            // Released is for good: the host is cleaned whether or not anybody waits for it.
            if consumer.forced && consumer.deleting { done } else { Step::Wait(Wait::Deprovisioning) }
        }
        Whose::Mine(id) | Whose::MineWiped(id) => Step::ReleaseHost(id.clone()),
        Whose::NotMine if host.claim.fence == Some(intent.claim_id.as_str()) => done,
        // A host that was looked at before the giving up, and found free, was another version than this one: whoever
        // is about to bind it fails by that alone. So those who lost a race write nothing on the host.
        Whose::NotMine if not_free(host).is_some() => done,
        Whose::NotMine => Step::FenceHost(intent.claim_id.clone()),
    }
}

#[cfg(test)]
#[path = "step_tests.rs"]
mod tests;

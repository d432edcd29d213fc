//! The real engine, asked about the model's objects.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};

use beskar7_api::{boot::BootParameterMechanism, reference::ObjectReference};
use beskar7_core::claim::{
    self, Candidate, ClaimFields, ClaimId, Custody, Identity, Intended, Kept, Order, ReservationRule, Size,
    Step, Verdict, Why, Wish,
};

use crate::{
    reached,
    search::Mutant,
    world::{Consumer, Host, Id, Intent, Life, Reference, World, Write},
};

const NAMESPACE: &str = "metal";
const HOSTS: [&str; 3] = ["h0", "h1", "h2"];
const CONSUMERS: [&str; 3] = ["c0", "c1", "c2"];
/// No two objects have the same.
static UIDS: LazyLock<Vec<Vec<String>>> =
    LazyLock::new(|| CONSUMERS.map(|who| (0..12).map(|uid| format!("{who}-{uid}")).collect()).into());

static NAMESPACES: LazyLock<BTreeSet<String>> = LazyLock::new(|| BTreeSet::from([NAMESPACE.to_owned()]));
static IDS: LazyLock<Vec<ClaimId>> = LazyLock::new(|| (0..64).map(ClaimId::from_random).collect());
static REFERENCES: LazyLock<BTreeMap<(usize, u8), ObjectReference>> = LazyLock::new(|| {
    let all = (0..CONSUMERS.len()).flat_map(|who| (0..12u8).map(move |uid| (who, uid)));
    all.map(|(who, uid)| ((who, uid), identity(who, uid).reference())).collect()
});

fn identity(who: usize, uid: u8) -> Identity<'static> {
    Identity {
        api_version: "infrastructure.cluster.x-k8s.io/v1beta1",
        kind: "Beskar7Machine",
        namespace: "tenant",
        name: CONSUMERS[who],
        uid: &UIDS[who][usize::from(uid)],
    }
}

fn id(id: Id) -> &'static ClaimId {
    &IDS[usize::from(id)]
}

fn model_id(real: &ClaimId) -> Id {
    let position = IDS.iter().position(|id| id == real);
    Id::try_from(position.expect("the engine makes no claim IDs of its own")).unwrap()
}

fn candidate(at: usize, host: &Host) -> Candidate<'static> {
    let text = |claim: Option<Id>| claim.map(|claim| id(claim).as_str());
    Candidate {
        namespace: NAMESPACE,
        name: HOSTS[at],
        resource_version: "",
        labels: None,
        state: host.state.map(crate::world::State::real),
        healthy: true,
        cordoned: false,
        on_hold: false,
        deleting: host.deleting,
        externally_provisioned: false,
        reserved_for: None,
        size: Size::default(),
        architecture: None,
        parameters_by: BootParameterMechanism::default(),
        has_boot_mac: true,
        last_owner: None,
        claim: ClaimFields {
            consumer: host.consumer.map(|reference| &REFERENCES[&(reference.who, reference.uid)]),
            claim_id: text(host.claim),
            machine_of: text(host.machine_of.or(of_another(host))),
            released: text(host.released),
            fence: text(host.fence),
        },
    }
}

/// As [`Candidate::new`] reads it: where the status was lost, a mark of another claim than the host's tells.
fn of_another(host: &Host) -> Option<Id> {
    host.mark.filter(|mark| host.claim.is_some_and(|claim| claim != *mark))
}

fn wish(who: usize) -> Wish<'static> {
    Wish {
        consumer: CONSUMERS[who],
        owner: None,
        namespaces: &NAMESPACES,
        pool: None,
        host: None,
        selector: None,
        requirements: None,
        zone: None,
        parameters_by: None,
        from_network: false,
        reservation: ReservationRule::Unreserved,
    }
}

/// Whether a host will do, as the filter says.
pub fn fits(who: usize, at: usize, host: &Host) -> bool {
    host.there && claim::judge(&wish(who), &candidate(at, host)) == Verdict::Fits
}

/// What the engine says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decided {
    Nothing,
    Choose,
    Do(Write),
}

/// A new claim on the host that a consumer has, if it has one.
pub fn renewal(
    world: &World,
    mutant: Mutant,
    who: usize,
    consumer: &Consumer,
    seen: Option<(usize, &Host)>,
) -> Option<Write> {
    let runs = seen.is_some_and(|(_, host)| host.machine_of == consumer.intent.id());
    if !runs || step(world, mutant, who, consumer, seen)? != Step::Bound {
        return None;
    }
    let intent = claim::Intent::parse(&annotation(consumer.intent)?)?;
    let intent = intent.renew(id(world.fresh_id()).clone());
    let renews = intent.renews.as_ref().filter(|_| mutant != Mutant::RenewsWithoutName).map(model_id);
    let (host, id) = (consumer.intent.host()?, model_id(&intent.claim_id));
    Some(Write::Renew { who, intent: Intent::Of { host, id, renews, given_up: false } })
}

fn annotation(intent: Intent) -> Option<String> {
    match intent {
        Intent::None => None,
        Intent::Garbled => Some("metal/h0".to_owned()),
        Intent::Of { host, id: claim_id, renews, given_up } => Some(
            claim::Intent {
                namespace: NAMESPACE.to_owned(),
                host: HOSTS[host].to_owned(),
                claim_id: id(claim_id).clone(),
                renews: renews.map(|renews| id(renews).clone()),
                given_up,
            }
            .to_string(),
        ),
    }
}

/// What the engine says of a consumer, from the host that was seen and the consumer that was read after it.
fn step(
    world: &World,
    mutant: Mutant,
    who: usize,
    consumer: &Consumer,
    seen: Option<(usize, &Host)>,
) -> Option<Step> {
    if consumer.life != Life::There {
        return None;
    }
    let annotation = annotation(consumer.intent);
    let view = |at: usize, host: &Host| {
        let mut host = host.clone();
        if mutant == Mutant::ComparesNames
            && let Some(reference) = &mut host.consumer
            && reference.who == who
        {
            reference.uid = consumer.uid;
            host.claim = consumer.intent.id().or(host.claim);
        }
        if mutant == Mutant::BelievesCopies
            && let Some(reference) = &mut host.consumer
            && host.claim == consumer.intent.id()
        {
            *reference = Reference { who, uid: consumer.uid };
        }
        candidate(at, &host)
    };
    let intended = |seen: Option<(usize, &Host)>| match seen {
        None => Intended::NotLooked,
        Some((at, host)) if host.there => Intended::There(view(at, host)),
        Some((at, _)) => Intended::Gone { namespace: NAMESPACE, name: HOSTS[at] },
    };
    let referring: Vec<Candidate<'_>> = world
        .hosts
        .iter()
        .enumerate()
        .filter(|(_, host)| host.there && host.consumer.is_some_and(|reference| reference.who == who))
        .map(|(at, host)| view(at, host))
        .collect();
    let observed = claim::Consumer {
        identity: identity(who, consumer.uid),
        intent: annotation.as_deref(),
        finalizer: consumer.finalizer,
        deleting: consumer.deleting,
        on_hold: false,
        settled: consumer.settled,
        forced: consumer.forced,
    };
    let ask = |order, seen| claim::next(&observed, &wish(who), order, &intended(seen), &referring);
    let mut step = ask(Order::HostThenConsumer, seen);
    if step == Step::Look(Order::ConsumerThenHost) {
        // The consumer is as it was just read: what is written to it lands only if that is still so.
        let now = seen.map(|(at, _)| (at, &world.hosts[at]));
        step = ask(Order::ConsumerThenHost, if mutant == Mutant::ForgetsByOldHost { seen } else { now });
    }
    if mutant == Mutant::Sound {
        reached::step(&step);
    }
    Some(mutate(mutant, step, consumer, seen))
}

/// What a consumer does next, from the host that was seen and the consumer that was read after it.
pub fn consumer(
    world: &World,
    mutant: Mutant,
    who: usize,
    consumer: &Consumer,
    seen: Option<(usize, &Host)>,
) -> Decided {
    let Some(step) = step(world, mutant, who, consumer, seen) else { return Decided::Nothing };
    let by = Reference { who, uid: consumer.uid };
    let at = seen.map_or(0, |(at, _)| at);
    match step {
        Step::Bound => {
            let runs = seen.is_some_and(|(_, host)| host.machine_of == consumer.intent.id());
            let settles = world.settling && runs && !consumer.settled;
            if settles { Decided::Do(Write::Settle { who }) } else { Decided::Nothing }
        }
        Step::Wait(_) | Step::Look(_) => Decided::Nothing,
        Step::Choose => Decided::Choose,
        Step::WriteIntent(intent, _) => {
            let host = HOSTS.iter().position(|name| *name == intent.host).unwrap();
            let renews = intent.renews.as_ref().map(model_id);
            let (id, given_up) = (model_id(&intent.claim_id), intent.given_up);
            Decided::Do(Write::Intent { who, intent: Intent::Of { host, id, renews, given_up } })
        }
        Step::DropIntent => Decided::Do(Write::Intent { who, intent: Intent::None }),
        Step::LetGo => Decided::Do(Write::LetGo { who }),
        Step::BindHost(id) => Decided::Do(Write::Bind { at, by, id: model_id(&id), renews: None }),
        Step::RestoreHost(id) | Step::RenewHost(id) => {
            Decided::Do(Write::Bind { at, by, id: model_id(&id), renews: consumer.intent.renews() })
        }
        Step::FenceHost(id) => Decided::Do(Write::Fence { at, id: model_id(&id) }),
        Step::ReleaseHost(id) => Decided::Do(Write::Release { at, id: model_id(&id) }),
        Step::ReleaseStray { name, claim_id, .. } => {
            let at = HOSTS.iter().position(|host| *host == name).unwrap();
            Decided::Do(Write::Release { at, id: model_id(&claim_id) })
        }
    }
}

/// Breaks the consumer's side of the protocol on purpose.
fn mutate(mutant: Mutant, step: Step, consumer: &Consumer, seen: Option<(usize, &Host)>) -> Step {
    let done = if consumer.deleting { Step::LetGo } else { Step::DropIntent };
    match (mutant, step) {
        (Mutant::NoFence, Step::FenceHost(_)) => done,
        // The design's first words: fence, then drop, and no mark on the consumer before.
        (Mutant::NoMark, Step::WriteIntent(intent, Why::GivingUp(_))) => {
            let fenced = seen.is_none_or(|(_, host)| {
                !host.there || host.fence.is_some_and(|fence| *id(fence) == intent.claim_id)
            });
            if fenced { Step::DropIntent } else { Step::FenceHost(intent.claim_id) }
        }
        (Mutant::DropsFirst, Step::WriteIntent(_, Why::GivingUp(_))) => Step::DropIntent,
        (_, step) => step,
    }
}

/// What the host's controller makes of the claim.
pub fn host(world: &World, mutant: Mutant, at: usize) -> Custody {
    let host = &world.hosts[at];
    let exists = host.consumer.map(|reference| world.consumers[reference.who].life == Life::There);
    let mut seen = host.clone();
    if mutant == Mutant::ForgetsMarks {
        seen.mark = None;
    }
    let custody = claim::custody(&candidate(at, &seen), exists);
    if mutant == Mutant::Sound {
        reached::custody(custody);
    }
    match (mutant, custody) {
        (Mutant::ReleasesWhenAbsent, Custody::Kept(Kept::ConsumerMissing))
        | (Mutant::ReleasesWithoutReference, Custody::Kept(Kept::ReferenceLost)) => Custody::Deprovision,
        (Mutant::ClearsBeforeClean, Custody::Deprovision) if host.claim.is_some() => Custody::ClearClaim,
        (_, custody) => custody,
    }
}

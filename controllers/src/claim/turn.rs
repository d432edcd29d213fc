//! One consumer's claim, step by step: what the engine says is next, carried out.

use std::{sync::Arc, time::Duration};

use beskar7_api::{PhysicalHost, boot::Cleaning};
use beskar7_core::{
    claim::{
        self, Candidate, ClaimId, Instructions, Intent, Mark, Obstacle, Order, Step, Wait, Wanting, Why,
        moving::Block,
    },
    host::cleaning::demanded_by_policy,
    policy::{self, Tenure},
};
use jiff::Timestamp;
use kube::{Resource as _, runtime::controller::Action};

use super::{
    claimant::{Claimant, block, consumer, id, intended_host, intent},
    claims::Claims,
    error::ClaimError,
    view::{Found, View},
    writes::Binding,
};
use crate::{chance, retry::spread, watch::key, write::Written};

/// As many steps as are made without giving others their turn.
const MOST_STEPS: usize = 12;
/// After a lost race the watch wakes us, as a rule sooner than this.
const AFTER_LOST_RACE: Duration = Duration::from_secs(1);

/// One look at one consumer: what only its kind knows.
pub(crate) trait Claiming: Sync {
    /// The kind.
    type Kind: Claimant;
    /// What every claim needs.
    fn claims(&self) -> &Claims;

    /// What says that it is to be left as it is, if something does.
    fn on_hold(&self, object: &Self::Kind) -> Option<Mark>;

    /// Whether it may have a host.
    fn tenure(&self, object: &Self::Kind, host: &PhysicalHost) -> Tenure;

    /// What it wants of a host.
    fn wanting(&self, object: &Self::Kind) -> Wanting;

    /// What its host, where one is there, is told to be; nothing, while that can't be said.
    fn instructions(&self, object: &Self::Kind, host: Option<&PhysicalHost>) -> Option<Instructions>;

    /// Whether enough is known of what it stands among to begin or mend a claim; what ends one never waits.
    fn is_known(&self) -> bool;

    /// What stands in the way of looking for a host.
    fn obstacle(&self, object: &Self::Kind) -> Option<Obstacle>;

    /// What stands in the way of taking a host that was found.
    fn last_obstacle(&self, object: &Self::Kind) -> impl Future<Output = Option<Obstacle>> + Send;

    /// Why no host was found, from the counts.
    fn in_vain(&self, object: &Self::Kind, wanting: &Wanting, counts: String) -> String;

    /// On what terms it may have a host, where it needs a policy for that.
    fn policy(&self, object: &Self::Kind, host: &PhysicalHost) -> Option<policy::Terms>;

    /// The cleaning that it asks for itself behind its claim.
    fn cleaning(&self, object: &Self::Kind) -> Cleaning;

    /// Its host is its own: what is done then.
    fn bound(
        &self,
        view: View<Self::Kind>,
    ) -> impl Future<Output = Result<Turn<Self::Kind>, ClaimError>> + Send;
}

/// What a step leads to.
pub(crate) enum Turn<K> {
    /// Look again at once.
    Again(View<K>),
    /// Somebody was faster: read it all again.
    Reread(Order),
    /// That is all for now; this is to be said, and then looked at again.
    Rest(View<K>, Rest),
    /// Nothing is to be said.
    Quiet,
}

impl<K> Turn<K> {
    /// Look again at what was written; at everything, where somebody was faster.
    pub(crate) fn again(view: Option<View<K>>) -> Self {
        view.map_or(Self::Reread(Order::HostThenConsumer), Self::Again)
    }
}

/// What is to be said of a consumer.
pub(crate) enum Rest {
    /// Something must be there first.
    Blocked(Obstacle),
    /// No host fits.
    Searching(String),
    /// It has a host.
    Held,
    /// Its host is paused.
    HostPaused,
    /// It had a host.
    Lost,
    /// Its host is being given back.
    Releasing,
}

/// What became of a look.
pub(crate) enum Looked<K> {
    /// This is to be said.
    Rest(View<K>, Rest),
    /// Nothing is to be said.
    Quiet,
    /// Others were faster again and again.
    Busy,
}

/// Makes one step after the other for as long as something is to be done at once.
pub(crate) async fn steps<L: Claiming>(
    look: &L,
    object: Arc<L::Kind>,
) -> Result<Looked<L::Kind>, ClaimError> {
    let mut view = look.claims().cached(object);
    for _ in 0..MOST_STEPS {
        let key = key(view.object.as_ref());
        match turn(look, view).await? {
            Turn::Again(next) => view = next,
            Turn::Reread(order) => match look.claims().read(&key, order).await? {
                Some(next) => view = next,
                None => return Ok(Looked::Quiet),
            },
            Turn::Rest(view, rest) => return Ok(Looked::Rest(view, rest)),
            Turn::Quiet => return Ok(Looked::Quiet),
        }
    }
    Ok(Looked::Busy)
}

/// The claim's next step, carried out.
async fn turn<L: Claiming>(look: &L, view: View<L::Kind>) -> Result<Turn<L::Kind>, ClaimError> {
    let object = view.object.clone();
    let hosts_named = look.claims().referring(object.as_ref()).await?;
    let referring: Vec<Candidate<'_>> = hosts_named.iter().map(|host| Candidate::new(host)).collect();
    let wanting = look.wanting(&object);
    let step = claim::next(
        &consumer(object.as_ref(), left_alone(look, object.as_ref()).is_some()),
        &wanting.wish(),
        view.order,
        &view.host.intended(),
        &referring,
    );
    drop(referring);
    tracing::debug!(?step, live = view.live, "the claim's next step");
    let deleting = object.meta().deletion_timestamp.is_some();
    match step {
        Step::Wait(Wait::OnHold | Wait::NothingHeld) => Ok(Turn::Quiet),
        Step::Wait(Wait::HostOnHold) => Ok(Turn::Rest(view, Rest::HostPaused)),
        Step::Wait(Wait::HostLost) => Ok(Turn::Rest(view, Rest::Lost)),
        Step::Wait(Wait::Deprovisioning) if deleting => Ok(Turn::Rest(view, Rest::Releasing)),
        Step::Wait(Wait::Deprovisioning) => {
            let told = "Its last PhysicalHost is turned off and cleaned first".to_owned();
            Ok(Turn::Rest(view, Rest::Searching(told)))
        }
        Step::Look(order) => Ok(Turn::Reread(order)),
        Step::Bound => {
            look.claims().register.stops_waiting(&id(object.as_ref()));
            // It has its host since before consumers were kept from being moved, or somebody took that off.
            if block(object.as_ref(), intent(object.as_ref()).as_ref()) != Block::Leave {
                let written = look.claims().writes.write_block(object.as_ref()).await?;
                return Ok(Turn::again(view.with_object(written)));
            }
            match more_cleaning(look, &view) {
                Some(_) if !view.live => Ok(Turn::Reread(Order::HostThenConsumer)),
                Some((host, cleaning)) => {
                    let written = look.claims().writes.demand_cleaning(&host, cleaning).await?;
                    Ok(Turn::again(view.with_host(written)))
                }
                None => look.bound(view).await,
            }
        }
        Step::Choose => choose(look, view, wanting).await,
        Step::WriteIntent(_, Why::FinalizerLost | Why::Adopted)
        | Step::BindHost(_)
        | Step::RestoreHost(_)
        | Step::RenewHost(_)
            if !look.is_known() && !deleting =>
        {
            match look.obstacle(&object) {
                Some(obstacle) => Ok(Turn::Rest(view, Rest::Blocked(obstacle))),
                None => Ok(Turn::Quiet),
            }
        }
        Step::WriteIntent(..)
        | Step::DropIntent
        | Step::LetGo
        | Step::BindHost(_)
        | Step::RestoreHost(_)
        | Step::RenewHost(_)
        | Step::FenceHost(_)
        | Step::ReleaseHost(_)
        | Step::ReleaseStray { .. }
            if !view.live =>
        {
            Ok(Turn::Reread(Order::HostThenConsumer))
        }
        step @ (Step::WriteIntent(..)
        | Step::DropIntent
        | Step::LetGo
        | Step::BindHost(_)
        | Step::RestoreHost(_)
        | Step::RenewHost(_)
        | Step::FenceHost(_)
        | Step::ReleaseHost(_)
        | Step::ReleaseStray { .. }) => {
            // What a host was told under another claim says nothing for this one.
            let renewed = matches!(step, Step::RenewHost(_));
            let policy = view.host.host().and_then(|host| look.policy(&object, host));
            let terms = Binding {
                instructions: look.instructions(&object, view.host.host().filter(|_| !renewed)),
                owner: wanting.owner,
                cleaning: demanded(look, &object, policy.as_ref()),
                policy: policy.map(|terms| terms.policy.to_string()),
                is_new: matches!(step, Step::BindHost(_)),
            };
            carry_out(look.claims(), step, view, &terms).await
        }
    }
}

/// The cleaning that is demanded behind a claim: the most that its policies or it itself ask for.
fn demanded<L: Claiming>(look: &L, object: &L::Kind, policy: Option<&policy::Terms>) -> Cleaning {
    policy.map(|terms| terms.minimum_cleaning).unwrap_or_default().max(look.cleaning(object))
}

/// The same, where it is more than is written on the host.
fn more_cleaning<L: Claiming>(look: &L, view: &View<L::Kind>) -> Option<(Arc<PhysicalHost>, Cleaning)> {
    let Found::There(host) = &view.host else { return None };
    let demanded = demanded(look, &view.object, look.policy(&view.object, host).as_ref());
    let is_more = demanded > demanded_by_policy(host) && !Candidate::new(host).on_hold;
    is_more.then(|| (host.clone(), demanded))
}

/// Why a consumer is left as it is, if it is.
pub(crate) fn left_alone<L: Claiming>(look: &L, object: &L::Kind) -> Option<Mark> {
    let mark = look.on_hold(object)?;
    let own = object.meta().namespace.as_deref().unwrap_or_default();
    let host = intended_host(object).and_then(|intended| look.claims().hosts.get(&intended));
    let known = host.as_deref().map(|host| (host, look.tenure(object, host)));
    claim::left_alone(mark, own, intent(object).as_ref(), known)
}

/// Leaves a consumer as it is, and says when to look at it again: it waits for no host any more.
pub(crate) async fn leave_alone<L: Claiming>(look: &L, object: Arc<L::Kind>) -> Result<Action, ClaimError> {
    look.claims().register.stops_waiting(&id(object.as_ref()));
    match demand_all_the_same(look, object).await? {
        true => Ok(Action::await_change()),
        false => Ok(after_lost_race()),
    }
}

/// When to look again after a lost race.
pub(crate) fn after_lost_race() -> Action {
    Action::requeue(spread(AFTER_LOST_RACE))
}

/// What is demanded behind a claim is written onto a host of another namespace also where its consumer is left as it is.
/// Whether that is done: else somebody was faster.
async fn demand_all_the_same<L: Claiming>(look: &L, object: Arc<L::Kind>) -> Result<bool, ClaimError> {
    let owed = |view: &View<L::Kind>| {
        let consumer = consumer(view.object.as_ref(), true);
        more_cleaning(look, view)
            .filter(|(host, _)| claim::is_held_elsewhere(&consumer, &Candidate::new(host)))
    };
    let key = key(object.as_ref());
    if owed(&look.claims().cached(object)).is_none() {
        return Ok(true);
    }
    let read = look.claims().read(&key, Order::HostThenConsumer).await?;
    let Some((host, cleaning)) = read.as_ref().and_then(owed) else { return Ok(true) };
    Ok(match look.claims().writes.demand_cleaning(&host, cleaning).await? {
        Written::To(_) => true,
        Written::Stale => false,
    })
}

async fn carry_out<K: Claimant>(
    claims: &Claims,
    step: Step,
    view: View<K>,
    terms: &Binding,
) -> Result<Turn<K>, ClaimError> {
    let (object, writes) = (view.object.as_ref(), &claims.writes);
    let written = match (&step, &view.host) {
        (Step::WriteIntent(intent, _), _) => writes.write_intent(object, intent).await?,
        (Step::DropIntent, _) => {
            let written = writes.drop_intent(object).await?;
            claims.free_choice(object);
            written
        }
        (Step::LetGo, _) => {
            return Ok(match writes.let_go(object).await? {
                Written::To(_) => {
                    claims.forget(&id(object));
                    Turn::Quiet
                }
                Written::Stale => Turn::Reread(Order::ConsumerThenHost),
            });
        }
        (Step::BindHost(claim) | Step::RestoreHost(claim) | Step::RenewHost(claim), Found::There(host)) => {
            let bound = writes.bind(host, object, claim, terms).await?;
            return Ok(Turn::again(view.with_host(bound)));
        }
        (Step::ReleaseHost(claim), Found::There(host)) => {
            let released = writes.release(host, claim, terms.cleaning).await?;
            return Ok(Turn::again(view.with_host(released)));
        }
        (Step::FenceHost(claim), Found::There(host)) => {
            let host_key = key(host.as_ref());
            let fenced = writes.fence(&host_key, claim).await?;
            let host = Found::new(host_key, fenced.map(Arc::new));
            return Ok(Turn::Again(View { host, order: Order::ConsumerThenHost, ..view }));
        }
        (Step::ReleaseStray { namespace, name, claim_id }, _) => {
            writes.release_stray(&(namespace.clone(), name.clone()), claim_id).await?;
            return Ok(Turn::Rest(view, Rest::Held));
        }
        (
            Step::BindHost(_)
            | Step::RestoreHost(_)
            | Step::RenewHost(_)
            | Step::ReleaseHost(_)
            | Step::FenceHost(_)
            | Step::Wait(_)
            | Step::Look(_)
            | Step::Bound
            | Step::Choose,
            Found::NotLooked | Found::Gone(_) | Found::There(_),
        ) => return Ok(Turn::Quiet),
    };
    Ok(Turn::again(view.with_object(written)))
}

async fn choose<L: Claiming>(
    look: &L,
    view: View<L::Kind>,
    wanting: Wanting,
) -> Result<Turn<L::Kind>, ClaimError> {
    let (claims, object) = (look.claims(), view.object.clone());
    let consumer = id(object.as_ref());
    if let Some(obstacle) = look.obstacle(&object) {
        claims.register.stops_waiting(&consumer);
        return Ok(Turn::Rest(view, Rest::Blocked(obstacle)));
    }
    // First it waits, then it looks: what changes between the two wakes it.
    let wanting = Arc::new(wanting);
    claims.register.waits(&consumer, &wanting);
    let hosts = claims.hosts.all();
    let host = match claims.register.choose(&consumer, &wanting, &hosts) {
        Ok(host) => host,
        Err(counts) => return Ok(Turn::Rest(view, Rest::Searching(look.in_vain(&object, &wanting, counts)))),
    };
    drop(hosts);
    if let Some(obstacle) = look.last_obstacle(&object).await {
        claims.free_choice(object.as_ref());
        return Ok(Turn::Rest(view, Rest::Blocked(obstacle)));
    }
    let fresh = ClaimId::from_random(chance::bits()?);
    let intent = Intent::take(&Candidate::new(&host), fresh);
    match claims.writes.write_intent(object.as_ref(), &intent).await? {
        // The host was looked at before the consumer was written: as it must be for what binds.
        Written::To(object) => Ok(Turn::Again(View {
            object: Arc::from(object),
            host: Found::There(host),
            order: Order::HostThenConsumer,
            live: true,
        })),
        Written::Stale => {
            claims.free_choice(object.as_ref());
            Ok(Turn::Reread(Order::HostThenConsumer))
        }
    }
}

/// How much longer the release of a deleted consumer's host may take until it is called overdue.
pub(crate) fn patience_left<K: Claimant>(object: &K, patience: Duration) -> Option<Duration> {
    let deleted = object.meta().deletion_timestamp.as_ref()?.0;
    let waited = Duration::try_from(Timestamp::now().duration_since(deleted)).unwrap_or_default();
    patience.checked_sub(waited).filter(|left| !left.is_zero())
}

/// Takes a new claim on the host that a consumer holds. What was written of the old one on the consumer goes with it.
pub(crate) async fn renew<L: Claiming>(look: &L, view: View<L::Kind>) -> Result<Turn<L::Kind>, ClaimError> {
    if !view.live {
        return Ok(Turn::Reread(Order::HostThenConsumer));
    }
    let Some(intent) = intent(view.object.as_ref()) else { return Ok(Turn::Quiet) };
    let renewed = intent.renew(ClaimId::from_random(chance::bits()?));
    let written = look.claims().writes.renew_intent(view.object.as_ref(), &renewed).await?;
    Ok(Turn::again(view.with_object(written)))
}

/// Gives up a host that its consumer may not have any more. What gives up reads the consumer first.
pub(crate) async fn revoke<L: Claiming>(look: &L, view: View<L::Kind>) -> Result<Turn<L::Kind>, ClaimError> {
    if !view.live || view.order != Order::ConsumerThenHost {
        return Ok(Turn::Reread(Order::ConsumerThenHost));
    }
    let Some(intent) = intent(view.object.as_ref()) else { return Ok(Turn::Quiet) };
    let written = look.claims().writes.write_intent(view.object.as_ref(), &intent.give_up()).await?;
    Ok(Turn::again(view.with_object(written)))
}

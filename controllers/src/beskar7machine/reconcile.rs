//! One look at one machine, and what becomes of it.

use std::{sync::Arc, time::Duration};

use beskar7_api::{Beskar7Machine, PhysicalHost, annotations, physical_host::Reservation};
use beskar7_core::{
    claim::{self, Candidate, ClaimId, Step, Wait, Why, intend},
    host::hold::Progress,
    machine::{
        self, BootstrapData, Course, Kept, Obstacle, Wanting, bootstrap_secret, obstacle, on_hold, order,
    },
};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret;
use kube::{
    Api, Client, ResourceExt as _,
    runtime::{controller::Action, events::Recorder},
};
use tokio::sync::mpsc::UnboundedSender;

use super::{
    KIND, NAME,
    around::Around,
    claims::{Claims, consumer},
    error::ReconcileError,
    report::report,
    view::{Found, View, id, intent},
};
use crate::{
    caches::Caches,
    causes::causes,
    chance,
    claim::{ConsumerId, Register},
    clock::now,
    controller::Reconciler,
    diagnostics::Metrics,
    retry::{Backoffs, spread},
    watch::{Key, key},
    write::Written,
};

/// No look may take longer: it is a handful of requests to the API server.
const LIMIT: Duration = Duration::from_secs(120);
/// As many steps as are made without giving others their turn.
const MOST_STEPS: usize = 12;
/// A lost race is looked at again soon, should the watch not wake us before.
const AFTER_LOST_RACE: Duration = Duration::from_secs(1);
/// The longest pause between two looks at something that is not watched.
const UNWATCHED: Duration = Duration::from_secs(60);

/// What every look needs.
pub struct Context {
    client: Client,
    recorder: Recorder,
    metrics: Metrics,
    caches: Caches,
    register: Arc<Register>,
    /// Hosts that somebody chose and gave up again.
    freed: UnboundedSender<Key>,
    claims: Claims,
    backoffs: Backoffs<Key>,
    sync_period: Duration,
    /// How long a release may take until it is called overdue.
    release_patience: Duration,
}

/// What a step leads to.
enum Turn {
    /// Look again at once.
    Again(View),
    /// Somebody was faster: read it all again.
    Reread(claim::Order),
    /// That is all for now; this is to be said, and then looked at again.
    Rest(View, Rest),
    /// Nothing is to be said.
    Quiet,
}

/// What is to be said of a machine.
enum Rest {
    Blocked(Obstacle),
    Searching(String),
    Held,
    HostPaused,
    Lost,
    Releasing,
}

impl Context {
    /// For a controller whose writes go through `client`.
    #[must_use]
    pub fn new(
        client: Client,
        recorder: Recorder,
        metrics: Metrics,
        caches: Caches,
        register: Arc<Register>,
        freed: UnboundedSender<Key>,
        (sync_period, release_patience): (Duration, Duration),
    ) -> Self {
        Self {
            claims: Claims::new(client.clone()),
            client,
            recorder,
            metrics,
            caches,
            register,
            freed,
            backoffs: Backoffs::new(),
            sync_period,
            release_patience,
        }
    }

    /// Looks, and makes one step after the other for as long as something is to be done at once.
    async fn steps(&self, machine: Arc<Beskar7Machine>) -> Result<Action, ReconcileError> {
        // Moved away: clusterctl deletes it here, and nothing of it may be released.
        if machine.annotations().contains_key(annotations::DELETE_FOR_MOVE) {
            return Ok(Action::await_change());
        }
        let around = Around::of(&machine, &self.caches);
        if let Some(why) = on_hold(&machine, around.cluster()) {
            self.register.stops_waiting(&id(&machine));
            return self.say(&machine, &Course::Paused(&why), Action::await_change()).await;
        }
        let mut view = self.cached_view(machine);
        for _ in 0..MOST_STEPS {
            let key = key(view.machine.as_ref());
            match self.turn(view, &around).await? {
                Turn::Again(next) => view = next,
                Turn::Reread(order) => match self.read_view(&key, order).await? {
                    Some(next) => view = next,
                    None => return Ok(Action::await_change()),
                },
                Turn::Rest(view, rest) => return self.rest(&view, &rest).await,
                Turn::Quiet => return Ok(Action::await_change()),
            }
        }
        Ok(Action::requeue(spread(AFTER_LOST_RACE)))
    }

    fn cached_view(&self, machine: Arc<Beskar7Machine>) -> View {
        let host = match intent(&machine) {
            Some(host) => Found::new(host.clone(), self.caches.hosts.get(&host)),
            None => Found::NotLooked,
        };
        View { machine, host, order: claim::Order::HostThenConsumer, live: false }
    }

    /// Reads both in this order; nothing, when the machine is gone.
    async fn read_view(&self, key: &Key, order: claim::Order) -> Result<Option<View>, ReconcileError> {
        let Some(mut machine) = self.claims.machine(key).await? else { return Ok(None) };
        let Some(host_key) = intent(&machine) else {
            let machine = Arc::new(machine);
            return Ok(Some(View { machine, host: Found::NotLooked, order, live: true }));
        };
        let host = self.claims.host(&host_key).await?;
        if order == claim::Order::HostThenConsumer {
            match self.claims.machine(key).await? {
                Some(again) => machine = again,
                None => return Ok(None),
            }
        }
        let host = Found::new(host_key, host.map(Arc::new));
        Ok(Some(View { machine: Arc::new(machine), host, order, live: true }))
    }

    async fn turn(&self, view: View, around: &Around) -> Result<Turn, ReconcileError> {
        let machine = view.machine.clone();
        let held = on_hold(&machine, around.cluster()).is_some();
        let ordered = order(&machine.spec).ok();
        let surroundings = around.view();
        let hosts_named = self.referring(&machine).await?;
        let referring: Vec<Candidate<'_>> = hosts_named.iter().map(|host| Candidate::new(host)).collect();
        let wanting = Wanting::new(&machine, &surroundings, ordered.as_ref())
            .with_reservation(&surroundings, |mine| self.kept(mine, &machine));
        let step = claim::next(
            &consumer(&machine, held),
            &wanting.wish(),
            view.order,
            &view.host.intended(),
            &referring,
        );
        tracing::debug!(?step, live = view.live, "the claim's next step");
        let deleting = machine.metadata.deletion_timestamp.is_some();
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
            Step::Bound => self.bound(view).await,
            Step::Choose => self.choose(view, around, wanting).await,
            // What begins or mends a claim needs to know whose it is; what ends one never waits.
            Step::WriteIntent(_, Why::Chosen | Why::FinalizerLost | Why::Adopted)
            | Step::BindHost(_)
            | Step::RestoreHost(_)
                if !around.is_known() && !deleting =>
            {
                match obstacle(&machine, &surroundings) {
                    Some(obstacle) => Ok(Turn::Rest(view, Rest::Blocked(obstacle))),
                    None => Ok(Turn::Quiet),
                }
            }
            Step::WriteIntent(..)
            | Step::DropIntent
            | Step::LetGo
            | Step::BindHost(_)
            | Step::RestoreHost(_)
            | Step::FenceHost(_)
            | Step::ReleaseHost(_)
            | Step::ReleaseStray { .. }
                if !view.live =>
            {
                Ok(Turn::Reread(claim::Order::HostThenConsumer))
            }
            step @ (Step::WriteIntent(..)
            | Step::DropIntent
            | Step::LetGo
            | Step::BindHost(_)
            | Step::RestoreHost(_)
            | Step::FenceHost(_)
            | Step::ReleaseHost(_)
            | Step::ReleaseStray { .. }) => self.carry_out(step, view, ordered.as_ref(), &wanting).await,
        }
    }

    async fn carry_out(
        &self,
        step: Step,
        view: View,
        ordered: Option<&machine::Order>,
        wanting: &Wanting,
    ) -> Result<Turn, ReconcileError> {
        let machine = &view.machine;
        let written = match (&step, &view.host) {
            (Step::WriteIntent(intent, _), _) => self.claims.write_intent(machine, intent).await?,
            (Step::DropIntent, _) => {
                let written = self.claims.drop_intent(machine).await?;
                self.free_choice(machine);
                written
            }
            (Step::LetGo, _) => {
                return Ok(match self.claims.let_go(machine).await? {
                    Written::To(_) => {
                        self.forget(&key(machine.as_ref()));
                        Turn::Quiet
                    }
                    Written::Stale => Turn::Reread(claim::Order::ConsumerThenHost),
                });
            }
            (Step::BindHost(claim) | Step::RestoreHost(claim), Found::There(host)) => {
                let bound = self.claims.bind(host, machine, claim, ordered, wanting.owner()).await?;
                return Ok(again(view.with_host(bound)));
            }
            (Step::ReleaseHost(claim), Found::There(host)) => {
                let released = self.claims.release(host, claim).await?;
                return Ok(again(view.with_host(released)));
            }
            (Step::FenceHost(claim), Found::There(host)) => {
                let host_key = key(host.as_ref());
                let fenced = self.claims.fence(&host_key, claim).await?;
                let host = Found::new(host_key, fenced.map(Arc::new));
                let order = claim::Order::ConsumerThenHost;
                return Ok(Turn::Again(View { host, order, ..view }));
            }
            (Step::ReleaseStray { namespace, name, claim_id }, _) => {
                self.claims.release_stray(&(namespace.clone(), name.clone()), claim_id).await?;
                return Ok(Turn::Rest(view, Rest::Held));
            }
            (
                Step::BindHost(_)
                | Step::RestoreHost(_)
                | Step::ReleaseHost(_)
                | Step::FenceHost(_)
                | Step::Wait(_)
                | Step::Look(_)
                | Step::Bound
                | Step::Choose,
                Found::NotLooked | Found::Gone(_) | Found::There(_),
            ) => return Ok(Turn::Quiet),
        };
        Ok(again(view.with_machine(written)))
    }

    /// Its host is its own: once it was seen to boot, the machine gets its identity.
    async fn bound(&self, view: View) -> Result<Turn, ReconcileError> {
        self.register.stops_waiting(&id(&view.machine));
        let Found::There(host) = &view.host else { return Ok(Turn::Quiet) };
        let claim = host.spec.claim_id.as_deref().unwrap_or_default();
        if Progress::of(host, claim) == Progress::Seen && view.machine.spec.provider_id.is_none() {
            let identity = machine::provider_id(host);
            let written = self.claims.identify(&view.machine, &identity).await?;
            return Ok(again(view.with_machine(written)));
        }
        Ok(Turn::Rest(view, Rest::Held))
    }

    async fn choose(&self, view: View, around: &Around, wanting: Wanting) -> Result<Turn, ReconcileError> {
        let machine = view.machine.clone();
        let consumer = id(&machine);
        if let Some(obstacle) = obstacle(&machine, &around.view()) {
            self.register.stops_waiting(&consumer);
            return Ok(Turn::Rest(view, Rest::Blocked(obstacle)));
        }
        // First it waits, then it looks: what changes between the two wakes it.
        let wanting = Arc::new(wanting);
        self.register.waits(&consumer, &wanting);
        let hosts = self.caches.hosts.all();
        let host = match self.register.choose(&consumer, &wanting, &hosts) {
            Ok(host) => host,
            Err(counts) => {
                let told = match wanting.is_out_of_bounds() {
                    true => "It wants hosts of another namespace, which this version can't give it: leave \
                             hostPool.namespace and hostSelector.inNamespace empty"
                        .to_owned(),
                    false => counts,
                };
                return Ok(Turn::Rest(view, Rest::Searching(told)));
            }
        };
        if let Some(obstacle) = self.bootstrap_data(&machine, around).await.obstacle() {
            self.free_choice(&machine);
            return Ok(Turn::Rest(view, Rest::Blocked(obstacle)));
        }
        let fresh = ClaimId::from_random(chance::bits()?);
        let Step::WriteIntent(intent, _) = intend(&Candidate::new(&host), fresh) else {
            return Ok(Turn::Quiet);
        };
        match self.claims.write_intent(&machine, &intent).await? {
            // The host was looked at before the machine was written: as it must be for what binds.
            Written::To(machine) => Ok(Turn::Again(View {
                machine: Arc::from(machine),
                host: Found::There(host),
                order: claim::Order::HostThenConsumer,
                live: true,
            })),
            Written::Stale => {
                self.free_choice(&machine);
                Ok(Turn::Reread(claim::Order::HostThenConsumer))
            }
        }
    }

    async fn bootstrap_data(&self, machine: &Beskar7Machine, around: &Around) -> BootstrapData {
        let Some(name) = bootstrap_secret(&around.view()).map(str::to_owned) else {
            return BootstrapData::NotWanted;
        };
        let secrets: Api<Secret> =
            Api::namespaced(self.client.clone(), &machine.namespace().unwrap_or_default());
        match secrets.get_opt(&name).await {
            Ok(Some(secret)) => match secret.data.as_ref().and_then(|data| data.get("value")) {
                Some(value) if !value.0.is_empty() => BootstrapData::There,
                Some(_) | None => BootstrapData::Empty(name),
            },
            Ok(None) => BootstrapData::Absent(name),
            Err(error) => BootstrapData::Unreadable { name, error: causes(&error) },
        }
    }

    /// What became of the host that is kept for a machine's cluster, if one is known. That this machine holds it itself
    /// does not count.
    fn kept(&self, mine: &Reservation, machine: &Beskar7Machine) -> Option<Kept> {
        let hosts = self.caches.hosts.all();
        let of_others = |host: &Candidate<'_>| {
            let consumer = consumer(machine, false);
            !host.claim.consumer.is_some_and(|reference| consumer.identity.is_meant_by(reference))
        };
        Kept::among(mine, hosts.iter().map(|host| Candidate::new(host)).filter(of_others))
    }

    /// The hosts that name a machine, as they were last seen; where all that is left is that, as they are.
    async fn referring(&self, machine: &Beskar7Machine) -> Result<Vec<Arc<PhysicalHost>>, ReconcileError> {
        if machine.metadata.deletion_timestamp.is_some() && intent(machine).is_none() {
            let found = self.claims.referring(&key(machine)).await?;
            return Ok(found.into_iter().map(Arc::new).collect());
        }
        let named = self.register.held_by(&id(machine));
        Ok(named.iter().filter_map(|host| self.caches.hosts.get(host)).collect())
    }

    async fn rest(&self, view: &View, rest: &Rest) -> Result<Action, ReconcileError> {
        let machine = &view.machine;
        let host = match &view.host {
            Found::There(host) => Some(host.as_ref()),
            Found::NotLooked | Found::Gone(_) => None,
        };
        let name = intent(machine).map(|(namespace, name)| format!("{namespace}/{name}")).unwrap_or_default();
        let (course, action) = match (rest, host) {
            (Rest::Blocked(obstacle), _) => {
                (Course::Blocked(obstacle), self.after_obstacle(machine, obstacle))
            }
            (Rest::Searching(counts), _) => (Course::Searching(counts), Action::await_change()),
            (Rest::Held, Some(host)) => (Course::Held(host), self.resync()),
            (Rest::Held, None) => (Course::Binding(&name), self.resync()),
            (Rest::HostPaused, _) => (Course::HostPaused(&name), Action::await_change()),
            (Rest::Lost, _) => (Course::Lost, Action::await_change()),
            (Rest::Releasing, host) => {
                let left = self.patience_left(machine);
                let action = left.map_or_else(|| self.resync(), Action::requeue);
                (Course::Releasing { host, overdue: left.is_none() }, action)
            }
        };
        self.say(machine, &course, action).await
    }

    async fn say(
        &self,
        machine: &Beskar7Machine,
        course: &Course<'_>,
        action: Action,
    ) -> Result<Action, ReconcileError> {
        let decision = machine::decide(machine, course, now());
        match report(&self.client, &self.recorder, machine, &decision).await? {
            true => Ok(action),
            false => Ok(Action::requeue(spread(AFTER_LOST_RACE))),
        }
    }

    /// How much longer a release may take until it is called overdue.
    fn patience_left(&self, machine: &Beskar7Machine) -> Option<Duration> {
        let deleted = machine.metadata.deletion_timestamp.as_ref()?.0;
        let waited = Duration::try_from(Timestamp::now().duration_since(deleted)).unwrap_or_default();
        self.release_patience.checked_sub(waited).filter(|left| !left.is_zero())
    }

    fn after_obstacle(&self, machine: &Beskar7Machine, obstacle: &Obstacle) -> Action {
        match obstacle.unwatched {
            true => Action::requeue(self.backoffs.failed(key(machine)).min(spread(UNWATCHED))),
            false => Action::await_change(),
        }
    }

    fn resync(&self) -> Action {
        Action::requeue(spread(self.sync_period))
    }

    /// The host that it chose is free for others.
    fn free_choice(&self, machine: &Beskar7Machine) {
        self.tell_freed(self.register.gives_up_choice(&id(machine)));
    }

    fn tell_freed(&self, host: Option<Key>) {
        if let Some(host) = host {
            // Nobody listens any more only when everything ends.
            let _ended = self.freed.send(host);
        }
    }
}

impl Reconciler for Context {
    type Kind = Beskar7Machine;
    type Error = ReconcileError;
    const NAME: &'static str = NAME;
    const LIMIT: Duration = LIMIT;

    async fn look(self: Arc<Self>, machine: Arc<Beskar7Machine>) -> Result<Action, ReconcileError> {
        let machine_key = key(machine.as_ref());
        let result = self.steps(machine).await;
        if result.as_ref().is_ok_and(|action| *action == Action::await_change()) {
            self.backoffs.forget(&machine_key);
        }
        result
    }

    fn forget(&self, machine: &Key) {
        self.backoffs.forget(machine);
        self.tell_freed(self.register.forget(&ConsumerId { kind: KIND, key: machine.clone() }));
    }

    fn backoffs(&self) -> &Backoffs<Key> {
        &self.backoffs
    }

    fn metrics(&self) -> &Metrics {
        &self.metrics
    }
}

fn again(view: Option<View>) -> Turn {
    view.map_or(Turn::Reread(claim::Order::HostThenConsumer), Turn::Again)
}

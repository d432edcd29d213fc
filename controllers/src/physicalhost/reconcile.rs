//! One look at one host, and what becomes of it.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use beskar7_api::{
    Beskar7Machine, DHCPReservation, HostBootConfiguration, HostClaim, PhysicalHost, finalizers,
};
use beskar7_core::host::{
    self, Decision, Failure, Observed, Pace, Requeue,
    contact::{Contact, Trouble},
    plan::Plan,
};
use beskar7_redfish::Guard;
use kube::{Client, ResourceExt as _, runtime::controller::Action};
use tokio::sync::mpsc::UnboundedSender;

use super::{
    NAME, ReconcileError,
    act::{self, Outcome, Tools},
    bmcs::{Bmcs, Known},
    consumers::Consumers,
    inventory::{self, Inventories},
    marks::{Marks, Written},
    observe,
    resources::Resources,
    trail::{Trail, Trails},
    wakes::Wakes,
};
use crate::{
    boot_server::Presenter,
    caches::Feeds,
    clock::now,
    controller::Reconciler,
    copies::Copies,
    diagnostics::Metrics,
    retry::{Backoffs, spread},
    status::{self, Reported},
    tell::Recorder,
    watch::{Cache, Key, key},
};

/// No reconcile may take longer: turning a machine off politely, emptying it and turning it on takes its time.
const LIMIT: Duration = Duration::from_secs(1200);
/// As many steps as are made without giving others their turn.
const MOST_STEPS: usize = 8;
/// A lost race is looked at again soon, should the watch not wake us before.
const AFTER_LOST_RACE: Duration = Duration::from_secs(5);

/// What every reconcile needs.
pub struct Context {
    client: Client,
    recorder: Recorder,
    metrics: Metrics,
    sync_period: Duration,
    pace: Pace,
    bmcs: Bmcs,
    consumers: Consumers,
    tools: Tools,
    inventories: Inventories,
    trails: Arc<Trails>,
    backoffs: Backoffs<Key>,
    /// What went wrong when a plan was carried out last, until it goes right.
    troubles: Mutex<HashMap<Key, Trouble>>,
}

/// By what hosts are dealt with.
pub struct Means {
    /// Asked before a machine is changed.
    pub guard: Guard,
    /// Those who hold hosts.
    pub machines: Cache<Beskar7Machine>,
    /// What tenants want.
    pub claims: Cache<HostClaim>,
    /// What hosts boot from the network.
    pub configurations: Cache<HostBootConfiguration>,
    /// What hosts are told when they boot from the network.
    pub reservations: Cache<DHCPReservation>,
    /// What is presented to machines, where there is a boot server.
    pub presenter: Option<Presenter>,
}

impl Context {
    /// For a controller whose writes go through `client`. What is sent into `woken` is to be looked at.
    #[must_use]
    pub fn new(
        client: Client,
        recorder: Recorder,
        metrics: Metrics,
        (sync_period, pace): (Duration, Pace),
        means: Means,
        woken: UnboundedSender<Key>,
    ) -> Self {
        let Means { guard, machines, claims, configurations, reservations, presenter } = means;
        Self {
            tools: Tools {
                marks: Marks::new(client.clone()),
                copies: Copies::new(client.clone()),
                resources: Resources::new(client.clone(), claims.clone(), configurations, reservations),
                presenter,
            },
            bmcs: Bmcs::new(guard),
            consumers: Consumers::new(client.clone(), machines, claims),
            inventories: Inventories::new(woken),
            trails: Arc::default(),
            pace,
            troubles: Mutex::default(),
            client,
            recorder,
            metrics,
            sync_period,
            backoffs: Backoffs::new(),
        }
    }

    /// Looks again at a host when what it boots from the network says something else.
    #[must_use]
    pub fn wakes(&self, feeds: &Feeds, woken: UnboundedSender<Key>) -> Wakes {
        Wakes::new(feeds, self.trails.clone(), woken)
    }

    fn trouble(&self, key: &Key, trouble: Option<Trouble>) {
        let mut troubles = self.troubles.lock().unwrap_or_else(PoisonError::into_inner);
        match trouble {
            Some(trouble) => drop(troubles.insert(key.clone(), trouble)),
            None => drop(troubles.remove(key)),
        }
    }

    fn last_trouble(&self, key: &Key) -> Option<Trouble> {
        self.troubles.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }
}

impl Reconciler for Context {
    type Kind = PhysicalHost;
    type Error = ReconcileError;
    const NAME: &'static str = NAME;
    const LIMIT: Duration = LIMIT;

    async fn look(self: Arc<Self>, host: Arc<PhysicalHost>) -> Result<Action, ReconcileError> {
        let key = key(host.as_ref());
        let spared = self.trails.spare(&key, &host, spread(AFTER_LOST_RACE));
        if let Some(action) = spared.filter(|_| !self.bmcs.has_unwritten_parts(&key)) {
            return Ok(action);
        }
        self.trails.forget(&key);
        let _first_look = self.inventories.yield_to(&host);
        let mut trail = Trail::default();
        let result = look(&host, &key, &self, &mut trail).await;
        self.trails.keep(key, trail);
        result
    }

    fn forget(&self, key: &Key) {
        self.backoffs.forget(key);
        self.bmcs.forget(key);
        self.trails.forget(key);
        self.trouble(key, None);
    }

    fn backoffs(&self) -> &Backoffs<Key> {
        &self.backoffs
    }

    fn metrics(&self) -> &Metrics {
        &self.metrics
    }
}

async fn look(
    host: &PhysicalHost,
    key: &Key,
    context: &Context,
    trail: &mut Trail,
) -> Result<Action, ReconcileError> {
    trail.reach(host);
    if host::left_alone(host) {
        return Ok(Action::await_change());
    }
    if host::paused(host) {
        let decision = host::decide_paused(host, now());
        return match say(&decision, host, context, trail).await? {
            Said::Now(_) => next(decision.requeue, key, context, trail),
            Said::Stale => Ok(again()),
        };
    }
    let mut host = host.clone();
    if host.metadata.deletion_timestamp.is_none() && !is_adopted(&host) {
        match context.tools.marks.adopt(&host).await? {
            Written::To(adopted) => host = *adopted,
            Written::Stale => return Ok(again()),
        }
    }
    if host.metadata.deletion_timestamp.is_some() && !is_adopted(&host) {
        // Others hold it still; we have nothing to do with it any more.
        return Ok(Action::await_change());
    }
    trail.reach(&host);
    steps(host, key, context, trail).await
}

/// Observes, decides, reports and acts, step by step, for as long as something is to be done at once.
async fn steps(
    mut host: PhysicalHost,
    key: &Key,
    context: &Context,
    trail: &mut Trail,
) -> Result<Action, ReconcileError> {
    let (mut sight, mut emptied) = (None, None);
    for _ in 0..MOST_STEPS {
        let mut found = observe::observe(&context.client, &context.bmcs, key, &host).await;
        let known = found.known.take();
        let news = add_parts(&mut found.contact, known.as_deref());
        let observed = Observed {
            sight: sight.take(),
            emptied: emptied.take(),
            inspected: inventory::inspected(&context.client, &host).await?,
            ..found.observed(&host, context.last_trouble(key), context.consumers.exists(&host).await)
        };
        let decision = host::decide(&host, &observed, context.pace, now());
        match say(&decision, &host, context, trail).await? {
            Said::Now(now) => host = *now,
            Said::Stale => return Ok(again()),
        }
        match act::act(&decision.plan, &host, known.as_deref(), &context.tools).await? {
            Outcome::Nothing => {
                context.trouble(key, None);
                repair(&host, context).await;
                if news {
                    publish(&host, known.as_deref(), context).await?;
                }
                read_inventory(&host, &decision.plan, known.as_ref(), key, context);
                return next(decision.requeue, key, context, trail);
            }
            Outcome::Done(now, seen) => {
                context.trouble(key, None);
                (host, sight) = (*now, seen);
                trail.reach(&host);
            }
            Outcome::Emptied(left) => {
                context.trouble(key, None);
                emptied = Some(left);
            }
            Outcome::Gone => {
                context.forget(key);
                return Ok(Action::await_change());
            }
            Outcome::Stale => return Ok(again()),
            Outcome::Failed(trouble) => return failed_step(host, trouble, key, context, trail).await,
        }
    }
    Ok(again())
}

/// What a machine needs from the network while it runs is put back where somebody took it away.
async fn repair(host: &PhysicalHost, context: &Context) {
    let Some(presenter) = &context.tools.presenter else { return };
    if let Err(trouble) = context.tools.resources.repair(host, presenter).await {
        tracing::warn!(error = trouble.message, "what the host needs from the network can't be put back");
    }
}

/// Adds what was read of the inventory and is not written down yet; whether there was something.
fn add_parts(contact: &mut Contact, known: Option<&Known>) -> bool {
    let Contact::Answered(sighting) = contact else { return false };
    sighting.parts = known.and_then(Known::unwritten_parts);
    sighting.parts.is_some()
}

/// Has the inventory read, where nothing more important is to be done. What is refused may be for want of it.
fn read_inventory(
    host: &PhysicalHost,
    plan: &Plan,
    known: Option<&Arc<Known>>,
    key: &Key,
    context: &Context,
) {
    if let (Plan::Watch | Plan::Refuse(_), Some(known)) = (plan, known) {
        context.inventories.read_if_due(key, known, host, context.pace.poll);
    }
}

async fn publish(
    host: &PhysicalHost,
    known: Option<&Known>,
    context: &Context,
) -> Result<(), ReconcileError> {
    inventory::publish(&context.client, host).await?;
    if let Some(known) = known {
        known.inventory_is_written();
    }
    Ok(())
}

/// Says what went wrong, and when it is tried again.
async fn failed_step(
    host: PhysicalHost,
    trouble: Trouble,
    key: &Key,
    context: &Context,
    trail: &mut Trail,
) -> Result<Action, ReconcileError> {
    context.trouble(key, Some(trouble));
    let found = observe::observe(&context.client, &context.bmcs, key, &host).await;
    let observed = found.observed(&host, context.last_trouble(key), context.consumers.exists(&host).await);
    let decision = host::decide(&host, &observed, context.pace, now());
    match say(&decision, &host, context, trail).await? {
        Said::Now(_) => next(decision.requeue, key, context, trail),
        Said::Stale => Ok(again()),
    }
}

/// What became of saying it.
enum Said {
    /// The host is this now.
    Now(Box<PhysicalHost>),
    /// The host changed meanwhile.
    Stale,
}

async fn say(
    decision: &Decision,
    host: &PhysicalHost,
    context: &Context,
    trail: &mut Trail,
) -> Result<Said, ReconcileError> {
    let status = &decision.status;
    match status::report((&context.client, &context.recorder), host, status, &decision.events).await? {
        Reported::Unchanged => {
            tracing::debug!("nothing changed");
            Ok(Said::Now(Box::new(host.clone())))
        }
        Reported::Written(written) => {
            tracing::info!(state = ?status.state, error = status.error_message, "status written");
            trail.reach(&written);
            Ok(Said::Now(written))
        }
        Reported::Stale => {
            tracing::debug!("the host changed meanwhile; looking again");
            Ok(Said::Stale)
        }
    }
}

fn is_adopted(host: &PhysicalHost) -> bool {
    host.finalizers().iter().any(|name| name == finalizers::PHYSICAL_HOST)
}

fn again() -> Action {
    Action::requeue(spread(AFTER_LOST_RACE))
}

/// Turns the decision about when to look again into an action.
fn next(requeue: Requeue, key: &Key, context: &Context, trail: &mut Trail) -> Result<Action, ReconcileError> {
    let after = match requeue {
        Requeue::Failed(Failure::Secret) => return Err(ReconcileError::Secret),
        Requeue::Failed(Failure::Bmc) => return Err(ReconcileError::Bmc),
        Requeue::Failed(Failure::BootResources) => return Err(ReconcileError::BootResources),
        Requeue::Growing(longest) => context.backoffs.failed(key.clone()).min(spread(longest)),
        Requeue::OnChange => {
            trail.rest();
            return Ok(Action::await_change());
        }
        Requeue::After(time) => {
            context.backoffs.forget(key);
            spread(time)
        }
    };
    let after = after.min(spread(context.sync_period));
    trail.rest_for(after);
    Ok(Action::requeue(after))
}

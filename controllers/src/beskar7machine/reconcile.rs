//! One look at one machine, and what becomes of it.

use std::{sync::Arc, time::Duration};

use beskar7_api::{Beskar7Machine, PhysicalHost};
use beskar7_core::{
    claim::{Mark, Obstacle},
    delivery::Delivery,
    host::errand::is_being_wiped,
    machine::{self, Course},
    policy::Tenure,
};
use kube::{Client, ResourceExt as _, runtime::controller::Action};

use super::{KIND, NAME, around::Around, look::Look, node::Sighting};
use crate::{
    caches::Caches,
    claim::{self, ClaimError, Claiming as _, Claims, ConsumerId, Looked, Rest, View, intended_host},
    clock::now,
    controller::Reconciler,
    diagnostics::Metrics,
    retry::{Backoffs, spread},
    tell::Recorder,
    watch::{Key, key},
    workloads::Workloads,
};

/// No look may take longer: it is a handful of requests to the API server.
const LIMIT: Duration = Duration::from_secs(120);
/// The longest pause between two looks at something that is not watched.
const UNWATCHED: Duration = Duration::from_secs(60);

/// What every look needs.
pub struct Context {
    pub(super) client: Client,
    recorder: Recorder,
    metrics: Metrics,
    pub(super) caches: Caches,
    pub(super) claims: Claims,
    pub(super) workloads: Arc<Workloads>,
    backoffs: Backoffs<Key>,
    sync_period: Duration,
    /// How long a release may take until it is called overdue.
    release_patience: Duration,
    /// Whether there is a boot server.
    pub(super) delivery: Delivery,
}

/// What the controller shares with others.
pub struct Shared {
    /// What is known of the cluster.
    pub caches: Caches,
    /// What every claim needs.
    pub claims: Claims,
    /// The clusters that machines become Nodes of.
    pub workloads: Arc<Workloads>,
}

impl Context {
    /// For a controller whose writes go through `client`.
    #[must_use]
    pub fn new(
        client: Client,
        recorder: Recorder,
        metrics: Metrics,
        Shared { caches, claims, workloads }: Shared,
        (sync_period, release_patience, delivery): (Duration, Duration, Delivery),
    ) -> Self {
        Self {
            claims,
            client,
            recorder,
            metrics,
            caches,
            workloads,
            backoffs: Backoffs::new(),
            sync_period,
            release_patience,
            delivery,
        }
    }

    /// Looks, and makes one step after the other for as long as something is to be done at once.
    async fn steps(&self, machine: Arc<Beskar7Machine>) -> Result<Action, ClaimError> {
        let around = Around::of(&machine, &self.caches);
        let open = self.caches.tenancy.open_to(&machine.namespace().unwrap_or_default());
        let look = Look { context: self, around: &around, open };
        if let Some(mark) = claim::left_alone(&look, machine.as_ref()) {
            let action = claim::leave_alone(&look, machine.clone()).await?;
            return match mark {
                // clusterctl deletes it here.
                Mark::Moved => Ok(action),
                Mark::Paused(why) => self.say(&machine, &Course::Paused(&why), (None, None), action).await,
            };
        }
        match claim::steps(&look, machine).await? {
            Looked::Rest(view, rest) => {
                let tenure = view.host.host().map(|host| look.tenure(&view.object, host));
                let tolerated = matches!(tenure, Some(Tenure::Tolerated | Tenure::Unknown));
                self.rest(&view, &rest, &around, tolerated).await
            }
            Looked::Quiet => Ok(Action::await_change()),
            Looked::Busy => Ok(claim::after_lost_race()),
        }
    }

    async fn rest(
        &self,
        view: &View<Beskar7Machine>,
        rest: &Rest,
        around: &Around,
        tolerated: bool,
    ) -> Result<Action, ClaimError> {
        let (machine, host) = (view.object.as_ref(), view.host.host());
        let name =
            intended_host(machine).map(|(namespace, name)| format!("{namespace}/{name}")).unwrap_or_default();
        let (mut sighting, mut allowed) = (None, true);
        let (course, action) = match (rest, host) {
            (Rest::Blocked(obstacle), _) => {
                (Course::Blocked(obstacle), self.after_obstacle(machine, obstacle))
            }
            (Rest::Searching(counts), _) => (Course::Searching(counts), Action::await_change()),
            (Rest::Held, Some(host)) => {
                allowed = !tolerated;
                sighting = self.sight(machine, host, around);
                let again = sighting.as_ref().and_then(|found| self.write_node(machine, around, found));
                (Course::Held(host), again.map_or_else(|| self.resync(), Action::requeue))
            }
            (Rest::Held, None) => (Course::Binding(&name), self.resync()),
            (Rest::HostPaused, _) => (Course::HostPaused(&name), Action::await_change()),
            (Rest::Lost, _) => (Course::Lost, Action::await_change()),
            (Rest::Releasing, host) => {
                let left = claim::patience_left(machine, self.release_patience);
                let action = left.map_or_else(|| self.resync(), Action::requeue);
                let overdue = left.is_none() && !host.is_some_and(is_being_wiped);
                (Course::Releasing { host, overdue }, action)
            }
        };
        let tolerated = host.filter(|_| !allowed);
        self.say(machine, &course, (sighting.as_ref(), tolerated), action).await
    }

    async fn say(
        &self,
        machine: &Beskar7Machine,
        course: &Course<'_>,
        (node, tolerated): (Option<&Sighting>, Option<&PhysicalHost>),
        action: Action,
    ) -> Result<Action, ClaimError> {
        let mut decision = machine::decide(machine, course, now());
        if let Some(host) = tolerated {
            decision = decision.tolerated(machine, host, now());
        }
        if let Some(node) = node {
            decision = decision.with_node(machine, &node.finding, node.needs_people, now());
        }
        let machine::Decision { status, events } = &decision;
        let to = (&self.client, &self.recorder);
        match claim::report(to, machine, status, &status.phase, events).await? {
            true => Ok(action),
            false => Ok(claim::after_lost_race()),
        }
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
}

impl Reconciler for Context {
    type Kind = Beskar7Machine;
    type Error = ClaimError;
    const NAME: &'static str = NAME;
    const LIMIT: Duration = LIMIT;

    async fn look(self: Arc<Self>, machine: Arc<Beskar7Machine>) -> Result<Action, ClaimError> {
        self.steps(machine).await
    }

    fn forget(&self, machine: &Key) {
        self.backoffs.forget(machine);
        self.workloads.forget(machine);
        self.claims.forget(&ConsumerId { kind: KIND, key: machine.clone() });
    }

    fn backoffs(&self) -> &Backoffs<Key> {
        &self.backoffs
    }

    fn metrics(&self) -> &Metrics {
        &self.metrics
    }
}

//! One look at one claim, and what becomes of it.

use std::{sync::Arc, time::Duration};

use beskar7_api::{HostClaim, PhysicalHost};
use beskar7_core::{
    claim::Mark,
    delivery::Delivery,
    host::{belongings::belongs_to, errand::is_being_wiped},
    hostclaim::{self, Course, Made, Synced, names_configuration, not_authorized, wanting},
};
use kube::{Client, ResourceExt as _, api::ObjectMeta, runtime::controller::Action};

use super::{KIND, NAME, look::Look};
use crate::{
    caches::Caches,
    claim::{self, ClaimError, Claiming as _, Claims, ConsumerId, Looked, Rest, View},
    clock::now,
    controller::Reconciler,
    copies::Copies,
    diagnostics::Metrics,
    retry::{Backoffs, spread},
    tell::Recorder,
    watch::{Key, key},
};

/// No look may take longer: it is a handful of requests to the API server.
const LIMIT: Duration = Duration::from_secs(120);
/// How often Secrets are read again that a claim names.
const SOURCES: Duration = Duration::from_secs(300);
/// The same for one that is not there, or not as it should be.
const MISSING_SOURCE: Duration = Duration::from_secs(15);

/// What every look needs.
pub struct Context {
    client: Client,
    recorder: Recorder,
    metrics: Metrics,
    pub(super) caches: Caches,
    pub(super) claims: Claims,
    pub(super) copies: Copies,
    /// Whether there is a boot server.
    pub(super) delivery: Delivery,
    backoffs: Backoffs<Key>,
    sync_period: Duration,
    /// How long a release may take until it is called overdue.
    release_patience: Duration,
}

/// What the controller shares with others.
pub struct Shared {
    /// What is known of the cluster.
    pub caches: Caches,
    /// What every claim needs.
    pub claims: Claims,
}

impl Context {
    /// For a controller whose writes go through `client`.
    #[must_use]
    pub fn new(
        client: Client,
        recorder: Recorder,
        metrics: Metrics,
        Shared { caches, claims }: Shared,
        (sync_period, release_patience, delivery): (Duration, Duration, Delivery),
    ) -> Self {
        Self {
            claims,
            copies: Copies::new(client.clone()),
            delivery,
            client,
            recorder,
            metrics,
            caches,
            backoffs: Backoffs::new(),
            sync_period,
            release_patience,
        }
    }

    async fn steps(&self, claim: Arc<HostClaim>) -> Result<Action, ClaimError> {
        let open = self.caches.tenancy.open_to(&claim.namespace().unwrap_or_default());
        let look = Look::new(self, open);
        if let Some(mark) = claim::left_alone(&look, &claim) {
            let action = claim::leave_alone(&look, claim.clone()).await?;
            return match mark {
                // clusterctl deletes it here.
                Mark::Moved => Ok(action),
                Mark::Paused(why) => self.say(&claim, &Course::Paused(&why), action).await,
            };
        }
        match claim::steps(&look, claim).await? {
            Looked::Rest(view, rest) => self.rest(&look, &view, &rest).await,
            Looked::Quiet => Ok(Action::await_change()),
            Looked::Busy => Ok(claim::after_lost_race()),
        }
    }

    async fn rest(&self, look: &Look<'_>, view: &View<HostClaim>, rest: &Rest) -> Result<Action, ClaimError> {
        let claim = view.object.as_ref();
        let closed = match rest {
            Rest::Searching(_) => {
                let own = claim.metadata.namespace.as_deref().unwrap_or_default();
                let misses_labels = self.caches.tenancy.misses_labels_of(own);
                not_authorized(claim, &wanting(claim, &look.open, self.delivery), misses_labels)
            }
            Rest::Held | Rest::Blocked(_) | Rest::HostPaused | Rest::Lost | Rest::Releasing => None,
        };
        let synced = look.synced();
        let (course, action) = match (rest, view.host.host()) {
            (Rest::Searching(counts), _) => {
                let course = closed.as_deref().map_or(Course::Searching(counts), Course::Unauthorized);
                (course, Action::await_change())
            }
            (Rest::Blocked(obstacle), _) => (Course::Searching(&obstacle.message), self.resync()),
            (Rest::Held, Some(host)) => {
                (Course::Held(host, look.tenure(claim, host), &synced), self.follow_sources(claim, &synced))
            }
            (Rest::Held, None) => (Course::Binding, self.resync()),
            (Rest::HostPaused, _) => (Course::HostPaused, Action::await_change()),
            (Rest::Lost, _) => (Course::Lost, Action::await_change()),
            (Rest::Releasing, host) => {
                let left = claim::patience_left(claim, self.release_patience);
                let action = left.map_or_else(|| self.resync(), Action::requeue);
                let overdue = left.is_none() && !host.is_some_and(is_being_wiped);
                (Course::Releasing { overdue }, action)
            }
        };
        self.say(claim, &course, action).await
    }

    async fn say(
        &self,
        claim: &HostClaim,
        course: &Course<'_>,
        action: Action,
    ) -> Result<Action, ClaimError> {
        let mut decision = hostclaim::decide(claim, course, self.delivery, now());
        if let Course::Held(host, ..) = course {
            decision = decision.referring(self.made(host), host);
        }
        let hostclaim::Decision { status, events } = &decision;
        let to = (&self.client, &self.recorder);
        match claim::report(to, claim, status, &status.phase, events).await? {
            true => Ok(action),
            false => Ok(claim::after_lost_race()),
        }
    }

    /// What was made for the claim that holds a host.
    fn made(&self, host: &PhysicalHost) -> Made {
        let (key, id) = (key(host), host.spec.claim_id.as_deref().unwrap_or_default());
        let is_its = |metadata: &ObjectMeta| belongs_to(metadata, host, id);
        Made {
            configuration: self
                .caches
                .boot_configurations
                .get(&key)
                .is_some_and(|found| is_its(&found.metadata)),
            reservation: self.caches.reservations.get(&key).is_some_and(|found| is_its(&found.metadata)),
        }
    }

    /// Nobody tells when a Secret changes: a claim that names some is looked at again.
    fn follow_sources(&self, claim: &HostClaim, synced: &Synced) -> Action {
        let soon = match (names_configuration(claim), synced) {
            (false, _) => return self.resync(),
            (true, Synced::Yes) => SOURCES,
            (true, Synced::No { .. }) => MISSING_SOURCE,
        };
        Action::requeue(spread(soon.min(self.sync_period)))
    }

    fn resync(&self) -> Action {
        Action::requeue(spread(self.sync_period))
    }
}

impl Reconciler for Context {
    type Kind = HostClaim;
    type Error = ClaimError;
    const NAME: &'static str = NAME;
    const LIMIT: Duration = LIMIT;

    async fn look(self: Arc<Self>, claim: Arc<HostClaim>) -> Result<Action, ClaimError> {
        self.steps(claim).await
    }

    fn forget(&self, claim: &Key) {
        self.backoffs.forget(claim);
        self.claims.forget(&ConsumerId { kind: KIND, key: claim.clone() });
    }

    fn backoffs(&self) -> &Backoffs<Key> {
        &self.backoffs
    }

    fn metrics(&self) -> &Metrics {
        &self.metrics
    }
}

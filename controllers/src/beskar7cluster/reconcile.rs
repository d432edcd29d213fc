//! One look at one cluster, and what becomes of it.

use std::{sync::Arc, time::Duration};

use beskar7_api::{Beskar7Cluster, PhysicalHost};
use beskar7_core::cluster::{Decision, Requeue, Step, decide, left_alone};
use kube::{Client, ResourceExt as _, runtime::controller::Action};

use super::{NAME, ReconcileError, control_plane::ControlPlanes, marks, observe::observe, report::changed};
use crate::{
    caches::Caches,
    clock::now,
    controller::Reconciler,
    diagnostics::Metrics,
    retry::{Backoffs, spread},
    status::{self, Reported, StatusError},
    tell::Recorder,
    watch::{Key, key},
    write::Written,
};

/// No reconcile may take longer.
const LIMIT: Duration = Duration::from_secs(120);
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
    caches: Caches,
    control_planes: ControlPlanes,
    backoffs: Backoffs<Key>,
}

impl Context {
    /// For a controller whose writes go through `client`.
    #[must_use]
    pub fn new(
        client: Client,
        recorder: Recorder,
        metrics: Metrics,
        sync_period: Duration,
        caches: Caches,
    ) -> Self {
        let control_planes = ControlPlanes::new(client.clone());
        Self { client, recorder, metrics, sync_period, caches, control_planes, backoffs: Backoffs::new() }
    }
}

impl Reconciler for Context {
    type Kind = Beskar7Cluster;
    type Error = ReconcileError;
    const NAME: &'static str = NAME;
    const LIMIT: Duration = LIMIT;

    async fn look(self: Arc<Self>, cluster: Arc<Beskar7Cluster>) -> Result<Action, ReconcileError> {
        look(cluster, &self).await
    }

    fn forget(&self, key: &Key) {
        self.backoffs.forget(key);
    }

    fn backoffs(&self) -> &Backoffs<Key> {
        &self.backoffs
    }

    fn metrics(&self) -> &Metrics {
        &self.metrics
    }
}

/// Observes, decides, reports and acts, step by step, until there is nothing more to do.
async fn look(mut cluster: Arc<Beskar7Cluster>, context: &Context) -> Result<Action, ReconcileError> {
    if left_alone(&cluster) {
        return Ok(Action::await_change());
    }
    let Context { client, caches, control_planes, .. } = context;
    let (key, mut hosts) = (key(cluster.as_ref()), Vec::new());
    for _ in 0..MOST_STEPS {
        let looked_at = cluster.clone();
        let seen = observe(client, caches, control_planes, &looked_at, &hosts).await?;
        let decision = decide(&looked_at, &seen.observed(&looked_at), now());
        match say(&decision, &cluster, context).await? {
            Reported::Unchanged => {}
            Reported::Written(written) => cluster = Arc::from(written),
            Reported::Stale => return Ok(again()),
        }
        match act(&decision.step, &cluster, client).await? {
            Outcome::Nothing => return next(decision.requeue, &key, context),
            Outcome::Cluster(written) => cluster = Arc::from(written),
            Outcome::Host(written) => hosts.push(Arc::from(written)),
            Outcome::Gone => {
                context.forget(&key);
                return Ok(Action::await_change());
            }
            Outcome::Stale => return Ok(again()),
        }
    }
    Ok(again())
}

async fn say(
    decision: &Decision<'_>,
    cluster: &Beskar7Cluster,
    context: &Context,
) -> Result<Reported<Beskar7Cluster>, ReconcileError> {
    let Some(status) = &decision.status else { return Ok(Reported::Unchanged) };
    let to = (&context.client, &context.recorder);
    let changed = changed(cluster, status).map_err(StatusError::Json)?;
    let reported = status::report_changes(to, cluster, changed, &decision.events).await?;
    match &reported {
        Reported::Unchanged => tracing::debug!("nothing changed"),
        Reported::Written(_) => tracing::info!(ready = status.ready, "status written"),
        Reported::Stale => tracing::debug!("the cluster changed meanwhile; looking again"),
    }
    Ok(reported)
}

/// What became of a step.
enum Outcome {
    /// There was nothing to do.
    Nothing,
    /// The cluster is this now.
    Cluster(Box<Beskar7Cluster>),
    /// A host is this now.
    Host(Box<PhysicalHost>),
    /// The cluster is none of our business any more.
    Gone,
    /// What was to be written changed meanwhile.
    Stale,
}

async fn act(step: &Step<'_>, cluster: &Beskar7Cluster, client: &Client) -> Result<Outcome, ReconcileError> {
    let of_cluster = |written| match written {
        Written::To(cluster) => Outcome::Cluster(cluster),
        Written::Stale => Outcome::Stale,
    };
    let of_host = |written| match written {
        Written::To(host) => Outcome::Host(host),
        Written::Stale => Outcome::Stale,
    };
    Ok(match step {
        Step::Rest => Outcome::Nothing,
        Step::Adopt => of_cluster(marks::adopt(client, cluster).await?),
        Step::WriteEndpoint(endpoint) => {
            tracing::info!(host = endpoint.host, port = endpoint.port, "the endpoint is written");
            of_cluster(marks::write_endpoint(client, cluster, endpoint).await?)
        }
        Step::Reserve(host) => {
            tracing::info!(host = host.name_any(), "a host is kept for the first control-plane machine");
            of_host(marks::reserve(client, cluster, host).await?)
        }
        Step::Unreserve(host) => {
            tracing::info!(host = host.name_any(), "a host is no longer kept for this cluster");
            of_host(marks::unreserve(client, host).await?)
        }
        Step::LetGo => match marks::let_go(client, cluster).await? {
            Written::To(_) => Outcome::Gone,
            Written::Stale => Outcome::Stale,
        },
    })
}

fn again() -> Action {
    Action::requeue(spread(AFTER_LOST_RACE))
}

/// Turns the decision about when to look again into an action.
fn next(requeue: Requeue, key: &Key, context: &Context) -> Result<Action, ReconcileError> {
    let longest = spread(context.sync_period);
    Ok(Action::requeue(match requeue {
        Requeue::OnChange => {
            context.backoffs.forget(key);
            longest
        }
        Requeue::Growing(at_least) => context.backoffs.failed(key.clone()).min(spread(at_least)).min(longest),
        Requeue::Failed => return Err(ReconcileError::ControlPlane),
    }))
}

//! One look at one host, and what becomes of it.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use beskar7_api::PhysicalHost;
use beskar7_core::host::{self, Decision, Requeue};
use jiff::Timestamp;
use kube::{
    Client, ResourceExt as _,
    api::ObjectMeta,
    core::DeserializeGuard,
    runtime::{controller::Action, events::Recorder},
};
use tokio::time::Instant;

use super::{
    NAME, ReconcileError, observe,
    report::{self, Reported},
};
use crate::{
    causes::causes,
    diagnostics::Metrics,
    retry::{Backoffs, spread},
};

/// No reconcile may take longer.
const LIMIT: Duration = Duration::from_secs(90);
/// A lost race is looked at again soon, should the watch not wake us before.
const AFTER_LOST_RACE: Duration = Duration::from_secs(5);

/// A host: its namespace and name.
type Key = (String, String);

/// What every reconcile needs.
pub struct Context {
    client: Client,
    recorder: Recorder,
    metrics: Metrics,
    sync_period: Duration,
    backoffs: Backoffs<Key>,
    /// Hosts that could not be parsed, and why, so that each is logged once.
    unparsable: Mutex<HashMap<Key, String>>,
}

impl Context {
    /// For a controller whose writes go through `client`.
    #[must_use]
    pub fn new(client: Client, recorder: Recorder, metrics: Metrics, sync_period: Duration) -> Self {
        Self {
            client,
            recorder,
            metrics,
            sync_period,
            backoffs: Backoffs::new(),
            unparsable: Mutex::default(),
        }
    }

    /// A host is gone.
    pub(super) fn forget(&self, namespace: Option<&str>, name: &str) {
        let key = (namespace.unwrap_or_default().to_owned(), name.to_owned());
        self.backoffs.forget(&key);
        self.unparsable.lock().unwrap_or_else(PoisonError::into_inner).remove(&key);
    }

    /// Whether this failure to parse is a new one.
    pub(super) fn first_failure_to_parse(&self, key: Key, error: &str) -> bool {
        let mut unparsable = self.unparsable.lock().unwrap_or_else(PoisonError::into_inner);
        unparsable.insert(key, error.to_owned()).as_deref() != Some(error)
    }

    fn parsed(&self, key: &Key) {
        self.unparsable.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }
}

/// Looks at a host once.
pub(super) async fn reconcile(
    guarded: Arc<DeserializeGuard<PhysicalHost>>,
    context: Arc<Context>,
) -> Result<Action, ReconcileError> {
    let host = match &guarded.0 {
        Ok(host) => host,
        Err(invalid) => {
            if context.first_failure_to_parse(key(&invalid.metadata), &invalid.error) {
                tracing::error!(
                    error = invalid.error,
                    "the PhysicalHost can't be read; it is left alone until it changes"
                );
            }
            return Ok(Action::await_change());
        }
    };
    context.parsed(&key(&host.metadata));
    let started = Instant::now();
    let result = tokio::time::timeout(LIMIT, look(host, &context))
        .await
        .unwrap_or(Err(ReconcileError::TimedOut(LIMIT)));
    context.metrics.reconciled(NAME, started.elapsed(), result.as_ref().err().map(ReconcileError::category));
    result
}

async fn look(host: &PhysicalHost, context: &Context) -> Result<Action, ReconcileError> {
    if host::left_alone(host) {
        return Ok(Action::await_change());
    }
    let decision = if host::paused(host) {
        host::decide_paused(host, now())
    } else {
        let observed = observe::observe(&context.client, host).await;
        host::decide(host, &observed, now())
    };
    let Decision { status, events, requeue } = decision;
    match report::report(&context.client, &context.recorder, host, &status, &events).await? {
        Reported::Unchanged => tracing::debug!("nothing changed"),
        Reported::Written => {
            tracing::info!(state = ?status.state, error = status.error_message, "status written")
        }
        Reported::Stale => {
            tracing::debug!("the host changed meanwhile; looking again");
            return Ok(Action::requeue(spread(AFTER_LOST_RACE)));
        }
    }
    next(requeue, &key(&host.metadata), context)
}

/// Turns the decision about when to look again into an action.
fn next(requeue: Requeue, key: &Key, context: &Context) -> Result<Action, ReconcileError> {
    let after = match requeue {
        Requeue::Failed => return Err(ReconcileError::Secret),
        Requeue::Growing(longest) => context.backoffs.failed(key.clone()).min(spread(longest)),
        Requeue::OnChange => {
            context.backoffs.forget(key);
            return Ok(Action::await_change());
        }
        Requeue::After(time) => {
            context.backoffs.forget(key);
            spread(time)
        }
    };
    Ok(Action::requeue(after.min(spread(context.sync_period))))
}

/// When to try again after a failure.
pub(super) fn failed(
    guarded: &DeserializeGuard<PhysicalHost>,
    error: &ReconcileError,
    context: &Context,
) -> Action {
    let pause = context.backoffs.failed((guarded.namespace().unwrap_or_default(), guarded.name_any()));
    tracing::warn!(
        controller = NAME,
        host = guarded.name_any(),
        namespace = guarded.namespace(),
        error = causes(error),
        again_in = ?pause,
        "a reconcile failed"
    );
    Action::requeue(pause)
}

fn key(metadata: &ObjectMeta) -> Key {
    (metadata.namespace.clone().unwrap_or_default(), metadata.name.clone().unwrap_or_default())
}

/// Whole seconds, as Kubernetes writes them.
fn now() -> Timestamp {
    let now = Timestamp::now();
    Timestamp::from_second(now.as_second()).unwrap_or(now)
}

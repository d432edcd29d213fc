//! The loop of a controller: takes keys, looks at the objects of those keys, a bounded number at once, and again when
//! they say so.

use std::{convert::Infallible, sync::Arc, time::Duration};

use futures::{StreamExt as _, stream};
use kube::{
    ResourceExt as _,
    runtime::controller::{Action, Config, Error, applier},
};
use tokio::{sync::mpsc::UnboundedReceiver, task::JoinHandle, time::Instant};
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use crate::{
    causes::causes,
    diagnostics::{Metrics, Pulse},
    retry::Backoffs,
    watch::{Cache, Key, Watched, key, reference},
};

/// How often the loop shows that it turns, and how long it may stand still.
const TICK: Duration = Duration::from_secs(5);
pub(crate) const STUCK: Duration = Duration::from_secs(120);

/// What a controller does with its objects.
pub trait Reconciler: Send + Sync + 'static {
    /// Its objects.
    type Kind: Watched;
    /// How a look at one can fail.
    type Error: Failure;
    /// Its name in logs and metrics.
    const NAME: &'static str;
    /// No look may take longer.
    const LIMIT: Duration;

    /// Looks at an object once.
    fn look(
        self: Arc<Self>,
        object: Arc<Self::Kind>,
    ) -> impl Future<Output = Result<Action, Self::Error>> + Send + 'static;

    /// An object is gone.
    fn forget(&self, key: &Key);

    /// How often each object has failed.
    fn backoffs(&self) -> &Backoffs<Key>;

    /// Where looks are counted.
    fn metrics(&self) -> &Metrics;
}

/// How a look can fail.
pub trait Failure: std::error::Error + Send + Sync + 'static {
    /// The kind of failure, for metrics: few values, which stay.
    fn category(&self) -> &'static str;

    /// It hung.
    fn timed_out(limit: Duration) -> Self;
}

/// Looks at an object once, not for ever, and counts it.
pub(crate) async fn reconcile<R: Reconciler>(
    reconciler: Arc<R>,
    object: Arc<R::Kind>,
) -> Result<Action, R::Error> {
    let started = Instant::now();
    let key = key(object.as_ref());
    let look = tokio::time::timeout(R::LIMIT, reconciler.clone().look(object));
    let result = look.await.unwrap_or_else(|_| Err(R::Error::timed_out(R::LIMIT)));
    // Nothing is left to be tried again: how often it failed does not count any more.
    if result.as_ref().is_ok_and(|action| *action == Action::await_change()) {
        reconciler.backoffs().forget(&key);
    }
    reconciler.metrics().reconciled(R::NAME, started.elapsed(), result.as_ref().err().map(Failure::category));
    result
}

/// When to look again after a failure: less and less often.
pub(crate) fn failed<R: Reconciler>(reconciler: &R, object: &R::Kind, error: &R::Error) -> Action {
    let pause = reconciler.backoffs().failed(key(object));
    tracing::warn!(
        controller = R::NAME,
        object = object.name_any(),
        namespace = object.namespace(),
        error = causes(error),
        again_in = ?pause,
        "a reconcile failed"
    );
    Action::requeue(pause)
}

/// Runs until `stop`, and then until running reconciles have ended.
pub async fn run<R: Reconciler>(
    reconciler: Arc<R>,
    cache: Cache<R::Kind>,
    keys: UnboundedReceiver<Key>,
    concurrency: u16,
    pulse: Pulse,
    stop: CancellationToken,
) {
    let queue = stream::unfold(keys, |mut keys| async {
        let key = keys.recv().await?;
        Some((Ok::<_, Infallible>(reference::<R::Kind>(&key)), keys))
    });
    let results = applier(
        |object, reconciler: Arc<R>| Box::pin(by_itself(reconcile(reconciler, object))),
        |object, error, reconciler: Arc<R>| failed(reconciler.as_ref(), &object, error),
        reconciler.clone(),
        cache.store().clone(),
        Box::pin(queue.take_until(stop.cancelled_owned())),
        Config::default().concurrency(concurrency),
    );
    let mut results = std::pin::pin!(results);
    let mut tick = tokio::time::interval(TICK);
    loop {
        pulse.beat();
        tokio::select! {
            result = results.next() => match result {
                Some(Ok(_)) => {}
                Some(Err(Error::ObjectNotFound(object))) => {
                    reconciler.forget(&(object.namespace.clone().unwrap_or_default(), object.name.clone()));
                }
                // Logged and counted where it happened.
                Some(Err(Error::ReconcilerFailed(_, _))) => {}
                Some(Err(error @ (Error::QueueError(_) | Error::RunnerError(_)))) => {
                    tracing::warn!(controller = R::NAME, error = causes(&error), "looking at objects failed");
                }
                None => break,
            },
            _ = tick.tick() => {}
        }
    }
    pulse.rest();
}

/// As a task of its own, so that all cores are used; it ends when nobody waits for it any more.
async fn by_itself<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> T {
    struct Task<T>(JoinHandle<T>);
    impl<T> Drop for Task<T> {
        fn drop(&mut self) {
            self.0.abort();
        }
    }
    let mut task = Task(tokio::spawn(work.in_current_span()));
    match (&mut task.0).await {
        Ok(done) => done,
        // A bug: the controller ends with it, and the manager says so.
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => std::future::pending().await,
        },
    }
}

//! The PhysicalHost controller: observe → decide (in `beskar7-core`) → report → act. The only one that talks to BMCs.

mod act;
mod bmcs;
mod error;
mod inventory;
mod marks;
mod observe;
mod reconcile;
mod report;
mod sighting;
#[cfg(test)]
mod tests;
mod trouble;

use std::{sync::Arc, time::Duration};

use beskar7_api::{PhysicalHost, labels};
use futures::StreamExt as _;
use kube::{
    Api, Client,
    core::DeserializeGuard,
    runtime::{
        Controller,
        controller::{Config, Error as ControllerError},
        watcher,
    },
};
use tokio_util::sync::CancellationToken;

pub use self::{error::ReconcileError, reconcile::Context};
use crate::{
    causes::causes,
    diagnostics::{Health, Pulse},
    options::Options,
};

/// A host: its namespace and name.
type Key = (String, String);

/// Its name in logs and metrics.
pub const NAME: &str = "physicalhost";
/// What readiness waits for on the replica that leads.
const CACHE: &str = "the PhysicalHost cache";
/// How often the loop shows that it turns, and how long it may stand still.
const TICK: Duration = Duration::from_secs(5);
const STUCK: Duration = Duration::from_secs(120);

/// Runs until `stop`, and then until running reconciles have ended.
pub async fn run(
    client: Client,
    options: &Options,
    context: Arc<Context>,
    health: Health,
    stop: CancellationToken,
) {
    let hosts: Api<DeserializeGuard<PhysicalHost>> = match options.watch_namespace() {
        Some(namespace) => Api::namespaced(client, namespace),
        None => Api::all(client),
    };
    let pulse = Pulse::new(NAME, STUCK);
    health.watch(&pulse);
    health.wait_for(CACHE);
    let controller = Controller::new(hosts, watched(options))
        .with_config(Config::default().concurrency(options.controllers.physicalhost_concurrency))
        .graceful_shutdown_on(stop.cancelled_owned());
    let store = controller.store();
    let results = controller.run(
        reconcile::reconcile,
        |guarded, error, context| reconcile::failed(&guarded, error, &context),
        context.clone(),
    );
    let mut results = std::pin::pin!(results);
    let mut synced = std::pin::pin!(async move {
        // The writer lives as long as the controller: there is nothing else to wait for.
        if store.wait_until_ready().await.is_ok() {
            tracing::info!(controller = NAME, objects = store.len(), "the cache is filled");
            health.passed(CACHE);
        }
        std::future::pending::<()>().await;
    });
    let mut tick = tokio::time::interval(TICK);
    loop {
        pulse.beat();
        tokio::select! {
            result = results.next() => match result {
                Some(Ok(_)) => {}
                Some(Err(ControllerError::ObjectNotFound(object))) => {
                    context.forget(object.namespace.as_deref(), &object.name);
                }
                // Logged and counted where it happened.
                Some(Err(ControllerError::ReconcilerFailed(_, _))) => {}
                Some(Err(error @ (ControllerError::QueueError(_) | ControllerError::RunnerError(_)))) => {
                    tracing::warn!(controller = NAME, error = causes(&error), "watching failed; trying again");
                }
                None => break,
            },
            () = &mut synced => {}
            _ = tick.tick() => {}
        }
    }
    pulse.rest();
}

/// What is watched: with `--watch-filter` only what carries its label.
fn watched(options: &Options) -> watcher::Config {
    match options.watch_filter() {
        Some(value) => watcher::Config::default().labels(&format!("{}={value}", labels::WATCH_FILTER)),
        None => watcher::Config::default(),
    }
}

//! Watches the hosts of a namespace, and notes when each can be claimed and when it is.

use std::collections::HashMap;
use std::pin::pin;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use beskar7_api::PhysicalHost;
use futures::TryStreamExt as _;
use kube::api::{ListParams, WatchEvent, WatchParams};
use kube::core::Request;
use kube::{Api, Client, Resource as _};
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// For everything that is awaited, on a busy machine.
const LIMIT: Duration = Duration::from_secs(300);

/// What was seen so far.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// When each host was first Available.
    pub(super) available: HashMap<String, Instant>,
    /// When each consumer first held a host.
    pub(super) bound: HashMap<String, Instant>,
    /// The status of the host that was Available first.
    pub(super) status: Option<Value>,
}

/// A host as far as it is looked at: what costs time here costs both sides time.
#[derive(Debug, Clone, Deserialize)]
struct Host {
    metadata: Metadata,
    spec: Spec,
    status: Option<Value>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    name: String,
    resource_version: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    consumer_ref: Option<Consumer>,
}

#[derive(Debug, Clone, Deserialize)]
struct Consumer {
    name: Option<String>,
}

/// A watch of the hosts of a namespace; it ends when this is dropped.
pub(super) struct Sightings {
    seen: watch::Receiver<Seen>,
    task: JoinHandle<Result<()>>,
}

impl Drop for Sightings {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Sightings {
    /// Begins to watch.
    pub(super) async fn begin(client: &Client, namespace: &str) -> Result<Self> {
        let hosts: Api<PhysicalHost> = Api::namespaced(client.clone(), namespace);
        let now = hosts.list(&ListParams::default().limit(1)).await.context("listing hosts")?;
        let version = now.metadata.resource_version.context("a list without a version")?;
        let (sender, seen) = watch::channel(Seen::default());
        let task = tokio::spawn(look(client.clone(), namespace.to_owned(), version, sender));
        Ok(Self { seen, task })
    }

    /// Waits until as many were seen.
    pub(super) async fn until(
        &mut self,
        what: &str,
        wanted: usize,
        count: impl Fn(&Seen) -> usize,
    ) -> Result<()> {
        let enough = self.seen.wait_for(|seen| count(seen) >= wanted);
        let ended = tokio::time::timeout(LIMIT, enough).await.map(|seen| seen.is_err());
        match ended {
            Ok(false) => return Ok(()),
            Ok(true) => (&mut self.task).await.context("the watch")??,
            Err(_) => {}
        }
        bail!("waited in vain for {wanted} hosts to be {what}: there are {}", count(&self.seen.borrow()))
    }

    /// What was seen so far.
    pub(super) fn seen(&self) -> watch::Ref<'_, Seen> {
        self.seen.borrow()
    }
}

async fn look(
    client: Client,
    namespace: String,
    mut version: String,
    seen: watch::Sender<Seen>,
) -> Result<()> {
    let all = Request::new(PhysicalHost::url_path(&(), Some(&namespace)));
    // A watch ends after some minutes; the next one goes on where it was.
    loop {
        let request = all.watch(&WatchParams::default(), &version)?;
        let mut events = pin!(client.request_events::<Host>(request).await?);
        while let Some(event) = events.try_next().await? {
            match event {
                WatchEvent::Added(host) | WatchEvent::Modified(host) => {
                    version.clone_from(&host.metadata.resource_version);
                    note(host, &seen);
                }
                WatchEvent::Deleted(host) => version = host.metadata.resource_version,
                WatchEvent::Bookmark(bookmark) => version = bookmark.metadata.resource_version,
                WatchEvent::Error(status) => bail!("the watch failed: {status:?}"),
            }
        }
    }
}

fn note(host: Host, seen: &watch::Sender<Seen>) {
    let now = Instant::now();
    let state = host.status.as_ref().and_then(|status| status.get("state")?.as_str());
    let is_available = state == Some("Available");
    seen.send_modify(|seen| {
        if is_available && !seen.available.contains_key(&host.metadata.name) {
            seen.status = seen.status.take().or(host.status);
            seen.available.insert(host.metadata.name, now);
        }
        if let Some(consumer) = host.spec.consumer_ref.and_then(|consumer| consumer.name) {
            seen.bound.entry(consumer).or_insert(now);
        }
    });
}

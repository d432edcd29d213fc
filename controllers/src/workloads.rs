//! The workload clusters, as far as machines must know them: the Nodes in each, and the few writes to them.
//!
//! Nobody waits here for a workload cluster. Who wants to know its Nodes gets what was seen last, and is woken when that
//! changes; each cluster is asked by one task, however many machines wait for their Nodes, less and less often while
//! nothing happens. What is to be written is ordered, done by another task, and seen afterwards. So a cluster that hangs
//! holds up nobody but its own machines.

mod ask;
mod board;
mod kubeconfig;
mod node;
mod write;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use beskar7_api::cluster_api;
use beskar7_core::machine::node_link::{Node, SystemId, Trouble};
use beskar7_redfish::MachineUuid;
use http::HeaderValue;
use kube::Client;
use tokio::{
    sync::mpsc::{UnboundedReceiver, UnboundedSender},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use self::board::Board;
pub use self::write::Write;
use crate::{
    retry::Backoffs,
    watch::{Cache, Key},
};

/// The pauses after which a write that failed is tried again, without their jitter.
const RETRY: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(30));
/// How old what is known of a cluster may be for a machine whose Node is linked.
const SETTLED: Duration = Duration::from_secs(300);

/// What is known of a workload cluster.
#[derive(Debug, Clone)]
pub struct Known {
    /// Its Nodes, or why it can't be asked; nothing when it was not asked yet.
    pub nodes: Option<Result<Arc<Vec<Node>>, Trouble>>,
    /// Moves with every change.
    generation: u64,
}

/// How often a cluster is asked while nothing changes, without jitter, and how long one request may take.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// The shortest pause, after something changed.
    pub shortest: Duration,
    /// The longest one.
    pub longest: Duration,
    /// One request.
    pub request: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self { shortest: seconds(5), longest: seconds(30), request: seconds(10) }
    }
}

/// What workload clusters are asked and written with.
pub struct Means {
    /// For the Secrets with their kubeconfigs, in our own cluster.
    pub client: Client,
    /// How we call ourselves.
    pub user_agent: HeaderValue,
    /// Whether this replica may write.
    pub may_write: Arc<dyn Fn() -> bool + Send + Sync>,
    /// Which labels of Nodes matter.
    pub label_prefixes: Vec<String>,
    /// How often they are asked.
    pub pace: Pace,
    /// Machines that are to look again.
    pub wake: UnboundedSender<Key>,
    /// Ends everything.
    pub stop: CancellationToken,
}

/// The workload clusters.
pub struct Workloads {
    means: Means,
    clusters: Mutex<HashMap<Key, Arc<Workload>>>,
    retries: Backoffs<Key>,
}

/// One of them.
struct Workload {
    cluster: Key,
    board: Mutex<Board>,
    /// The task that asks it looks at the board again.
    nudge: tokio::sync::Notify,
    /// So that a rush of machines is no rush of writes.
    writes: tokio::sync::Semaphore,
    /// Its Cluster is gone, or everything ends.
    gone: CancellationToken,
}

impl Workload {
    fn board(&self) -> MutexGuard<'_, Board> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Workloads {
    /// Of which nothing is known yet.
    #[must_use]
    pub fn new(means: Means) -> Arc<Self> {
        Arc::new(Self { means, clusters: Mutex::default(), retries: Backoffs::between(RETRY.0, RETRY.1) })
    }

    /// Which labels of Nodes matter.
    #[must_use]
    pub fn label_prefixes(&self) -> &[String] {
        &self.means.label_prefixes
    }

    /// What is known of a cluster.
    #[must_use]
    pub fn known(&self, cluster: &Key) -> Known {
        self.workload(cluster).board().known()
    }

    /// A machine waits for something else than this: it is woken when there is.
    pub fn waits(self: &Arc<Self>, cluster: &Key, machine: &Key, seen: &Known) {
        let workload = self.workload(cluster);
        let is_new = workload.board().waits(machine, seen.generation);
        self.attend(&workload, is_new);
    }

    /// A machine has found its Node. What is known of the cluster is made new should it be old.
    pub fn settles(self: &Arc<Self>, cluster: &Key, machine: &Key, seen: &Known) {
        let workload = self.workload(cluster);
        let asked = workload.board().settles(machine, seen.generation, SETTLED, Instant::now());
        if asked {
            self.attend(&workload, true);
        }
    }

    /// Why the last write for a machine failed, and how long it is not tried again.
    #[must_use]
    pub fn failure(&self, cluster: &Key, machine: &Key) -> Option<(String, Duration)> {
        self.workload(cluster).board().failure(machine, Instant::now())
    }

    /// A machine is gone, or has no Node to wait for.
    pub fn forget(&self, machine: &Key) {
        self.retries.forget(machine);
        let all: Vec<Arc<Workload>> = self.clusters().values().cloned().collect();
        all.iter().for_each(|workload| workload.board().forget(machine));
    }

    /// Forgets clusters that are gone, until everything ends.
    pub async fn run(
        self: Arc<Self>,
        mut changes: UnboundedReceiver<Key>,
        caches: Cache<cluster_api::Cluster>,
    ) {
        loop {
            let cluster = tokio::select! {
                changed = changes.recv() => match changed {
                    Some(cluster) => cluster,
                    None => return,
                },
                () = self.means.stop.cancelled() => return,
            };
            if caches.get(&cluster).is_none()
                && let Some(workload) = self.clusters().remove(&cluster)
            {
                workload.gone.cancel();
            }
        }
    }

    fn clusters(&self) -> MutexGuard<'_, HashMap<Key, Arc<Workload>>> {
        self.clusters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn workload(&self, cluster: &Key) -> Arc<Workload> {
        let mut clusters = self.clusters();
        let made = || {
            Arc::new(Workload {
                cluster: cluster.clone(),
                board: Mutex::new(Board::new(self.means.pace)),
                nudge: tokio::sync::Notify::new(),
                writes: tokio::sync::Semaphore::new(write::AT_ONCE),
                gone: self.means.stop.child_token(),
            })
        };
        clusters.entry(cluster.clone()).or_insert_with(made).clone()
    }

    /// Somebody waits: there must be a task that asks, and one that sleeps may have to ask sooner.
    fn attend(self: &Arc<Self>, workload: &Arc<Workload>, is_new: bool) {
        if workload.board().begins() {
            tokio::spawn(ask::keep(self.clone(), workload.clone()));
        } else if is_new {
            workload.nudge.notify_one();
        }
    }

    fn wake(&self, machines: impl IntoIterator<Item = Key>) {
        for machine in machines {
            // Nobody listens any more only when everything ends.
            let _ended = self.means.wake.send(machine);
        }
    }
}

/// What a BMC or a kubelet says of a board, as it can be compared.
#[must_use]
pub fn system_id(told: Option<&str>) -> SystemId {
    let told = told.map(str::trim).unwrap_or_default();
    if told.is_empty() {
        return SystemId::Untold;
    }
    match MachineUuid::real(told) {
        Some(uuid) => SystemId::Real(uuid.canonical().to_string()),
        None => SystemId::Filler(told.to_owned()),
    }
}

#[cfg(test)]
#[path = "workloads/tests.rs"]
mod tests;

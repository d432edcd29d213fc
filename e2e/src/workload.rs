//! The clusters that simulated machines become nodes of: what boots on a machine finds out whose machine it is, as a
//! bootstrap script would know it, and joins that Cluster.
//!
//! Each Cluster has a real API server at its control-plane endpoint, under the keys that Cluster API has made for it, so
//! that Cluster API connects to it as to any other. The nodes in it are objects only: there are no kubelets and no pods,
//! and etcd is the management cluster's. A kubeadm control plane has to be told of an external etcd
//! ([`Workload::external_etcd`]), because it would want to reach a managed one through kubelets.

mod authority;
pub mod cloud_init;
mod cluster;
mod external_etcd;
mod installer;
mod journal;
mod kubeadm;
mod management;
mod node;
mod os;
mod registry;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use beskar7_redfish_sim::os::BootedOs;
use kube::Client;
use tokio::task::JoinHandle;

use self::cluster::{Ground, WorkloadCluster};
pub use self::installer::Installer;
use self::journal::Journal;
use self::management::{Claimant, ClusterName, Management};
use self::os::NodeOs;
use crate::control_plane::ControlPlane;

/// How often somebody looks for Clusters and Machines that are gone.
const SWEEP_EVERY: Duration = Duration::from_secs(1);

/// What the kubelets of nodes are told of themselves, and tell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Kubelets {
    /// They are given their providerID by flag.
    #[default]
    Told,
    /// They know their boards' UUIDs only. Every second one tells it in the other byte order than its BMC.
    Untold,
}

/// The workload clusters of one management cluster. Dropping it stops their API servers.
pub struct Workload {
    clusters: Arc<Clusters>,
    sweeper: JoinHandle<()>,
}

impl Workload {
    /// Nothing runs until the first machine boots.
    pub async fn new(plane: &ControlPlane) -> Result<Self> {
        Self::with(plane, Kubelets::default()).await
    }

    /// The same, with such kubelets.
    pub async fn with(plane: &ControlPlane, kubelets: Kubelets) -> Result<Self> {
        let ground = Ground {
            tools: plane.tools().clone(),
            directory: plane.directory().join("workload"),
            logs: plane.logs(),
            etcd: plane.etcd_url(),
        };
        let clusters = Arc::new(Clusters {
            journal: Journal::open(&ground.logs.join("workload.log"))?,
            management: Management::new(plane.client().await?),
            ground,
            kubelets,
            running: tokio::sync::Mutex::default(),
            on_the_way: AtomicBool::new(false),
            strays: Mutex::default(),
        });
        let sweeper = tokio::spawn(sweep(Arc::downgrade(&clusters)));
        Ok(Self { clusters, sweeper })
    }

    /// What boots on the machines of a fleet.
    #[must_use]
    pub fn os(&self) -> Arc<dyn BootedOs> {
        Arc::new(NodeOs { clusters: Arc::downgrade(&self.clusters) })
    }

    /// A client as the administrator of a Cluster's workload cluster.
    pub async fn client(&self, namespace: &str, cluster: &str) -> Result<Client> {
        let name = ClusterName { namespace: namespace.to_owned(), name: cluster.to_owned() };
        let running = self.clusters.running.lock().await;
        Ok(running.get(&name).with_context(|| format!("{name} has no API server"))?.client())
    }

    /// How many workload clusters have an API server.
    pub async fn count(&self) -> usize {
        self.clusters.running.lock().await.len()
    }

    /// Writes what a kubeadm control plane with external etcd asks for, and returns what belongs into its
    /// `clusterConfiguration.etcd`.
    pub async fn external_etcd(&self, namespace: &str, cluster: &str) -> Result<serde_json::Value> {
        let name = ClusterName { namespace: namespace.to_owned(), name: cluster.to_owned() };
        external_etcd::write(&self.clusters.management, &name, &self.clusters.ground.etcd).await
    }

    /// The kubelet of a Machine's node dies; the machine runs on.
    pub async fn fail_node(&self, namespace: &str, machine: &str) -> Result<()> {
        let running = self.clusters.running.lock().await;
        for cluster in running.values().filter(|cluster| cluster.name().namespace == namespace) {
            if cluster.fail(machine).await? {
                self.clusters.note(&format!("{}: the kubelet of {machine} is dead", cluster.name()));
                return Ok(());
            }
        }
        bail!("no node {machine} has joined a cluster of {namespace}")
    }

    /// The objects of the clusters are about to go from their management cluster to another: until [`Self::arrives`],
    /// nothing of them is taken for gone.
    pub fn departs(&self) {
        self.clusters.on_the_way.store(true, Ordering::SeqCst);
    }

    /// The objects of the clusters are in this management cluster now, under other UIDs.
    pub async fn arrives(&self, plane: &ControlPlane) -> Result<()> {
        self.clusters.management.is_at(plane.client().await?);
        for (name, cluster) in self.clusters.running.lock().await.iter() {
            let there = self.clusters.management.cluster(name).await?;
            cluster.has_uid(there.with_context(|| format!("the Cluster {name} has not arrived"))?.uid);
        }
        self.clusters.on_the_way.store(false, Ordering::SeqCst);
        Ok(())
    }

    /// Boots that nobody can have wanted: of a host that nobody held, or of what another claim had installed.
    #[must_use]
    pub fn strays(&self) -> Vec<String> {
        self.clusters.strays.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// An error if an API server has ended by itself.
    pub async fn check(&self) -> Result<()> {
        self.clusters.running.lock().await.values().try_for_each(|cluster| cluster.check())
    }

    /// Stops every API server.
    pub async fn stop(self) -> Result<()> {
        self.sweeper.abort();
        let running = std::mem::take(&mut *self.clusters.running.lock().await);
        for cluster in running.values() {
            cluster.stop().await?;
        }
        Ok(())
    }
}

impl Drop for Workload {
    fn drop(&mut self) {
        self.sweeper.abort();
        // Who holds the lock is about to end with the test's runtime.
        if let Ok(running) = self.clusters.running.try_lock() {
            running.values().for_each(|cluster| drop(cluster.take_api_server()));
        }
    }
}

/// All workload clusters.
struct Clusters {
    ground: Ground,
    kubelets: Kubelets,
    management: Management,
    running: tokio::sync::Mutex<BTreeMap<ClusterName, Arc<WorkloadCluster>>>,
    /// Whether their objects are between two management clusters.
    on_the_way: AtomicBool,
    journal: Journal,
    strays: Mutex<Vec<String>>,
}

impl Clusters {
    fn note(&self, what: &str) {
        self.journal.note(what);
    }

    fn note_stray(&self, what: String) {
        self.note(&what);
        self.strays.lock().unwrap_or_else(PoisonError::into_inner).push(what);
    }

    /// The cluster that a machine belongs to. The first machine of a control plane starts it, in a task of its own: it
    /// must not stop half-way when that machine loses power.
    async fn cluster_of(self: &Arc<Self>, claimant: &Claimant) -> Result<Arc<WorkloadCluster>> {
        let (clusters, claimant) = (self.clone(), claimant.clone());
        tokio::spawn(async move { clusters.get_or_init(&claimant).await })
            .await
            .context("starting a cluster")?
    }

    async fn get_or_init(&self, claimant: &Claimant) -> Result<Arc<WorkloadCluster>> {
        let name = &claimant.cluster;
        let mut running = self.running.lock().await;
        let wanted = self.management.cluster(name).await?;
        let wanted = wanted.with_context(|| format!("the Cluster {name} is gone"))?;
        if let Some(found) = running.get(name).filter(|found| found.uid() == wanted.uid) {
            return Ok(found.clone());
        }
        if !claimant.control_plane {
            bail!("{} waits for the control plane of {name}", claimant.machine);
        }
        if let Some(before) = running.remove(name) {
            before.stop().await?;
        }
        let made = WorkloadCluster::init(&self.ground, &self.management, &wanted, claimant).await?;
        self.note(&format!("{name}: an API server at {}", wanted.endpoint));
        let made = Arc::new(made);
        running.insert(name.clone(), made.clone());
        Ok(made)
    }

    /// Ends the clusters whose Cluster is gone, and takes nodes out whose Machines are gone.
    async fn sweep(&self) -> Result<()> {
        let mut running = self.running.lock().await;
        if self.on_the_way.load(Ordering::SeqCst) {
            return Ok(());
        }
        let mut gone = Vec::new();
        for (name, cluster) in running.iter() {
            let there = self.management.cluster(name).await?;
            if there.is_some_and(|there| there.uid == cluster.uid()) {
                let machines = self.management.machines(name).await?;
                for node in cluster.sweep(&machines).await? {
                    self.note(&format!("{name}: the node {node} is gone"));
                }
            } else {
                gone.push(name.clone());
            }
        }
        for name in gone {
            if let Some(cluster) = running.remove(&name) {
                self.note(&format!("{name}: the Cluster is gone, and its API server with it"));
                cluster.stop().await?;
            }
        }
        Ok(())
    }
}

async fn sweep(clusters: Weak<Clusters>) {
    let mut rounds = tokio::time::interval(SWEEP_EVERY);
    rounds.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        rounds.tick().await;
        let Some(clusters) = clusters.upgrade() else { return };
        if let Err(error) = clusters.sweep().await {
            clusters.note(&format!("looking for what is gone: {error:#}"));
        }
    }
}

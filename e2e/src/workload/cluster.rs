//! One workload cluster: a real API server under the keys that Cluster API has made for it, and the nodes in it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use kube::Client;

use super::management::{Claimant, Cluster, ClusterName, Management};
use super::node::Hardware;
use super::registry::Registry;
use super::{authority, kubeadm};
use crate::control_plane::api_server::{self, Keys, Place};
use crate::control_plane::client_by_kubeconfig;
use crate::control_plane::kubeconfig::{self, Credential};
use crate::process::Process;
use crate::tools::Tools;

/// A machine that does other things too needs longer than the usual 5 s.
const START_LIMIT: Duration = Duration::from_secs(90);

/// Where workload clusters keep their files and their data, and what they are started from.
pub(super) struct Ground {
    pub(super) tools: Tools,
    pub(super) directory: PathBuf,
    pub(super) logs: PathBuf,
    /// The URL of the etcd that they share with the management cluster, each under a prefix of its own.
    pub(super) etcd: String,
}

/// One boot of one machine. Two are the same if they came from each other.
#[derive(Debug, Clone)]
pub(super) struct Boot {
    powered: Arc<AtomicBool>,
}

impl Default for Boot {
    fn default() -> Self {
        Self { powered: Arc::new(AtomicBool::new(true)) }
    }
}

impl Boot {
    /// Power has gone.
    pub(super) fn ends(&self) {
        self.powered.store(false, Ordering::SeqCst);
    }

    fn goes_on(&self) -> bool {
        self.powered.load(Ordering::SeqCst)
    }

    fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.powered, &other.powered)
    }
}

/// A running workload cluster.
pub(super) struct WorkloadCluster {
    name: ClusterName,
    /// That of its Cluster, which a move changes.
    uid: Mutex<String>,
    client: Client,
    registry: Registry,
    api_server: Mutex<Option<Process>>,
    /// Which boot each node is at. Held while a node is written, so that its changes keep their order.
    nodes: tokio::sync::Mutex<BTreeMap<String, Boot>>,
}

impl WorkloadCluster {
    /// What `kubeadm init` does on the first machine of a control plane.
    pub(super) async fn init(
        ground: &Ground,
        management: &Management,
        cluster: &Cluster,
        first: &Claimant,
    ) -> Result<Self> {
        let name = &first.cluster;
        let certificate = management.keys(name, "ca").await?;
        let tokens = management.keys(name, "sa").await?;
        let authority = authority::read(&certificate).with_context(|| format!("the CA of {name}"))?;
        let host = cluster.endpoint.ip().to_string();
        let keys = Keys {
            authority: certificate.public,
            serving: authority.serving("kube-apiserver", &[&host])?,
            token_private: tokens.private,
            token_public: tokens.public,
            tokens: String::new(),
        };
        let folder = ground.directory.join(&cluster.uid);
        std::fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
        keys.write(&folder)?;
        let admin = Credential::Certificate(authority.client("kubernetes-admin", Some("system:masters"))?);
        let config = folder.join("kubeconfig");
        let server = format!("https://{}", cluster.endpoint);
        kubeconfig::write(&config, &server, authority.certificate(), "admin", &admin, "default")?;

        let file = format!("kube-apiserver-{}-{}", name.namespace, name.name);
        let place = Place {
            keys: folder,
            audit_log: ground.logs.join(format!("{file}-audit.log")),
            etcd: ground.etcd.clone(),
            listen: cluster.endpoint,
        };
        let command = place.command(&ground.tools)?.arg(format!("--etcd-prefix=/workload/{}", cluster.uid));
        let process = command.spawn(ground.logs.join(format!("{file}.log")))?;
        let client = client_by_kubeconfig(&config).await?;
        api_server::ready(&process, &client, START_LIMIT).await?;
        kubeadm::init(&client, cluster, first).await?;
        Ok(Self {
            name: name.clone(),
            uid: Mutex::new(cluster.uid.clone()),
            registry: Registry::new(&client),
            client,
            api_server: Mutex::new(Some(process)),
            nodes: tokio::sync::Mutex::default(),
        })
    }

    pub(super) fn name(&self) -> &ClusterName {
        &self.name
    }

    pub(super) fn uid(&self) -> String {
        self.uid.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Its Cluster has this UID now.
    pub(super) fn has_uid(&self, uid: String) {
        *self.uid.lock().unwrap_or_else(PoisonError::into_inner) = uid;
    }

    pub(super) fn client(&self) -> Client {
        self.client.clone()
    }

    /// A machine has booted and its kubelet starts. Nothing is done if its power has gone since.
    pub(super) async fn join(&self, claimant: &Claimant, hardware: &Hardware, boot: &Boot) -> Result<()> {
        let mut nodes = self.nodes.lock().await;
        if boot.goes_on() {
            // Before the node is there: whatever becomes of this, it can be lost from now on.
            nodes.insert(claimant.machine.clone(), boot.clone());
            self.registry.start(claimant, hardware).await?;
        }
        Ok(())
    }

    /// The machine of a node has gone down. Nothing is done if it has booted again since.
    pub(super) async fn lose(&self, node: &str, boot: &Boot) -> Result<()> {
        let nodes = self.nodes.lock().await;
        let current = nodes.get(node).is_some_and(|current| current.is(boot));
        if current { self.registry.lose(node).await } else { Ok(()) }
    }

    /// The kubelet of a node dies while its machine runs on. False if there is no such node.
    pub(super) async fn fail(&self, node: &str) -> Result<bool> {
        let nodes = self.nodes.lock().await;
        if !nodes.contains_key(node) {
            return Ok(false);
        }
        self.registry.lose(node).await?;
        Ok(true)
    }

    /// Takes out the nodes whose Machines are gone, and what ran on nodes that somebody took out.
    pub(super) async fn sweep(&self, machines: &BTreeSet<String>) -> Result<Vec<String>> {
        let mut nodes = self.nodes.lock().await;
        let there: BTreeSet<String> = self.registry.names().await?.into_iter().collect();
        let gone = |name: &&String| !machines.contains(*name) || !there.contains(*name);
        let gone: Vec<String> = nodes.keys().filter(gone).cloned().collect();
        for name in &gone {
            self.registry.remove(name).await?;
            nodes.remove(name);
        }
        Ok(gone)
    }

    /// An error if its API server has ended by itself.
    pub(super) fn check(&self) -> Result<()> {
        match &*self.api_server.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(process) => process.check(),
            None => bail!("the API server of {} is stopped", self.name),
        }
    }

    /// Stops its API server.
    pub(super) async fn stop(&self) -> Result<()> {
        if let Some(mut process) = self.take_api_server() {
            process.stop().await?;
        }
        Ok(())
    }

    /// The process, which stops when it is dropped.
    pub(super) fn take_api_server(&self) -> Option<Process> {
        self.api_server.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

//! Who is to look again when something changes.

use std::{collections::HashMap, sync::Arc};

use kube::ResourceExt as _;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio_util::sync::CancellationToken;

use crate::{
    caches::{Caches, Feeds},
    claim::{Register, saw},
    watch::Key,
};

/// What may wake a machine.
pub struct Wakes {
    machines: UnboundedReceiver<Key>,
    owner_machines: UnboundedReceiver<Key>,
    owner_clusters: UnboundedReceiver<Key>,
    clusters: UnboundedReceiver<Key>,
    /// What was last seen of a Cluster and of its Beskar7Cluster: most of their changes concern no machine.
    seen: HashMap<Key, Gist>,
}

/// What of a Cluster concerns its machines: whether it is paused, whether its infrastructure is there, and the
/// generation of its Beskar7Cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Gist {
    paused: bool,
    provisioned: bool,
    generation: Option<i64>,
}

impl Wakes {
    /// Listens to everything that concerns machines beside their claims.
    #[must_use]
    pub fn new(feeds: &Feeds) -> Self {
        Self {
            machines: feeds.machines.changes(),
            owner_machines: feeds.owner_machines.changes(),
            owner_clusters: feeds.owner_clusters.changes(),
            clusters: feeds.clusters.changes(),
            seen: HashMap::new(),
        }
    }

    /// Sends the keys of machines that are to look again, until `stop`.
    pub async fn run(
        mut self,
        caches: Caches,
        register: Arc<Register>,
        keys: UnboundedSender<Key>,
        stop: CancellationToken,
    ) {
        loop {
            let woken = tokio::select! {
                Some(machine) = self.machines.recv() => {
                    saw(&caches.machines, &register, &machine);
                    vec![machine]
                }
                // A Beskar7Machine has the name of its Machine.
                Some(machine) = self.owner_machines.recv() => vec![machine],
                Some(cluster) = self.owner_clusters.recv() => self.of_cluster(&cluster, &caches),
                Some(cluster) = self.clusters.recv() => self.of_infrastructure(&cluster, &caches),
                () = stop.cancelled() => return,
                else => return,
            };
            for key in woken {
                // Nobody listens any more only when everything ends.
                let _ended = keys.send(key);
            }
        }
    }

    fn of_cluster(&mut self, key: &Key, caches: &Caches) -> Vec<Key> {
        let now = gist(key, caches);
        let before = self.seen.insert(key.clone(), now.clone());
        if before == Some(now) { Vec::new() } else { machines_of(key, caches) }
    }

    fn of_infrastructure(&mut self, (namespace, name): &Key, caches: &Caches) -> Vec<Key> {
        let clusters = caches.owner_clusters.all();
        let named = clusters.iter().filter(|cluster| {
            let reference = cluster.spec.infrastructure_ref.as_ref();
            cluster.namespace().as_ref() == Some(namespace)
                && reference.is_some_and(|reference| reference.name == *name)
        });
        named.flat_map(|cluster| self.of_cluster(&(namespace.clone(), cluster.name_any()), caches)).collect()
    }
}

fn gist(key: &Key, caches: &Caches) -> Gist {
    let Some(cluster) = caches.owner_clusters.get(key) else { return Gist::default() };
    let status = cluster.status.as_ref().and_then(|status| status.initialization.as_ref());
    let reference = cluster.spec.infrastructure_ref.as_ref();
    let ours = reference.and_then(|found| caches.clusters.get(&(key.0.clone(), found.name.clone())));
    Gist {
        paused: cluster.spec.paused == Some(true),
        provisioned: status.is_some_and(|status| status.infrastructure_provisioned == Some(true)),
        generation: ours.and_then(|ours| ours.metadata.generation),
    }
}

/// The machines of a Cluster.
pub(super) fn machines_of((namespace, name): &Key, caches: &Caches) -> Vec<Key> {
    let all = caches.owner_machines.all();
    all.iter()
        .filter(|machine| {
            machine.namespace().as_ref() == Some(namespace) && machine.spec.cluster_name == *name
        })
        .map(|machine| (namespace.clone(), machine.name_any()))
        .collect()
}

//! Who is looked at when: turns changes of Clusters, Machines and hosts into the keys of the clusters that they concern.

use std::{collections::HashMap, sync::Arc};

use beskar7_api::{Beskar7Cluster, HostDeployPolicy, PhysicalHost};
use beskar7_core::cluster::{concerned_by_host, concerned_by_machine, owner_name};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_util::sync::CancellationToken;

use crate::{
    caches::{Caches, Feeds},
    watch::{Key, SpecChanges, key},
};

/// Turns changes into keys.
pub struct Wakes {
    caches: Caches,
    clusters: UnboundedReceiver<Key>,
    owners: UnboundedReceiver<Key>,
    machines: UnboundedReceiver<Key>,
    hosts: UnboundedReceiver<Key>,
    /// What is in the status of a policy concerns no cluster.
    policies: SpecChanges<HostDeployPolicy>,
    namespaces: UnboundedReceiver<Key>,
    keys: UnboundedSender<Key>,
    /// The hosts as they were when they last changed. These are the cache's own, so they cost next to nothing.
    before: HashMap<Key, Arc<PhysicalHost>>,
}

impl Wakes {
    /// Listens to these feeds; the keys come out at the other end.
    #[must_use]
    pub fn new(feeds: &Feeds) -> (Self, UnboundedReceiver<Key>) {
        let (keys, woken) = unbounded_channel();
        let wakes = Self {
            caches: feeds.caches(),
            clusters: feeds.clusters.changes(),
            owners: feeds.owner_clusters.changes(),
            machines: feeds.owner_machines.changes(),
            hosts: feeds.hosts.changes(),
            policies: feeds.policies.spec_changes(),
            namespaces: feeds.namespace_changes(),
            keys,
            before: HashMap::new(),
        };
        (wakes, woken)
    }

    /// Does so until `stop`.
    pub async fn run(mut self, stop: CancellationToken) {
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                Some(key) = self.clusters.recv() => self.wake(key),
                Some(key) = self.owners.recv() => self.wake_those(|cluster| is_owner(&key, cluster)),
                Some(key) = self.machines.recv() => self.machine(&key),
                Some(key) = self.hosts.recv() => self.host(key),
                Some((there, _)) = self.policies.next() => self.wake_those(|cluster| pool(cluster) == Some(&there)),
                Some((_, name)) = self.namespaces.recv() => {
                    self.wake_those(|cluster| pool(cluster).is_some() && cluster.metadata.namespace.as_ref() == Some(&name));
                }
                else => {
                    stop.cancelled().await;
                    return;
                }
            }
        }
    }

    /// A Machine that is gone takes nothing away: an endpoint, once found, stays.
    fn machine(&self, key: &Key) {
        if let Some(machine) = self.caches.owner_machines.get(key) {
            self.wake_those(|cluster| concerned_by_machine(cluster, &machine));
        }
    }

    fn host(&mut self, key: Key) {
        let after = self.caches.hosts.get(&key);
        let before = match &after {
            Some(after) => self.before.insert(key, after.clone()),
            None => self.before.remove(&key),
        };
        let caches = self.caches.clone();
        self.wake_those(|cluster| {
            let own = cluster.metadata.namespace.as_deref().unwrap_or_default();
            let open = caches.tenancy.opened(pool(cluster).map(String::as_str), own);
            concerned_by_host(cluster, before.as_deref(), after.as_deref(), &open)
        });
    }

    fn wake_those(&self, are_concerned: impl Fn(&Beskar7Cluster) -> bool) {
        for cluster in self.caches.clusters.all().iter().filter(|cluster| are_concerned(cluster)) {
            self.wake(key(cluster.as_ref()));
        }
    }

    fn wake(&self, key: Key) {
        // Nobody listens any more when everything ends.
        let _ended = self.keys.send(key);
    }
}

/// The namespace that its pool is in, where it says so.
fn pool(cluster: &Beskar7Cluster) -> Option<&String> {
    cluster.spec.host_pool.as_ref()?.namespace.as_ref()
}

fn is_owner((namespace, name): &Key, cluster: &Beskar7Cluster) -> bool {
    cluster.metadata.namespace.as_ref() == Some(namespace) && owner_name(cluster) == Some(name)
}

//! Which templates are looked at when: turns changes of hosts and clusters into the keys of the templates that they
//! concern, each at most once a second. A look counts all hosts, and hosts come by the thousand when a site enrols.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use beskar7_api::{Beskar7MachineTemplate, PhysicalHost};
use beskar7_core::{delivery::Delivery, template::concerned_by_host};
use kube::Resource;
use tokio::{
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use super::reconcile::Place;
use crate::{
    caches::{Caches, Feeds},
    watch::{Key, key},
};

/// How long changes are collected.
const COLLECT: Duration = Duration::from_secs(1);

/// Turns changes into keys.
pub struct Wakes {
    caches: Caches,
    delivery: Delivery,
    templates: UnboundedReceiver<Key>,
    owners: UnboundedReceiver<Key>,
    clusters: UnboundedReceiver<Key>,
    hosts: UnboundedReceiver<Key>,
    policies: UnboundedReceiver<Key>,
    namespaces: UnboundedReceiver<Key>,
    keys: UnboundedSender<Key>,
    /// The hosts as they were when they last changed. These are the cache's own, so they cost next to nothing.
    before: HashMap<Key, Arc<PhysicalHost>>,
    /// The generation of each Cluster, and of our side of it: what is in their status concerns no template.
    owner_generations: HashMap<Key, i64>,
    generations: HashMap<Key, i64>,
    woken: HashSet<Key>,
    /// When those that were woken are looked at.
    due: Option<Instant>,
}

impl Wakes {
    /// Listens to these feeds; the keys come out at the other end.
    #[must_use]
    pub fn new(feeds: &Feeds, delivery: Delivery) -> (Self, UnboundedReceiver<Key>) {
        let (keys, woken) = unbounded_channel();
        let wakes = Self {
            caches: feeds.caches(),
            delivery,
            templates: feeds.templates.changes(),
            owners: feeds.owner_clusters.changes(),
            clusters: feeds.clusters.changes(),
            hosts: feeds.hosts.changes(),
            policies: feeds.policies.changes(),
            namespaces: feeds.namespace_changes(),
            keys,
            before: HashMap::new(),
            owner_generations: HashMap::new(),
            generations: HashMap::new(),
            woken: HashSet::new(),
            due: None,
        };
        (wakes, woken)
    }

    /// Does so until `stop`.
    pub async fn run(mut self, stop: CancellationToken) {
        loop {
            let due = self.due;
            tokio::select! {
                () = stop.cancelled() => return,
                () = until(due) => self.tell(),
                Some(key) = self.templates.recv() => self.wake(key),
                Some(key) = self.owners.recv() => {
                    let found = self.caches.owner_clusters.get(&key);
                    if is_new(&mut self.owner_generations, &key, found.as_deref()) {
                        self.wake_those(|template| is_in(&key, template));
                    }
                }
                Some(key) = self.clusters.recv() => {
                    let found = self.caches.clusters.get(&key);
                    if is_new(&mut self.generations, &key, found.as_deref()) {
                        self.wake_those(|template| is_in(&key, template));
                    }
                }
                Some(key) = self.hosts.recv() => self.host(key),
                // Few, and seldom: which template they concern is not worth the question.
                Some(_) = self.policies.recv() => self.wake_those(|_| true),
                Some((_, name)) = self.namespaces.recv() => {
                    self.wake_those(|template| template.metadata.namespace.as_ref() == Some(&name));
                }
                else => {
                    stop.cancelled().await;
                    return;
                }
            }
        }
    }

    fn host(&mut self, key: Key) {
        let after = self.caches.hosts.get(&key);
        let before = match &after {
            Some(after) => self.before.insert(key, after.clone()),
            None => self.before.remove(&key),
        };
        let (caches, delivery) = (self.caches.clone(), self.delivery);
        self.wake_those(|template| {
            let offering = Place::of(template, &caches).offering(template, delivery, &caches);
            offering.is_some_and(|one| concerned_by_host(&one, before.as_deref(), after.as_deref()))
        });
    }

    fn wake_those(&mut self, are_concerned: impl Fn(&Beskar7MachineTemplate) -> bool) {
        for template in self.caches.templates.all().iter().filter(|template| are_concerned(template)) {
            self.wake(key(template.as_ref()));
        }
    }

    fn wake(&mut self, key: Key) {
        self.woken.insert(key);
        self.due.get_or_insert_with(|| Instant::now() + COLLECT);
    }

    fn tell(&mut self) {
        self.due = None;
        for key in self.woken.drain() {
            // Nobody listens any more when everything ends.
            let _ended = self.keys.send(key);
        }
    }
}

async fn until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}

/// Whether the spec of an object is new, or the object gone.
fn is_new(seen: &mut HashMap<Key, i64>, key: &Key, found: Option<&impl Resource>) -> bool {
    match found.map(|found| found.meta().generation.unwrap_or_default()) {
        Some(generation) => seen.insert(key.clone(), generation) != Some(generation),
        None => seen.remove(key).is_some(),
    }
}

fn is_in((namespace, _): &Key, template: &Beskar7MachineTemplate) -> bool {
    template.metadata.namespace.as_ref() == Some(namespace)
}

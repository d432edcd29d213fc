//! Which templates are looked at when: turns changes of hosts and clusters into the keys of the templates that they
//! concern, each at most once a second. A look counts all hosts.

use std::{collections::HashMap, sync::Arc};

use beskar7_api::{Beskar7Cluster, Beskar7MachineTemplate, HostDeployPolicy, PhysicalHost, cluster_api};
use beskar7_core::{delivery::Delivery, template::concerned_by_host};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio_util::sync::CancellationToken;

use super::reconcile::Place;
use crate::{
    caches::{Caches, Feeds},
    collect::Collected,
    watch::{Key, SpecChanges, key},
};

/// Turns changes into keys.
pub struct Wakes {
    caches: Caches,
    delivery: Delivery,
    templates: UnboundedReceiver<Key>,
    /// What is in the status of a Cluster, of our side of it and of a policy concerns no template.
    owners: SpecChanges<cluster_api::Cluster>,
    clusters: SpecChanges<Beskar7Cluster>,
    policies: SpecChanges<HostDeployPolicy>,
    hosts: UnboundedReceiver<Key>,
    namespaces: UnboundedReceiver<Key>,
    /// The hosts as they were when they last changed. These are the cache's own, so they cost next to nothing.
    before: HashMap<Key, Arc<PhysicalHost>>,
    collected: Collected,
}

impl Wakes {
    /// Listens to these feeds; the keys come out at the other end.
    #[must_use]
    pub fn new(feeds: &Feeds, delivery: Delivery) -> (Self, UnboundedReceiver<Key>) {
        let (collected, woken) = Collected::new();
        let wakes = Self {
            caches: feeds.caches(),
            delivery,
            templates: feeds.templates.changes(),
            owners: feeds.owner_clusters.spec_changes(),
            clusters: feeds.clusters.spec_changes(),
            hosts: feeds.hosts.changes(),
            policies: feeds.policies.spec_changes(),
            namespaces: feeds.namespace_changes(),
            before: HashMap::new(),
            collected,
        };
        (wakes, woken)
    }

    /// Does so until `stop`.
    pub async fn run(mut self, stop: CancellationToken) {
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = self.collected.due() => self.collected.tell(),
                Some(key) = self.templates.recv() => self.collected.add(key),
                Some(key) = self.owners.next() => self.wake_those(|template| is_in(&key, template)),
                Some(key) = self.clusters.next() => self.wake_those(|template| is_in(&key, template)),
                Some(key) = self.hosts.recv() => self.host(key),
                // Few, and seldom: which template they concern is not worth the question.
                Some(_) = self.policies.next() => self.wake_those(|_| true),
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
            self.collected.add(key(template.as_ref()));
        }
    }
}

fn is_in((namespace, _): &Key, template: &Beskar7MachineTemplate) -> bool {
    template.metadata.namespace.as_ref() == Some(namespace)
}

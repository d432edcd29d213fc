//! Which consumers are to look again when a host, a policy or a namespace changes.

use std::{collections::BTreeSet, sync::Arc};

use beskar7_api::{HostDeployPolicy, PhysicalHost, annotations};
use kube::ResourceExt as _;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_util::sync::CancellationToken;

use super::{
    ConsumerId, Register,
    claimant::{Claimant, id},
};
use crate::{
    caches::{Caches, Feeds},
    watch::{Cache, Key, SpecChanges},
};

/// Turns changes into the keys of consumers, kind by kind.
pub struct Wakes {
    caches: Caches,
    register: Arc<Register>,
    hosts: UnboundedReceiver<Key>,
    /// What is in the status of a policy concerns nobody: it changes with every host that is taken.
    policies: SpecChanges<HostDeployPolicy>,
    namespaces: UnboundedReceiver<Key>,
    freed: UnboundedReceiver<Key>,
    /// Who is told of which kind.
    listeners: Vec<(&'static str, UnboundedSender<Key>)>,
}

impl Wakes {
    /// Listens to everything that concerns claims. What is sent into the sender is a host that was chosen and given up
    /// again.
    #[must_use]
    pub fn new(feeds: &Feeds, register: Arc<Register>) -> (Self, UnboundedSender<Key>) {
        let (sender, freed) = unbounded_channel();
        let wakes = Self {
            caches: feeds.caches(),
            register,
            hosts: feeds.hosts.changes(),
            policies: feeds.policies.spec_changes(),
            namespaces: feeds.namespace_changes(),
            freed,
            listeners: Vec::new(),
        };
        (wakes, sender)
    }

    /// Consumers of this kind are told here.
    #[must_use]
    pub fn telling(mut self, kind: &'static str, keys: UnboundedSender<Key>) -> Self {
        self.listeners.push((kind, keys));
        self
    }

    /// Does so until `stop`.
    pub async fn run(mut self, stop: CancellationToken) {
        loop {
            let concerned = tokio::select! {
                Some(host) = self.hosts.recv() => self.of_host(&host),
                Some(host) = self.freed.recv() => self.of_host(&host),
                Some((there, _)) = self.policies.next() => self.register.concerned_by_policy(&there),
                Some((_, name)) = self.namespaces.recv() => self.register.concerned_by_namespace(&name),
                () = stop.cancelled() => return,
                else => return,
            };
            self.tell(concerned);
        }
    }

    fn tell(&self, concerned: BTreeSet<ConsumerId>) {
        for consumer in concerned {
            if let Some((_, keys)) = self.listeners.iter().find(|(kind, _)| *kind == consumer.kind) {
                // Nobody listens any more only when everything ends.
                let _ended = keys.send(consumer.key);
            }
        }
    }

    fn of_host(&self, host: &Key) -> BTreeSet<ConsumerId> {
        let found = self.caches.hosts.get(host);
        let holder = found.as_deref().and_then(|found| self.holder(found));
        self.register.saw_host(host, found.as_deref(), holder)
    }

    /// Whom a host names, if that is of a kind that somebody looks after here.
    fn holder(&self, host: &PhysicalHost) -> Option<ConsumerId> {
        let reference = host.spec.consumer_ref.as_ref()?;
        let named = reference.kind.as_deref()?;
        let (kind, _) = self.listeners.iter().find(|(kind, _)| *kind == named)?;
        let key = (reference.namespace.clone()?, reference.name.clone()?);
        Some(ConsumerId { kind, key })
    }
}

/// A consumer came, changed or went: what it intends is noted.
pub(crate) fn saw<K: Claimant + crate::watch::Watched>(cache: &Cache<K>, register: &Register, key: &Key) {
    let found = cache.get(key);
    let consumer = found.as_deref().map_or_else(|| ConsumerId { kind: K::KIND, key: key.clone() }, id);
    let intent = found.as_ref().and_then(|found| found.annotations().get(annotations::CLAIM));
    register.saw_consumer(&consumer, intent.map(String::as_str));
}

//! Which policies are looked at when: turns changes of hosts into the keys of the policies that they concern, each at
//! most once a second. A look counts all hosts.

use std::{collections::HashMap, sync::Arc};

use beskar7_api::{HostDeployPolicy, PhysicalHost};
use beskar7_core::policy::concerned_by_host;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio_util::sync::CancellationToken;

use crate::{
    caches::Feeds,
    collect::Collected,
    watch::{Cache, Key, key},
};

/// Turns changes into keys.
pub struct Wakes {
    known_policies: Cache<HostDeployPolicy>,
    known_hosts: Cache<PhysicalHost>,
    policies: UnboundedReceiver<Key>,
    hosts: UnboundedReceiver<Key>,
    /// The hosts as they were when they last changed. These are the cache's own, so they cost next to nothing.
    before: HashMap<Key, Arc<PhysicalHost>>,
    collected: Collected,
}

impl Wakes {
    /// Listens to these feeds; the keys come out at the other end.
    #[must_use]
    pub fn new(feeds: &Feeds) -> (Self, UnboundedReceiver<Key>) {
        let (collected, woken) = Collected::new();
        let wakes = Self {
            known_policies: feeds.policies.cache(),
            known_hosts: feeds.hosts.cache(),
            policies: feeds.policies.changes(),
            hosts: feeds.hosts.changes(),
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
                Some(key) = self.policies.recv() => self.collected.add(key),
                Some(key) = self.hosts.recv() => self.host(key),
                else => {
                    stop.cancelled().await;
                    return;
                }
            }
        }
    }

    fn host(&mut self, changed: Key) {
        let after = self.known_hosts.get(&changed);
        let before = match &after {
            Some(after) => self.before.insert(changed, after.clone()),
            None => self.before.remove(&changed),
        };
        for policy in self.known_policies.all() {
            if concerned_by_host(&policy, before.as_deref(), after.as_deref()) {
                self.collected.add(key(policy.as_ref()));
            }
        }
    }
}

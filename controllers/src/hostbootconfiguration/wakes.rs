//! Which configurations are looked at when: those that change themselves, and that of a host that changes hands.

use std::collections::HashMap;

use beskar7_api::PhysicalHost;
use beskar7_core::host::hold::Hold;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_util::sync::CancellationToken;

use crate::{
    caches::Feeds,
    watch::{Cache, Key},
};

/// Turns changes into keys.
pub struct Wakes {
    configurations: UnboundedReceiver<Key>,
    hosts: UnboundedReceiver<Key>,
    known_hosts: Cache<PhysicalHost>,
    /// Under which claim each host was held last, and whether it was to be left alone.
    held: HashMap<Key, (Option<String>, bool)>,
    keys: UnboundedSender<Key>,
}

impl Wakes {
    /// Listens to these feeds; the keys come out at the other end.
    #[must_use]
    pub fn new(feeds: &Feeds) -> (Self, UnboundedReceiver<Key>) {
        let (keys, woken) = unbounded_channel();
        let wakes = Self {
            configurations: feeds.boot_configurations.changes(),
            hosts: feeds.hosts.changes(),
            known_hosts: feeds.hosts.cache(),
            held: HashMap::new(),
            keys,
        };
        (wakes, woken)
    }

    /// Does so until `stop`.
    pub async fn run(mut self, stop: CancellationToken) {
        loop {
            let key = tokio::select! {
                () = stop.cancelled() => return,
                Some(key) = self.configurations.recv() => key,
                // What is made for a host has its name.
                Some(key) = self.hosts.recv() => match self.changed_hands(&key) {
                    true => key,
                    false => continue,
                },
                else => return,
            };
            // Nobody listens any more only when everything ends.
            let _ended = self.keys.send(key);
        }
    }

    fn changed_hands(&mut self, key: &Key) -> bool {
        let Some(host) = self.known_hosts.get(key) else { return self.held.remove(key).is_some() };
        let held = (host.spec.claim_id.clone(), Hold::of(&host) == Hold::OnHold);
        self.held.insert(key.clone(), held.clone()) != Some(held)
    }
}

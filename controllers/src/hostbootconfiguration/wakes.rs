//! Which configurations are looked at when: those that change themselves, and that of a host that changes hands.

use std::collections::HashMap;

use beskar7_api::{HostBootConfiguration, PhysicalHost};
use beskar7_core::host::hold::Hold;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_util::sync::CancellationToken;

use crate::{
    caches::Feeds,
    watch::{Cache, Key, Specs},
};

/// Turns changes into keys.
pub struct Wakes {
    configurations: UnboundedReceiver<Key>,
    hosts: UnboundedReceiver<Key>,
    known_hosts: Cache<PhysicalHost>,
    known: Cache<HostBootConfiguration>,
    specs: Specs,
    /// How each host was held last.
    held: HashMap<Key, String>,
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
            known: feeds.boot_configurations.cache(),
            specs: Specs::default(),
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
                // Not for what is written here: what does not answer would be asked again at once.
                Some(key) = self.configurations.recv() => match self.is_new(&key) {
                    true => key,
                    false => continue,
                },
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

    fn is_new(&mut self, key: &Key) -> bool {
        self.specs.is_new(key, self.known.get(key).as_deref())
    }

    fn changed_hands(&mut self, key: &Key) -> bool {
        let Some(host) = self.known_hosts.get(key) else { return self.held.remove(key).is_some() };
        let held = format!("{:?}", Hold::of(&host));
        self.held.insert(key.clone(), held.clone()) != Some(held)
    }
}

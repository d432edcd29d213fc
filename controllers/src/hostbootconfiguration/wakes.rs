//! Which configurations are looked at when: those that change themselves, and that of a host that changes hands.

use std::collections::HashMap;

use beskar7_api::{HostBootConfiguration, PhysicalHost};
use beskar7_core::host::hold::Hold;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio_util::sync::CancellationToken;

use crate::{
    caches::Feeds,
    watch::{Cache, Key, SpecChanges},
};

/// Turns changes into keys.
pub struct Wakes {
    /// Not what is written here: what does not answer would be asked again at once.
    configurations: SpecChanges<HostBootConfiguration>,
    hosts: UnboundedReceiver<Key>,
    known_hosts: Cache<PhysicalHost>,
    /// Under which claim each host was held last, if it was.
    held: HashMap<Key, Option<String>>,
    keys: UnboundedSender<Key>,
}

impl Wakes {
    /// Listens to these feeds; the keys come out at the other end of `keys`.
    #[must_use]
    pub fn new(feeds: &Feeds, keys: UnboundedSender<Key>) -> Self {
        Self {
            configurations: feeds.boot_configurations.spec_changes(),
            hosts: feeds.hosts.changes(),
            known_hosts: feeds.hosts.cache(),
            held: HashMap::new(),
            keys,
        }
    }

    /// Does so until `stop`.
    pub async fn run(mut self, stop: CancellationToken) {
        loop {
            let key = tokio::select! {
                () = stop.cancelled() => return,
                Some(key) = self.configurations.next() => key,
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
        let held = match Hold::of(&host) {
            Hold::Held { claim } => Some(claim.to_owned()),
            Hold::Free | Hold::Kept(_) | Hold::Leaving | Hold::Cleaned | Hold::OnHold => None,
        };
        self.held.insert(key.clone(), held.clone()) != Some(held)
    }
}

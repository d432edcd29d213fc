//! Which claims are looked at when they change themselves, or when something is made for them.

use std::sync::Arc;

use beskar7_api::{DHCPReservation, HostBootConfiguration, HostClaim, PhysicalHost};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio_util::sync::CancellationToken;

use crate::{
    caches::Feeds,
    claim::{Register, held_by, saw},
    watch::{Cache, Key, SpecChanges},
};

/// Turns changes into the keys of claims, and notes what they intend.
pub struct Wakes {
    claims: UnboundedReceiver<Key>,
    cache: Cache<HostClaim>,
    configurations: SpecChanges<HostBootConfiguration>,
    reservations: SpecChanges<DHCPReservation>,
    hosts: Cache<PhysicalHost>,
}

impl Wakes {
    /// Listens to these feeds.
    #[must_use]
    pub fn new(feeds: &Feeds) -> Self {
        Self {
            claims: feeds.claims.changes(),
            cache: feeds.claims.cache(),
            configurations: feeds.boot_configurations.spec_changes(),
            reservations: feeds.reservations.spec_changes(),
            hosts: feeds.hosts.cache(),
        }
    }

    /// Does so until `stop`.
    pub async fn run(mut self, register: Arc<Register>, keys: UnboundedSender<Key>, stop: CancellationToken) {
        loop {
            let concerned = tokio::select! {
                () = stop.cancelled() => return,
                Some(key) = self.claims.recv() => {
                    saw(&self.cache, &register, &key);
                    Some(key)
                }
                Some(made) = self.configurations.next() => self.holder(&made),
                Some(made) = self.reservations.next() => self.holder(&made),
                else => return,
            };
            if let Some(key) = concerned {
                // Nobody listens any more only when everything ends.
                let _ended = keys.send(key);
            }
        }
    }

    /// The claim that something was made for. It has its host's name.
    fn holder(&self, made: &Key) -> Option<Key> {
        let holder = held_by::<HostClaim>(self.hosts.get(made)?.as_ref())?;
        self.cache.get(&holder).map(|_| holder)
    }
}

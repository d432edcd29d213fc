//! Which claims are looked at when they change themselves, or when something is made for them.

use std::sync::Arc;

use beskar7_api::{DHCPReservation, HostBootConfiguration, HostClaim, PhysicalHost};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio_util::sync::CancellationToken;

use super::KIND;
use crate::{
    caches::Feeds,
    claim::{Register, saw},
    watch::{Cache, Key, Specs},
};

/// Turns changes into the keys of claims, and notes what they intend.
pub struct Wakes {
    claims: UnboundedReceiver<Key>,
    cache: Cache<HostClaim>,
    configurations: UnboundedReceiver<Key>,
    known_configurations: Cache<HostBootConfiguration>,
    configuration_specs: Specs,
    reservations: UnboundedReceiver<Key>,
    known_reservations: Cache<DHCPReservation>,
    reservation_specs: Specs,
    hosts: Cache<PhysicalHost>,
}

impl Wakes {
    /// Listens to these feeds.
    #[must_use]
    pub fn new(feeds: &Feeds) -> Self {
        Self {
            claims: feeds.claims.changes(),
            cache: feeds.claims.cache(),
            configurations: feeds.boot_configurations.changes(),
            known_configurations: feeds.boot_configurations.cache(),
            configuration_specs: Specs::default(),
            reservations: feeds.reservations.changes(),
            known_reservations: feeds.reservations.cache(),
            reservation_specs: Specs::default(),
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
                Some(made) = self.configurations.recv() => {
                    let found = self.known_configurations.get(&made);
                    self.configuration_specs.is_new(&made, found.as_deref()).then(|| self.holder(&made)).flatten()
                }
                Some(made) = self.reservations.recv() => {
                    let found = self.known_reservations.get(&made);
                    self.reservation_specs.is_new(&made, found.as_deref()).then(|| self.holder(&made)).flatten()
                }
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
        let host = self.hosts.get(made)?;
        let holder = host.spec.consumer_ref.as_ref().filter(|holder| holder.kind.as_deref() == Some(KIND))?;
        let key = (holder.namespace.clone()?, holder.name.clone()?);
        self.cache.get(&key).map(|_| key)
    }
}

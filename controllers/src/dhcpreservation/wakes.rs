//! Which reservations are looked at when: those that change themselves, those with the same address, and that of a host
//! that comes or goes.

use std::collections::{HashMap, HashSet};

use beskar7_api::{DHCPReservation, PhysicalHost};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_util::sync::CancellationToken;

use crate::{
    caches::Feeds,
    watch::{Cache, Key, SpecChanges, key},
};

/// Turns changes into keys.
pub struct Wakes {
    /// That one was seen to ask changes nothing.
    reservations: SpecChanges<DHCPReservation>,
    known: Cache<DHCPReservation>,
    hosts: UnboundedReceiver<Key>,
    known_hosts: Cache<PhysicalHost>,
    /// The address that each had last.
    addresses: HashMap<Key, String>,
    there: HashSet<Key>,
    keys: UnboundedSender<Key>,
}

impl Wakes {
    /// Listens to these feeds; the keys come out at the other end.
    #[must_use]
    pub fn new(feeds: &Feeds) -> (Self, UnboundedReceiver<Key>) {
        let (keys, woken) = unbounded_channel();
        let wakes = Self {
            reservations: feeds.reservations.spec_changes(),
            known: feeds.reservations.cache(),
            hosts: feeds.hosts.changes(),
            known_hosts: feeds.hosts.cache(),
            addresses: HashMap::new(),
            there: HashSet::new(),
            keys,
        };
        (wakes, woken)
    }

    /// Does so until `stop`.
    pub async fn run(mut self, stop: CancellationToken) {
        loop {
            let concerned = tokio::select! {
                () = stop.cancelled() => return,
                Some(key) = self.reservations.next() => self.of_reservation(key),
                Some(key) = self.hosts.recv() => self.of_host(&key),
                else => return,
            };
            for key in concerned {
                // Nobody listens any more only when everything ends.
                let _ended = self.keys.send(key);
            }
        }
    }

    /// Itself, and those who have the address that it has now, or had.
    fn of_reservation(&mut self, changed: Key) -> Vec<Key> {
        let after = self.known.get(&changed).map(|found| found.spec.host_mac.to_ascii_lowercase());
        let before = match after.clone() {
            Some(address) => self.addresses.insert(changed.clone(), address),
            None => self.addresses.remove(&changed),
        };
        if before == after {
            return vec![changed];
        }
        let addresses: Vec<String> = before.into_iter().chain(after).collect();
        let others = self.known.all();
        let others = others.iter().filter(|other| {
            addresses.iter().any(|address| address.eq_ignore_ascii_case(&other.spec.host_mac))
        });
        let mut concerned: Vec<Key> = others.map(|other| key(other.as_ref())).collect();
        if !concerned.contains(&changed) {
            concerned.push(changed);
        }
        concerned
    }

    fn of_host(&mut self, host: &Key) -> Vec<Key> {
        let is_there = self.known_hosts.get(host).is_some();
        let changed = if is_there { self.there.insert(host.clone()) } else { self.there.remove(host) };
        // What is made for a host has its name; another one that names it is looked at when it changes.
        if changed { vec![host.clone()] } else { Vec::new() }
    }
}

//! Which reservations are looked at when: those that change themselves, those that want the same, and that of a host that
//! comes or goes.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use beskar7_api::{DHCPReservation, PhysicalHost};
use beskar7_core::network_boot::shared;
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
    /// What each was last.
    last: HashMap<Key, Arc<DHCPReservation>>,
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
            last: HashMap::new(),
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

    /// Itself, and those who want what it wants now, or wanted.
    fn of_reservation(&mut self, changed: Key) -> Vec<Key> {
        let after = self.known.get(&changed);
        let before = match after.clone() {
            Some(after) => self.last.insert(changed.clone(), after),
            None => self.last.remove(&changed),
        };
        let all = self.known.all();
        let wants_the_same = |other: &&Arc<DHCPReservation>| {
            before.iter().chain(&after).any(|own| shared(own, other).is_some())
        };
        let mut concerned: Vec<Key> =
            all.iter().filter(wants_the_same).map(|other| key(other.as_ref())).collect();
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

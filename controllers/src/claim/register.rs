//! Who waits, who has chosen, who refers to whom.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use beskar7_api::{HostState, PhysicalHost};
use beskar7_core::claim::{Candidate, Choice, Intent, Verdict, Wanting, choose, judge};

use crate::watch::{Key, key};

/// A consumer: its kind and its key.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConsumerId {
    /// Its kind.
    pub kind: &'static str,
    /// Its namespace and name.
    pub key: Key,
}

/// Who waits, who has chosen, who refers to whom.
#[derive(Debug, Default)]
pub struct Register(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// Who found no host, and what it wants.
    waiting: HashMap<ConsumerId, Arc<Wanting>>,
    /// Hosts that were chosen here and do not show it yet.
    chosen: HashMap<Key, Chosen>,
    /// Whom a host's `consumerRef` named when it was last seen, and the other way round.
    holder: HashMap<Key, ConsumerId>,
    holds: HashMap<ConsumerId, BTreeSet<Key>>,
    /// The host that a consumer's intent named when it was last seen, and the other way round.
    intends: HashMap<ConsumerId, Key>,
    intended_by: HashMap<Key, BTreeSet<ConsumerId>>,
}

#[derive(Debug)]
struct Chosen {
    by: ConsumerId,
    owner: Option<String>,
}

impl Register {
    /// Chooses a host for a consumer. Who finds none waits from then on, and is woken when that may have changed.
    ///
    /// # Errors
    /// No host fits: the counts, for people.
    pub fn choose(
        &self,
        consumer: &ConsumerId,
        wanting: &Arc<Wanting>,
        hosts: &[Arc<PhysicalHost>],
    ) -> Result<Arc<PhysicalHost>, String> {
        let mut inner = self.lock();
        inner.give_up_choice(consumer);
        let wish = wanting.wish();
        let mut zones: BTreeMap<String, u32> = BTreeMap::new();
        let candidates: Vec<Candidate<'_>> =
            hosts.iter().map(|host| inner.candidate(host, consumer)).collect();
        for candidate in &candidates {
            if wish.owner.is_some() && inner.is_owned_by(candidate, wish.owner) {
                let zone = candidate.zone().unwrap_or_default();
                let count = zones.entry(zone.to_owned()).or_default();
                *count = count.saturating_add(1);
            }
        }
        match choose(&wish, candidates, &zones) {
            Choice::Host(found) => {
                inner.waiting.remove(consumer);
                let host = (found.namespace.to_owned(), found.name.to_owned());
                let chosen = Chosen { by: consumer.clone(), owner: wish.owner.map(str::to_owned) };
                let found = hosts.iter().find(|candidate| key(candidate.as_ref()) == host).cloned();
                inner.chosen.insert(host, chosen);
                found.ok_or_else(|| "The chosen host is gone".to_owned())
            }
            Choice::Nothing(tally) => {
                inner.waiting.insert(consumer.clone(), wanting.clone());
                Err(tally.message(&wish))
            }
        }
    }

    /// It waits for a host. Said before it looks: what changes meanwhile wakes it.
    pub fn waits(&self, consumer: &ConsumerId, wanting: &Arc<Wanting>) {
        self.lock().waiting.insert(consumer.clone(), wanting.clone());
    }

    /// It does not wait for a host any more, or not yet.
    pub fn stops_waiting(&self, consumer: &ConsumerId) {
        self.lock().waiting.remove(consumer);
    }

    /// It does not want the host that it chose. Who else could use it is to be looked for.
    pub fn gives_up_choice(&self, consumer: &ConsumerId) -> Option<Key> {
        self.lock().give_up_choice(consumer)
    }

    /// A consumer is gone. Who else could use the host that it chose is to be looked for.
    pub fn forget(&self, consumer: &ConsumerId) -> Option<Key> {
        let mut inner = self.lock();
        inner.waiting.remove(consumer);
        inner.intend(consumer, None);
        inner.give_up_choice(consumer)
    }

    /// A consumer was seen, with this intent.
    pub fn saw_consumer(&self, consumer: &ConsumerId, intent: Option<&str>) {
        let intent = intent.and_then(Intent::parse);
        self.lock().intend(consumer, intent.map(|intent| (intent.namespace, intent.host)));
    }

    /// A host was seen, or seen to be gone: who is to look again. `held_by` is whom it names.
    pub fn saw_host(
        &self,
        host_key: &Key,
        host: Option<&PhysicalHost>,
        held_by: Option<ConsumerId>,
    ) -> BTreeSet<ConsumerId> {
        let mut inner = self.lock();
        let mut concerned: BTreeSet<ConsumerId> =
            inner.intended_by.get(host_key).cloned().unwrap_or_default();
        concerned.extend(inner.hold(host_key, held_by.clone()));
        concerned.extend(held_by);
        let is_free = host.is_some_and(|host| Candidate::new(host).claim.claim_id.is_none());
        if !is_free {
            // The choice shows, or can't be carried out any more.
            inner.chosen.remove(host_key);
        }
        if let Some(host) = host.filter(|_| !inner.chosen.contains_key(host_key)) {
            concerned.extend(inner.could_use(&Candidate::new(host)));
        }
        concerned
    }

    /// A policy beside the hosts of a namespace came, changed or went: who is to look again. Who waits may have got a
    /// host by it, and who holds one there may have lost the right to it.
    pub fn concerned_by_policy(&self, hosts_in: &str) -> BTreeSet<ConsumerId> {
        let inner = self.lock();
        let holding = inner.holder.iter().filter(|((there, _), _)| there == hosts_in);
        inner.waiting.keys().chain(holding.map(|(_, holder)| holder)).cloned().collect()
    }

    /// A namespace changed: who in it is to look again, as what it may have may have changed.
    pub fn concerned_by_namespace(&self, name: &str) -> BTreeSet<ConsumerId> {
        let inner = self.lock();
        inner
            .waiting
            .keys()
            .chain(inner.holder.values())
            .filter(|consumer| consumer.key.0 == name)
            .cloned()
            .collect()
    }

    /// The hosts that name a consumer, as they were last seen.
    pub fn held_by(&self, consumer: &ConsumerId) -> Vec<Key> {
        self.lock().holds.get(consumer).into_iter().flatten().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// A host as this consumer sees it: what another has chosen is as good as claimed.
    fn candidate<'h>(&self, host: &'h PhysicalHost, consumer: &ConsumerId) -> Candidate<'h> {
        let mut candidate = Candidate::new(host);
        let by_another = self.chosen.get(&key(host)).is_some_and(|chosen| chosen.by != *consumer);
        if by_another && candidate.state == Some(HostState::Available) {
            candidate.state = Some(HostState::Claimed);
        }
        candidate
    }

    /// Whether a host is, or is about to be, one of an owner's.
    fn is_owned_by(&self, host: &Candidate<'_>, owner: Option<&str>) -> bool {
        let chosen = self.chosen.get(&(host.namespace.to_owned(), host.name.to_owned()));
        let held = host.claim.claim_id.is_some() && host.last_owner == owner;
        held || chosen.is_some_and(|chosen| chosen.owner.as_deref() == owner)
    }

    fn could_use(&self, host: &Candidate<'_>) -> Vec<ConsumerId> {
        let fits = |wanting: &Wanting| judge(&wanting.wish(), host) == Verdict::Fits;
        self.waiting.iter().filter(|(_, wanting)| fits(wanting)).map(|(waiting, _)| waiting.clone()).collect()
    }

    fn give_up_choice(&mut self, consumer: &ConsumerId) -> Option<Key> {
        let host =
            self.chosen.iter().find(|(_, chosen)| chosen.by == *consumer).map(|(host, _)| host.clone())?;
        self.chosen.remove(&host);
        Some(host)
    }

    /// Notes whom a host names, and tells whom it named before.
    fn hold(&mut self, host: &Key, by: Option<ConsumerId>) -> Option<ConsumerId> {
        let before = match &by {
            Some(by) => self.holder.insert(host.clone(), by.clone()),
            None => self.holder.remove(host),
        };
        if let Some(before) = before.as_ref().filter(|before| Some(*before) != by.as_ref()) {
            remove(&mut self.holds, before, host);
        }
        if let Some(by) = by {
            self.holds.entry(by).or_default().insert(host.clone());
        }
        before
    }

    fn intend(&mut self, consumer: &ConsumerId, host: Option<Key>) {
        let before = match &host {
            Some(host) => self.intends.insert(consumer.clone(), host.clone()),
            None => self.intends.remove(consumer),
        };
        if let Some(before) = before.filter(|before| Some(before) != host.as_ref()) {
            remove(&mut self.intended_by, &before, consumer);
        }
        if let Some(host) = host {
            self.intended_by.entry(host).or_default().insert(consumer.clone());
        }
    }
}

/// Takes one out of a set, and an empty set out of the map.
fn remove<K: std::hash::Hash + Eq, V: Ord>(map: &mut HashMap<K, BTreeSet<V>>, key: &K, value: &V) {
    if let Some(set) = map.get_mut(key) {
        set.remove(value);
        if set.is_empty() {
            map.remove(key);
        }
    }
}

//! So many at once and no more, and none for one alone to take: who floods a server gets in his own way. Who is one, an
//! address or a capability, is said by who gives the places.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// So many of them one address may have at most: behind some networks, all machines have the same one.
pub(crate) fn most_of_one(most: usize) -> usize {
    (most / 4 * 3).max(1)
}

/// Places that are taken and given back.
#[derive(Debug)]
pub(crate) struct Places<Who: Copy + Eq + Hash> {
    /// How many there are.
    most: usize,
    /// How many one may have.
    most_of_one: usize,
    taken: Mutex<Taken<Who>>,
}

#[derive(Debug)]
struct Taken<Who> {
    all: usize,
    by: HashMap<Who, usize>,
}

impl<Who: Copy + Eq + Hash> Places<Who> {
    pub(crate) fn new(most: usize, most_of_one: usize) -> Arc<Self> {
        Arc::new(Self { most, most_of_one, taken: Mutex::new(Taken { all: 0, by: HashMap::new() }) })
    }

    /// A place for this one, while there is one for it. An IPv4 address that came as an IPv6 one is to be given as what it
    /// is (`IpAddr::to_canonical`).
    pub(crate) fn take(self: &Arc<Self>, who: Who) -> Option<Place<Who>> {
        let mut taken = self.lock();
        let of_one = taken.by.get(&who).copied().unwrap_or_default();
        if taken.all >= self.most || of_one >= self.most_of_one {
            return None;
        }
        taken.all += 1;
        taken.by.insert(who, of_one + 1);
        Some(Place { of: Arc::clone(self), who })
    }

    fn lock(&self) -> MutexGuard<'_, Taken<Who>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place; it is given back when this is dropped.
#[derive(Debug)]
pub(crate) struct Place<Who: Copy + Eq + Hash> {
    of: Arc<Places<Who>>,
    who: Who,
}

impl<Who: Copy + Eq + Hash> Drop for Place<Who> {
    fn drop(&mut self) {
        let mut taken = self.of.lock();
        taken.all = taken.all.saturating_sub(1);
        let left = taken.by.get(&self.who).map_or(0, |count| count.saturating_sub(1));
        // Nothing is kept of who has gone.
        match left {
            0 => taken.by.remove(&self.who),
            left => taken.by.insert(self.who, left),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_address_leaves_places_to_others() {
        for (most, of_one) in [(1, 1), (3, 1), (32, 24), (256, 192), (4096, 3072)] {
            assert_eq!(most_of_one(most), of_one, "{most}");
        }
    }

    #[test]
    fn one_alone_can_not_have_them_all() {
        let places = Places::new(3, 2);
        let first = [places.take(1), places.take(1)];
        assert!(first.iter().all(Option::is_some));
        assert!(places.take(1).is_none(), "it has its share");
        let other = places.take(2);
        assert!(other.is_some(), "another one has a place");
        assert!(places.take(3).is_none(), "all are taken");
        drop(first);
        assert!(places.take(1).is_some() && places.take(3).is_some());
        drop(other);
        assert!(places.lock().by.is_empty() && places.lock().all == 0, "nothing is kept of who has gone");
    }
}

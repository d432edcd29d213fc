//! So many at once and no more, and none for one address alone to take: who floods a server gets in his own way.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// So many of them one address may have at most: behind some networks, all machines have the same one.
pub(crate) fn most_of_one(most: usize) -> usize {
    (most / 4 * 3).max(1)
}

/// Places that are taken and given back.
#[derive(Debug)]
pub(crate) struct Places {
    /// How many there are.
    most: usize,
    /// How many one address may have.
    most_of_one: usize,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    all: usize,
    by: HashMap<IpAddr, usize>,
}

impl Places {
    pub(crate) fn new(most: usize, most_of_one: usize) -> Arc<Self> {
        Arc::new(Self { most, most_of_one, taken: Mutex::default() })
    }

    /// A place for this address, while there is one for it.
    pub(crate) fn take(self: &Arc<Self>, address: IpAddr) -> Option<Place> {
        let address = address.to_canonical();
        let mut taken = self.lock();
        let of_one = taken.by.get(&address).copied().unwrap_or_default();
        if taken.all >= self.most || of_one >= self.most_of_one {
            return None;
        }
        taken.all += 1;
        taken.by.insert(address, of_one + 1);
        Some(Place { of: Arc::clone(self), address })
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place; it is given back when this is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    of: Arc<Places>,
    address: IpAddr,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.of.lock();
        taken.all = taken.all.saturating_sub(1);
        let left = taken.by.get(&self.address).map_or(0, |count| count.saturating_sub(1));
        // Nothing is kept of who has gone.
        match left {
            0 => taken.by.remove(&self.address),
            left => taken.by.insert(self.address, left),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, last])
    }

    #[test]
    fn one_address_leaves_places_to_others() {
        for (most, of_one) in [(1, 1), (3, 1), (32, 24), (256, 192), (4096, 3072)] {
            assert_eq!(most_of_one(most), of_one, "{most}");
        }
    }

    #[test]
    fn one_address_can_not_have_them_all() {
        let places = Places::new(3, 2);
        let first = [places.take(address(1)), places.take(address(1))];
        assert!(first.iter().all(Option::is_some));
        assert!(places.take(address(1)).is_none(), "it has its share");
        let mapped = IpAddr::from("::ffff:192.0.2.1".parse::<std::net::Ipv6Addr>().unwrap());
        assert!(places.take(mapped).is_none(), "it is the same one");
        let other = places.take(address(2));
        assert!(other.is_some(), "another one has a place");
        assert!(places.take(address(3)).is_none(), "all are taken");
        drop(first);
        assert!(places.take(address(1)).is_some() && places.take(address(3)).is_some());
        drop(other);
        assert!(places.lock().by.is_empty() && places.lock().all == 0, "nothing is kept of who has gone");
    }
}

//! What was found out before, within bounds: what was not asked for the longest time is forgotten first.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Some answers, and when they were found.
pub(crate) struct Memory<K, V> {
    room: usize,
    known: Mutex<Known<K, V>>,
}

struct Known<K, V> {
    entries: HashMap<K, Entry<V>>,
    /// Counts uses: who was asked for last.
    clock: u64,
}

struct Entry<V> {
    value: V,
    since: Instant,
    used: u64,
}

impl<K: Eq + Hash + Clone, V: Clone> Memory<K, V> {
    pub(crate) fn new(room: usize) -> Self {
        Self { room, known: Mutex::new(Known { entries: HashMap::new(), clock: 0 }) }
    }

    /// What is known, however long.
    pub(crate) fn get(&self, key: &K) -> Option<V> {
        self.known().used(key).map(|entry| entry.value.clone())
    }

    /// What is known, if it was found within this time.
    pub(crate) fn recent(&self, key: &K, within: Duration) -> Option<V> {
        let mut known = self.known();
        known.used(key).filter(|entry| entry.since.elapsed() <= within).map(|entry| entry.value.clone())
    }

    pub(crate) fn put(&self, key: K, value: V) {
        self.known().insert(key, value, self.room);
    }

    /// What is known, or what is made now.
    pub(crate) fn get_or_put(&self, key: K, make: impl FnOnce() -> V) -> V {
        let mut known = self.known();
        if let Some(entry) = known.used(&key) {
            return entry.value.clone();
        }
        let value = make();
        known.insert(key, value.clone(), self.room);
        value
    }

    pub(crate) fn forget(&self, key: &K) {
        self.known().entries.remove(key);
    }

    fn known(&self) -> MutexGuard<'_, Known<K, V>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Eq + Hash + Clone, V> Known<K, V> {
    fn insert(&mut self, key: K, value: V, room: usize) {
        let used = self.tick();
        self.entries.insert(key, Entry { value, since: Instant::now(), used });
        while self.entries.len() > room {
            let oldest = self.entries.iter().min_by_key(|(_, entry)| entry.used);
            let Some(oldest) = oldest.map(|(key, _)| key.clone()) else { break };
            self.entries.remove(&oldest);
        }
    }

    fn tick(&mut self) -> u64 {
        self.clock = self.clock.saturating_add(1);
        self.clock
    }

    fn used(&mut self, key: &K) -> Option<&Entry<V>> {
        let used = self.tick();
        let entry = self.entries.get_mut(key)?;
        entry.used = used;
        Some(entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_asked_for_the_longest_time_goes_first() {
        let memory = Memory::new(2);
        memory.put("a", 1);
        memory.put("b", 2);
        assert_eq!(memory.get(&"a"), Some(1));
        memory.put("c", 3);
        assert_eq!((memory.get(&"a"), memory.get(&"b"), memory.get(&"c")), (Some(1), None, Some(3)));
        memory.put("c", 4);
        memory.forget(&"a");
        assert_eq!((memory.get(&"a"), memory.get(&"c")), (None, Some(4)));
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_old_is_known_and_not_recent() {
        let memory = Memory::new(2);
        memory.put("a", 1);
        tokio::time::advance(Duration::from_secs(10)).await;
        assert_eq!(memory.recent(&"a", Duration::from_secs(10)), Some(1));
        assert_eq!(memory.recent(&"a", Duration::from_secs(9)), None);
        assert_eq!(memory.get(&"a"), Some(1));
    }
}

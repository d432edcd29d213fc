//! What was told or heard already, within reason.

use std::{
    collections::HashSet,
    hash::Hash,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// Remembers so many; then all are forgotten, and each counts as new once more.
#[derive(Debug)]
pub(super) struct Remembered<T> {
    most: usize,
    all: Mutex<HashSet<T>>,
}

impl<T: Eq + Hash + Clone> Remembered<T> {
    pub(super) fn new(most: usize) -> Self {
        Self { most, all: Mutex::default() }
    }

    /// Adds one; whether it is new.
    pub(super) fn add(&self, one: &T) -> bool {
        let mut all = self.lock();
        if all.len() >= self.most {
            all.clear();
        }
        all.insert(one.clone())
    }

    pub(super) fn has(&self, one: &T) -> bool {
        self.lock().contains(one)
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<T>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_new_once_until_there_are_too_many() {
        let remembered = Remembered::new(2);
        assert!(remembered.add(&1) && !remembered.add(&1) && remembered.has(&1));
        assert!(remembered.add(&2));
        assert!(remembered.add(&3), "all are forgotten");
        assert!(!remembered.has(&1) && remembered.has(&3));
    }
}

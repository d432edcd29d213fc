//! When to try again: one policy for everything that fails.
//!
//! Per object, growing, and with jitter, so that a thousand hosts behind one dead switch do not come back in step.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use backon::{BackoffBuilder as _, ExponentialBackoff, ExponentialBuilder};

/// The first pause.
const FIRST: Duration = Duration::from_millis(500);
/// The longest pause, without its jitter.
const LONGEST: Duration = Duration::from_secs(300);

/// Pauses for something that is tried until it works: half a second, doubling, at most `longest`; jitter adds up
/// to as much again.
#[must_use]
pub fn pauses(longest: Duration) -> ExponentialBackoff {
    pauses_between(FIRST, longest)
}

/// The same, with another first pause.
#[must_use]
pub fn pauses_between(first: Duration, longest: Duration) -> ExponentialBackoff {
    ExponentialBuilder::new()
        .with_min_delay(first.min(longest))
        .with_max_delay(longest)
        .with_factor(2.0)
        .with_jitter()
        .without_max_times()
        .build()
}

/// A time, a tenth more or less: what was started together drifts apart.
#[must_use]
pub fn spread(time: Duration) -> Duration {
    time.mul_f64(0.9 + 0.2 * fastrand::f64())
}

/// How often each object has failed in a row.
#[derive(Debug)]
pub struct Backoffs<K> {
    running: Mutex<HashMap<K, ExponentialBackoff>>,
    first: Duration,
    longest: Duration,
}

impl<K: Hash + Eq> Backoffs<K> {
    /// Nobody has failed.
    #[must_use]
    pub fn new() -> Self {
        Self::between(FIRST, LONGEST)
    }

    /// The same, with other pauses.
    #[must_use]
    pub fn between(first: Duration, longest: Duration) -> Self {
        Self { running: Mutex::new(HashMap::new()), first, longest }
    }

    /// It failed once more: how long to pause.
    pub fn failed(&self, key: K) -> Duration {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let begun = || pauses_between(self.first, self.longest);
        running.entry(key).or_insert_with(begun).next().unwrap_or(self.longest)
    }

    /// It worked, or is gone: the next failure is the first again.
    pub fn forget(&self, key: &K) {
        self.running.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }
}

impl<K: Hash + Eq> Default for Backoffs<K> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_up_to_a_limit_and_start_again() {
        let backoffs = Backoffs::new();
        let mut expected = FIRST;
        for _ in 0..20 {
            let pause = backoffs.failed("a");
            assert!(pause >= expected && pause <= expected * 2, "{pause:?} is not in {expected:?}..x2");
            expected = (expected * 2).min(LONGEST);
        }
        assert!(backoffs.failed("b") <= FIRST * 2, "b pays for a");
        backoffs.forget(&"a");
        assert!(backoffs.failed("a") <= FIRST * 2);
    }

    #[test]
    fn pauses_have_jitter() {
        let firsts: std::collections::HashSet<_> = (0..20).map(|n| Backoffs::new().failed(n)).collect();
        assert!(firsts.len() > 1, "all alike: {firsts:?}");
    }

    #[test]
    fn spread_stays_within_a_tenth() {
        let time = Duration::from_secs(100);
        for _ in 0..100 {
            let spread = spread(time);
            assert!(spread >= time.mul_f64(0.9) && spread <= time.mul_f64(1.1), "{spread:?}");
        }
    }
}

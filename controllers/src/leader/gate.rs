//! The one fact that writes ask for: does this replica lead, right now?

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

const CLOSED: u64 = 0;
const FOR_EVER: u64 = u64::MAX;

/// Says until when this replica may write. Cheap to clone and to ask.
#[derive(Debug, Clone, Default)]
pub struct Gate {
    /// Uptime in nanoseconds at which it closes by itself.
    until: Arc<AtomicU64>,
}

impl Gate {
    /// Closed until somebody opens it.
    #[must_use]
    pub fn closed() -> Self {
        Self::default()
    }

    /// Open for good: there is no election.
    #[must_use]
    pub fn always_open() -> Self {
        Self { until: Arc::new(AtomicU64::new(FOR_EVER)) }
    }

    /// Lets writes through while the uptime is less than `until`.
    pub fn open_until(&self, until: Duration) {
        let nanos = u64::try_from(until.as_nanos()).unwrap_or(FOR_EVER).min(FOR_EVER - 1);
        self.until.store(nanos, Ordering::SeqCst);
    }

    /// Lets nothing through any more.
    pub fn close(&self) {
        self.until.store(CLOSED, Ordering::SeqCst);
    }

    /// How long writes may still go through at uptime `now`: nothing when the gate is shut.
    #[must_use]
    pub fn left(&self, now: Duration) -> Option<Duration> {
        match self.until.load(Ordering::SeqCst) {
            CLOSED => None,
            FOR_EVER => Some(Duration::MAX),
            until => Duration::from_nanos(until).checked_sub(now).filter(|left| !left.is_zero()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn secs(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    #[test]
    fn it_closes_by_itself_and_by_hand() {
        let gate = Gate::closed();
        assert_eq!(gate.left(secs(1)), None);
        gate.open_until(secs(10));
        assert_eq!(gate.left(secs(3)), Some(secs(7)));
        assert_eq!(gate.left(secs(10)), None);
        assert_eq!(gate.left(secs(11)), None);
        gate.open_until(secs(20));
        assert_eq!(gate.left(secs(11)), Some(secs(9)));
        gate.close();
        assert_eq!(gate.left(secs(11)), None);
        assert_eq!(Gate::always_open().left(secs(11)), Some(Duration::MAX));
    }
}

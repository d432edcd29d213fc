//! What a candidate does next, from what it read in the Lease and a clock of its own.
//!
//! Pure: no clock, no I/O. Times are a candidate's own uptime; nobody else's clock is ever believed. A follower
//! counts a lease from the moment it *saw* it change, which is after the leader wrote it; the leader counts from
//! the moment it *began* to write. So a leader whose time is shorter than the lease has stopped before a
//! follower begins, as long as their clocks do not run apart faster than the two times do.

use std::time::Duration;

/// The times of an election.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Times {
    /// How long followers wait after the last change they saw.
    pub lease: Duration,
    /// How long a leader goes on after it began its last renewal. Shorter than `lease`.
    pub renew_deadline: Duration,
    /// How long between two tries.
    pub retry: Duration,
}

/// What a Lease says.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Record {
    /// Who holds it; nobody after a release.
    pub holder: Option<String>,
    /// For how long after each renewal, as its holder promised.
    pub lease: Duration,
    /// How often it changed hands.
    pub transitions: i32,
    /// The holder's times and all else that moves with a renewal. Compared, never interpreted.
    pub stamp: String,
}

/// A Lease as it was read, with what a compare-and-swap needs.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Read {
    /// What it says.
    pub record: Record,
    /// Which version of it says so.
    pub version: String,
}

/// What to do next.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Action {
    /// Create the Lease, held by us.
    Create,
    /// Replace the version that was read, held by us from now on.
    Take {
        /// The version to replace.
        version: String,
        /// How often the Lease will have changed hands.
        transitions: i32,
    },
    /// Replace the version that was read, held by us as before.
    Renew {
        /// The version to replace.
        version: String,
        /// How often the Lease has changed hands.
        transitions: i32,
    },
    /// Somebody else holds it, at most this long.
    Wait(Duration),
    /// We led, and do not any more.
    Lost(Loss),
}

/// How leadership ends against our will.
#[derive(Debug, Clone, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Loss {
    /// No renewal succeeded in time.
    #[error("the Lease was not renewed in time")]
    NotRenewed,
    /// The Lease names another holder.
    #[error("{0} took the Lease")]
    Taken(String),
    /// The Lease names no holder.
    #[error("the Lease was released, and not by us")]
    Released,
}

/// One candidate's view.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Candidate {
    me: String,
    times: Times,
    /// The Lease as it was last read; absent when there was none.
    read: Option<Read>,
    /// Somebody else's record, and when we first saw it. Kept when the Lease is deleted under its holder.
    other: Option<(Record, Duration)>,
    /// When the last successful renewal began, while leading.
    renewed: Option<Duration>,
}

impl Candidate {
    /// A candidate that knows nothing yet.
    #[must_use]
    pub fn new(me: String, times: Times) -> Self {
        Self { me, times, read: None, other: None, renewed: None }
    }

    /// Its name in the Lease.
    #[must_use]
    pub fn me(&self) -> &str {
        &self.me
    }

    /// Until when it may act, while it leads.
    #[must_use]
    pub fn leads_until(&self) -> Option<Duration> {
        self.renewed.map(|renewed| renewed.saturating_add(self.times.renew_deadline))
    }

    /// Who holds the Lease, as it was last read.
    #[must_use]
    pub fn holder(&self) -> Option<&str> {
        self.read.as_ref().and_then(|read| read.record.holder.as_deref())
    }

    /// Notes what was read; `None` when there is no Lease.
    pub fn saw(&mut self, read: Option<Read>, now: Duration) {
        if let Some(read) = &read {
            let held_by_other = read.record.holder.as_ref().is_some_and(|holder| *holder != self.me);
            let known = self.other.as_ref().is_some_and(|(record, _)| *record == read.record);
            match (held_by_other, known) {
                (true, true) => {}
                (true, false) => self.other = Some((read.record.clone(), now)),
                (false, true | false) => self.other = None,
            }
        }
        self.read = read;
    }

    /// Notes that a write which began at `started` was accepted.
    pub fn wrote(&mut self, read: Read, started: Duration) {
        self.read = Some(read);
        self.other = None;
        self.renewed = Some(started);
    }

    /// Notes that it leads no more: a loss, or a release.
    pub fn step_down(&mut self) {
        self.renewed = None;
    }

    /// What follows.
    #[must_use]
    pub fn next(&self, now: Duration) -> Action {
        match self.leads_until() {
            Some(until) => self.next_leading(until, now),
            None => self.next_following(now),
        }
    }

    fn next_leading(&self, until: Duration, now: Duration) -> Action {
        if now >= until {
            return Action::Lost(Loss::NotRenewed);
        }
        let Some(Read { record, version }) = &self.read else { return Action::Create };
        match &record.holder {
            Some(holder) if *holder == self.me => {
                Action::Renew { version: version.clone(), transitions: record.transitions }
            }
            Some(other) => Action::Lost(Loss::Taken(other.clone())),
            None => Action::Lost(Loss::Released),
        }
    }

    fn next_following(&self, now: Duration) -> Action {
        if let Some((record, seen)) = &self.other {
            let left = seen.saturating_add(record.lease).saturating_sub(now);
            if !left.is_zero() {
                return Action::Wait(left);
            }
        }
        match &self.read {
            None => Action::Create,
            Some(Read { record, version }) => {
                Action::Take { version: version.clone(), transitions: record.transitions.saturating_add(1) }
            }
        }
    }
}

#[cfg(test)]
#[path = "decision_tests.rs"]
mod tests;

//! The simulator's time: how long it has run, and what the wall clock says to that.
//!
//! Machines never read it; they are told. It stands on tokio's clock, so a test that pauses time
//! pauses every machine with it.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

/// A point in time: how long after the simulator's start.
pub type Moment = Duration;

/// How fast machines and BMCs do what they do: a multiple of the times in their profile.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pace(f64);

impl Pace {
    /// The pace by this factor; what is no sensible factor counts as 1.
    #[must_use]
    pub fn new(factor: f64) -> Self {
        Self(if factor.is_finite() && factor >= 0.0 { factor.min(1000.0) } else { 1.0 })
    }

    /// How long this takes at this pace.
    #[must_use]
    pub fn of(self, time: Duration) -> Duration {
        time.mul_f64(self.0)
    }
}

/// Where moments come from.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    wall: Timestamp,
    start: tokio::time::Instant,
}

impl Clock {
    /// A clock that starts now.
    #[must_use]
    pub fn start() -> Self {
        Self { wall: Timestamp::now(), start: tokio::time::Instant::now() }
    }

    /// The time since the start.
    #[must_use]
    pub fn now(&self) -> Moment {
        self.start.elapsed()
    }

    /// A moment as RFC 3339, whole seconds, as Redfish wants its times.
    #[must_use]
    pub fn wall(&self, moment: Moment) -> String {
        let passed = SignedDuration::from_secs(i64::try_from(moment.as_secs()).unwrap_or(i64::MAX));
        let at = self.wall.checked_add(passed).unwrap_or(self.wall);
        at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
    }

    /// The instant to sleep until.
    #[must_use]
    pub fn instant(&self, moment: Moment) -> tokio::time::Instant {
        self.start + moment
    }
}

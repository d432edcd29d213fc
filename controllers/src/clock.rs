//! Clocks: the one that leadership is measured by, which never goes back and runs on while the machine sleeps, and the
//! one on the wall.

use std::time::Duration;

use jiff::Timestamp;
use rustix::time::{ClockId, clock_gettime};

/// Time since the machine started.
///
/// Not `Instant`: that one stands still in a suspended machine, which then wakes up believing to lead.
#[must_use]
pub fn uptime() -> Duration {
    let time = clock_gettime(ClockId::Boottime);
    Duration::new(time.tv_sec.try_into().unwrap_or_default(), time.tv_nsec.try_into().unwrap_or_default())
}

/// The time on the wall, in whole seconds, as Kubernetes writes it.
#[must_use]
pub fn now() -> Timestamp {
    let now = Timestamp::now();
    Timestamp::from_second(now.as_second()).unwrap_or(now)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_forward() {
        let first = uptime();
        std::thread::sleep(Duration::from_millis(5));
        let second = uptime();
        assert!(second >= first + Duration::from_millis(5), "{first:?} then {second:?}");
        assert!(first > Duration::ZERO);
    }
}

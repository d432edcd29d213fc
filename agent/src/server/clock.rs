//! What time it is, as far as certificates are concerned.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use reqwest::header::{DATE, HeaderMap};
use rustls::pki_types::UnixTime;
use rustls::time_provider::TimeProvider;

/// No clock that somebody sets is off by more.
const A_DAY: Duration = Duration::from_secs(24 * 3600);

/// The machine's clock; or the server's, where the machine's is off by years, as that of a machine without a battery is.
///
/// What the server says is not verified yet at that moment. Who lies about it gains no more than that an old certificate
/// of the same CA is taken: which CA it is stands in the ramdisk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Clock {
    correction: Option<Correction>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Correction {
    Later(Duration),
    Earlier(Duration),
}

impl Clock {
    /// By what the server says in its answer.
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let date = headers.get(DATE).and_then(|date| date.to_str().ok());
        let theirs = date.and_then(|date| httpdate::parse_http_date(date).ok());
        theirs.map_or_else(Self::default, |theirs| Self::between(SystemTime::now(), theirs))
    }

    fn between(ours: SystemTime, theirs: SystemTime) -> Self {
        let correction = match theirs.duration_since(ours) {
            Ok(later) => Correction::Later(later),
            Err(earlier) => Correction::Earlier(earlier.duration()),
        };
        let is_off = match correction {
            Correction::Later(by) | Correction::Earlier(by) => by > A_DAY,
        };
        Self { correction: is_off.then_some(correction) }
    }

    pub(super) fn is_off(&self) -> bool {
        self.correction.is_some()
    }

    fn corrected(&self, ours: Duration) -> Duration {
        match self.correction {
            None => ours,
            Some(Correction::Later(by)) => ours.saturating_add(by),
            Some(Correction::Earlier(by)) => ours.saturating_sub(by),
        }
    }
}

impl TimeProvider for Clock {
    fn current_time(&self) -> Option<UnixTime> {
        let ours = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
        Some(UnixTime::since_unix_epoch(self.corrected(ours)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_off_by_more_than_a_day_is_corrected() {
        let at = |seconds: u64| UNIX_EPOCH + Duration::from_secs(seconds);
        let day = A_DAY.as_secs();
        for (ours, theirs, expected) in [
            (1000 * day, 1000 * day, 1000 * day),
            (1000 * day, 1001 * day, 1000 * day),
            (1000 * day, 999 * day, 1000 * day),
            (0, 1000 * day, 1000 * day),
            (1000 * day, 1001 * day + 1, 1001 * day + 1),
            (3000 * day, 1000 * day, 1000 * day),
        ] {
            let clock = Clock::between(at(ours), at(theirs));
            assert_eq!(clock.corrected(Duration::from_secs(ours)).as_secs(), expected, "{ours} {theirs}");
            assert_eq!(clock.is_off(), ours != expected);
        }
        assert_eq!(Clock::of(&HeaderMap::new()), Clock::default());
    }
}

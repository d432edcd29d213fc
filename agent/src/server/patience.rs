//! How often something is tried again: one rule for everything that is asked of the server.

use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBackoff, ExponentialBuilder};

use super::trouble::Trouble;
use crate::fetching::FetchError;

/// How often something is tried again, and after what pauses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// The first pause. Each is twice as long as the one before it, and a little more.
    pub first: Duration,
    /// The longest pause.
    pub longest: Duration,
    /// How often.
    pub tries: usize,
}

impl Default for Patience {
    /// Six minutes or more: a server that is moved to another node is back by then.
    fn default() -> Self {
        Self { first: Duration::from_millis(500), longest: Duration::from_secs(15), tries: 28 }
    }
}

impl Patience {
    /// The pauses, a little different each time, so that a rack of machines does not ask in step.
    pub(super) fn pauses(&self) -> ExponentialBackoff {
        ExponentialBuilder::default()
            .with_min_delay(self.first)
            .with_max_delay(self.longest)
            .with_max_times(self.tries)
            .with_jitter()
            .build()
    }

    /// Tries something until it works, it can't work, or it was tried often enough.
    pub(super) fn patiently<T>(&self, work: impl FnMut() -> Result<T, Trouble>) -> Result<T, FetchError> {
        patiently(&mut self.pauses(), work)
    }
}

/// The same with pauses of which some may be used up already.
pub(super) fn patiently<T>(
    pauses: &mut ExponentialBackoff,
    mut work: impl FnMut() -> Result<T, Trouble>,
) -> Result<T, FetchError> {
    loop {
        match work() {
            Ok(done) => return Ok(done),
            Err(Trouble::Lasting(error)) => return Err(error),
            Err(Trouble::Passing(text)) => pause(pauses, text)?,
        }
    }
}

/// Waits for the next try; none is left after the last one.
pub(super) fn pause(pauses: &mut ExponentialBackoff, why: String) -> Result<(), FetchError> {
    std::thread::sleep(pauses.next().ok_or(FetchError::Unreachable(why))?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_passes_is_tried_again_and_what_stays_is_not() {
        let patience = Patience { first: Duration::ZERO, longest: Duration::ZERO, tries: 3 };
        let passing = || Err(Trouble::Passing("busy".to_owned()));
        let gone = FetchError::Refused("gone".to_owned());
        for (answers, expected, tries) in [
            (vec![Ok(7)], Ok(7), 1),
            (vec![passing(), passing(), passing(), Ok(7)], Ok(7), 4),
            (vec![passing(); 9], Err(FetchError::Unreachable("busy".to_owned())), 4),
            (vec![passing(), Err(Trouble::Lasting(gone.clone())), Ok(7)], Err(gone), 2),
        ] {
            let mut tried = 0;
            let result = patience.patiently(|| {
                tried += 1;
                answers[tried - 1].clone()
            });
            assert_eq!((result, tried), (expected, tries));
        }
    }

    #[test]
    fn pauses_grow_and_end() {
        let pauses: Vec<Duration> = Patience::default().pauses().collect();
        assert_eq!(pauses.len(), 28);
        assert!(pauses[0] < Duration::from_secs(1), "{pauses:?}");
        assert!(pauses.iter().sum::<Duration>() > Duration::from_secs(300), "{pauses:?}");
    }
}

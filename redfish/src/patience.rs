//! How long something may take, and how to wait for it.

use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};
use tokio::time::Instant;

use crate::bmc::Bmc;
use crate::error::Error;
use crate::shown::shown;

/// Pauses grow up to this.
const LONGEST_PAUSE: Duration = Duration::from_secs(15);

/// Until when an operation may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadline {
    limit: Duration,
    end: Instant,
}

impl Deadline {
    /// From now on.
    #[must_use]
    pub fn after(limit: Duration) -> Self {
        Self { limit, end: Instant::now() + limit }
    }

    /// How long there was at the beginning: what errors tell.
    pub(crate) fn limit(self) -> Duration {
        self.limit
    }

    pub(crate) fn left(self) -> Duration {
        self.end.saturating_duration_since(Instant::now())
    }
}

/// Growing pauses, a little different each time, so that a rack of BMCs is not asked in step.
pub(crate) fn pauses() -> impl Iterator<Item = Duration> {
    ExponentialBuilder::default()
        .with_min_delay(Duration::from_millis(500))
        .with_max_delay(LONGEST_PAUSE)
        .with_jitter()
        .without_max_times()
        .build()
}

impl Bmc {
    /// Does something again while the BMC says that it is busy, as it asks or less and less often, until the deadline.
    pub(crate) async fn patiently<T, F, W>(&self, deadline: Deadline, mut work: W) -> Result<T, Error>
    where
        W: FnMut() -> F,
        F: Future<Output = Result<T, Error>>,
    {
        let mut pauses = pauses();
        loop {
            let (busy, after) = match work().await {
                Err(Error::Busy { address, messages, after }) => {
                    (Error::Busy { address, messages, after }, after)
                }
                done => return done,
            };
            let pause = after.or_else(|| pauses.next()).unwrap_or(LONGEST_PAUSE);
            if pause >= deadline.left() {
                return Err(busy);
            }
            tokio::time::sleep(pause).await;
        }
    }

    /// Reads something that takes many requests, within the limit for all of them together. Only for reads: what is
    /// not finished is dropped.
    pub(crate) async fn within_limit<T>(
        &self,
        what: &str,
        reading: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let limit = self.limits().reading;
        tokio::time::timeout(limit, reading).await.unwrap_or_else(|_| {
            Err(Error::NotAnswered { address: self.address().to_string(), what: what.to_owned(), limit })
        })
    }

    /// What was asked for did not come about in time.
    pub(crate) fn not_seen(&self, what: impl Into<String>, deadline: Deadline) -> Error {
        Error::NotSeen {
            address: self.address().to_string(),
            what: shown(&what.into()),
            limit: deadline.limit(),
        }
    }
}

//! Leaves a dead BMC alone: after some failures in a row, one probe per interval.
//!
//! Pure: the time comes in. An answer of any kind, also a refusal, shows that the BMC lives.

use std::time::Duration;

/// When to leave a BMC alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rest {
    /// After how many failures in a row.
    pub after: u32,
    /// For how long.
    pub interval: Duration,
}

/// How a BMC has behaved of late.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Breaker {
    rest: Rest,
    failures: u32,
    /// When the next probe may be sent, while resting.
    next_probe: Duration,
}

/// Whether to ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permit {
    /// Ask.
    Go,
    /// Not yet.
    Wait {
        /// How often it has not answered.
        failures: u32,
        /// How long still.
        left: Duration,
    },
}

impl Breaker {
    /// A BMC that nothing is known of.
    #[must_use]
    pub const fn new(rest: Rest) -> Self {
        Self { rest, failures: 0, next_probe: Duration::ZERO }
    }

    /// Whether to ask at uptime `now`. Who gets to go while the BMC rests is its probe: others wait on.
    pub fn permit(&mut self, now: Duration) -> Permit {
        if self.failures < self.rest.after {
            return Permit::Go;
        }
        if now >= self.next_probe {
            self.next_probe = now.saturating_add(self.rest.interval);
            return Permit::Go;
        }
        Permit::Wait { failures: self.failures, left: self.next_probe.saturating_sub(now) }
    }

    /// It answered.
    pub const fn answered(&mut self) {
        self.failures = 0;
    }

    /// It did not.
    pub fn failed(&mut self, now: Duration) {
        self.failures = self.failures.saturating_add(1);
        if self.failures >= self.rest.after {
            self.next_probe = now.saturating_add(self.rest.interval);
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
    fn a_dead_bmc_costs_one_probe_per_interval() {
        let mut breaker = Breaker::new(Rest { after: 3, interval: secs(60) });
        let mut asked = 0;
        for second in 0..600 {
            if breaker.permit(secs(second)) == Permit::Go {
                asked += 1;
                breaker.failed(secs(second));
            }
        }
        assert_eq!(asked, 3 + 9, "three tries, then one per minute");
    }

    #[test]
    fn one_probe_at_a_time_and_the_first_answer_ends_the_rest() {
        let mut breaker = Breaker::new(Rest { after: 1, interval: secs(60) });
        breaker.failed(secs(0));
        assert_eq!(breaker.permit(secs(59)), Permit::Wait { failures: 1, left: secs(1) });
        assert_eq!(breaker.permit(secs(60)), Permit::Go);
        assert_eq!(breaker.permit(secs(60)), Permit::Wait { failures: 1, left: secs(60) });
        breaker.answered();
        assert_eq!(breaker.permit(secs(61)), Permit::Go);
        assert_eq!(breaker.permit(secs(61)), Permit::Go);
    }
}

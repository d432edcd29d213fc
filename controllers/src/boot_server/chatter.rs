//! What agents log, in our own log: so much of each host, and of the rest how much it was.
//!
//! Who has an agent's capability may say as much as he likes, and as often. The disks of others are not to be filled by
//! that, nor is what others say to be lost in it.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use beskar7_agent_protocol::report::{LONGEST_LINE, MOST_LINES};
use beskar7_boot::capability::hidden;
use tokio::time::Instant;

use super::images::Kept;
use crate::watch::Key;

/// So many lines of a host are logged at once, and in each minute.
const MOST: u32 = 200;
const MINUTE: Duration = Duration::from_secs(60);
/// Of so many hosts it is remembered how much they said; of more, those are forgotten that were silent for longest.
const MOST_REMEMBERED: usize = 4096;

/// Logs what agents log.
pub(super) struct Chatter {
    hosts: Mutex<Kept<Key, Allowance>>,
}

impl Chatter {
    pub(super) fn new() -> Self {
        Self { hosts: Mutex::new(Kept::new(MOST_REMEMBERED)) }
    }

    /// The agent on the machine of a host logged these lines.
    pub(super) fn log(&self, host: &Key, lines: &[String]) {
        let now = Instant::now();
        let (most, left_out) = {
            let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
            let known = hosts.get(host);
            if lines.is_empty() && known.is_none() {
                return;
            }
            let mut allowance = known.unwrap_or_else(|| Allowance::new(now));
            let heard = allowance.hear(lines.len(), now);
            hosts.put(host.clone(), allowance);
            heard
        };
        let (namespace, name) = host;
        for line in lines.iter().take(most) {
            let line: String = hidden(line).chars().filter(|c| !c.is_control()).take(LONGEST_LINE).collect();
            tracing::info!(namespace, name, line, "an agent says");
        }
        if let Some(left_out) = left_out {
            tracing::info!(namespace, name, left_out, "an agent says more lines than are logged of one host");
        }
    }
}

/// How much of one host is still logged.
#[derive(Debug, Clone)]
struct Allowance {
    /// From then on as much as at first: each line puts that off.
    full: Instant,
    /// Lines that were left out, and not told of.
    left_out: usize,
    /// When it was last told of some.
    told: Option<Instant>,
}

impl Allowance {
    const fn new(now: Instant) -> Self {
        Self { full: now, left_out: 0, told: None }
    }

    /// How many of so many lines are logged, the first ones, and how many are said to have been left out, if it is time to.
    fn hear(&mut self, lines: usize, now: Instant) -> (usize, Option<usize>) {
        let each = MINUTE / MOST;
        let used = self.full.saturating_duration_since(now);
        let free = MINUTE.saturating_sub(used).as_nanos() / each.as_nanos();
        let free = usize::try_from(free).unwrap_or(usize::MAX);
        // More of one report are not taken, whoever sent them.
        let logged = lines.min(free).min(MOST_LINES);
        let cost = each.saturating_mul(u32::try_from(logged).unwrap_or(MOST));
        self.full = self.full.max(now) + cost;
        self.left_out = self.left_out.saturating_add(lines - logged);
        let is_time = self.told.is_none_or(|told| now.saturating_duration_since(told) >= MINUTE);
        if self.left_out == 0 || !is_time {
            return (logged, None);
        }
        self.told = Some(now);
        (logged, Some(std::mem::take(&mut self.left_out)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_lines_are_logged_in_a_minute_and_the_others_are_counted() {
        let start = Instant::now();
        let mut allowance = Allowance::new(start);
        for (second, lines, expected) in [
            (0, 0, (0, None)),
            (0, 100, (100, None)),
            (0, 100, (100, None)),
            (0, 100, (0, Some(100))),
            // Not told of before a minute is over.
            (1, 100, (3, None)),
            (31, 100, (100, None)),
            (31, 7, (0, None)),
            (60, 1, (1, Some(97 + 7))),
            (61, 0, (0, None)),
            // Silence does not save up more than a minute's.
            (10_000, 1_000_000, (100, Some(999_900))),
            (10_000, 100, (100, None)),
            (10_000, 1, (0, None)),
            (10_060, 0, (0, Some(1))),
        ] {
            let heard = allowance.hear(lines, start + Duration::from_secs(second));
            assert_eq!(heard, expected, "{lines} lines after {second} s");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn each_host_has_its_own_and_those_that_say_nothing_are_not_remembered() {
        let chatter = Chatter::new();
        let key = |name: &str| ("metal".to_owned(), name.to_owned());
        let known = |name: &str| chatter.hosts.lock().unwrap().get(&key(name));
        chatter.log(&key("a"), &vec!["x".to_owned(); 500]);
        chatter.log(&key("b"), &["x".to_owned()]);
        chatter.log(&key("c"), &[]);
        let until_full = |name: &str| known(name).map(|found| found.full - Instant::now());
        assert_eq!(until_full("a"), Some(MINUTE / 2));
        assert_eq!(until_full("b"), Some(MINUTE / 200));
        assert!(known("c").is_none());
    }
}

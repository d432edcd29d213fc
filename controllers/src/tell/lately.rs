//! What was said lately: who says it again counts, and makes no new event.

use std::collections::HashMap;

use jiff::{SignedDuration, Timestamp};

/// For so long the same words are the same event.
const LATELY: SignedDuration = SignedDuration::from_mins(6);
/// How often it is looked for what is longer ago.
const SWEEP: SignedDuration = SignedDuration::from_mins(1);

/// Said before, and now again.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Said {
    /// The event's.
    pub(super) name: String,
    /// How often, with this time.
    pub(super) count: u32,
}

/// The names of events, by what they say.
#[derive(Debug, Default)]
pub(super) struct Lately {
    events: HashMap<u64, Kept>,
    swept: Option<Timestamp>,
}

#[derive(Debug)]
struct Kept {
    name: Box<str>,
    count: u32,
    last: Timestamp,
}

impl Lately {
    /// It is to be said now: was it said lately?
    pub(super) fn said(&mut self, key: u64, now: Timestamp) -> Option<Said> {
        self.sweep(now);
        let kept = self.events.get_mut(&key).filter(|kept| is_lately(kept.last, now))?;
        kept.count = kept.count.saturating_add(1);
        kept.last = now;
        Some(Said { name: kept.name.clone().into_string(), count: kept.count })
    }

    /// It was said for the first time.
    pub(super) fn say(&mut self, key: u64, name: String, now: Timestamp) {
        self.events.insert(key, Kept { name: name.into_boxed_str(), count: 1, last: now });
    }

    fn sweep(&mut self, now: Timestamp) {
        if self.swept.is_some_and(|swept| now.duration_since(swept) < SWEEP) {
            return;
        }
        self.swept = Some(now);
        self.events.retain(|_, kept| is_lately(kept.last, now));
        self.events.shrink_to(self.events.len().saturating_mul(2));
    }
}

fn is_lately(last: Timestamp, now: Timestamp) -> bool {
    now.duration_since(last) < LATELY
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_000_000 + second).unwrap()
    }

    #[test]
    fn what_is_said_again_is_counted_for_some_minutes() {
        let mut lately = Lately::default();
        assert_eq!(lately.said(1, at(0)), None);
        lately.say(1, "a".to_owned(), at(0));
        assert_eq!(lately.said(2, at(1)), None, "something else");
        for (second, count) in [(1, 2), (300, 3), (650, 4)] {
            assert_eq!(lately.said(1, at(second)), Some(Said { name: "a".to_owned(), count }));
        }
        assert_eq!(lately.said(1, at(650 + 360)), None, "too long ago");
    }

    #[test]
    fn what_was_said_long_ago_is_forgotten() {
        let mut lately = Lately::default();
        for key in 0..1000 {
            lately.say(key, key.to_string(), at(0));
        }
        assert_eq!(lately.said(5000, at(359)), None);
        assert_eq!(lately.events.len(), 1000);
        assert_eq!(lately.said(5000, at(419)), None);
        assert!(lately.events.is_empty() && lately.events.capacity() < 1000);
    }
}

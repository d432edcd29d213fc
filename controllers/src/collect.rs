//! Keys that are collected for a while and then told, each once: for looks that count many objects, which come by the
//! thousand when a site enrols.

use std::{collections::HashSet, time::Duration};

use tokio::{
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    time::Instant,
};

use crate::watch::Key;

/// How long keys are collected.
const COLLECT: Duration = Duration::from_secs(1);

/// Collects keys.
#[derive(Debug)]
pub(crate) struct Collected {
    woken: HashSet<Key>,
    /// When those that were woken are told.
    due: Option<Instant>,
    keys: UnboundedSender<Key>,
}

impl Collected {
    /// The keys come out at the other end.
    pub(crate) fn new() -> (Self, UnboundedReceiver<Key>) {
        let (keys, told) = unbounded_channel();
        (Self { woken: HashSet::new(), due: None, keys }, told)
    }

    /// One more, to be told within a second.
    pub(crate) fn add(&mut self, key: Key) {
        self.woken.insert(key);
        self.due.get_or_insert_with(|| Instant::now() + COLLECT);
    }

    /// Waits until it is time to tell.
    pub(crate) async fn due(&self) {
        match self.due {
            Some(due) => tokio::time::sleep_until(due).await,
            None => std::future::pending().await,
        }
    }

    /// Tells them.
    pub(crate) fn tell(&mut self) {
        self.due = None;
        for key in self.woken.drain() {
            // Nobody listens any more when everything ends.
            let _ended = self.keys.send(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> Key {
        ("metal".to_owned(), name.to_owned())
    }

    #[tokio::test(start_paused = true)]
    async fn a_thousand_changes_within_a_second_are_one() {
        let (mut collected, mut told) = Collected::new();
        let started = Instant::now();
        collected.add(key("a"));
        tokio::time::advance(COLLECT / 2).await;
        (0..1000).for_each(|_| collected.add(key("a")));
        collected.due().await;
        assert!(started.elapsed() <= COLLECT + Duration::from_millis(1), "later ones do not put it off");
        collected.tell();
        assert_eq!(told.try_recv().ok(), Some(key("a")));
        assert!(told.try_recv().is_err(), "once");

        // What comes then is told the next time.
        let nothing = tokio::time::timeout(COLLECT * 10, collected.due()).await;
        assert!(nothing.is_err(), "nothing is due");
        collected.add(key("b"));
        collected.due().await;
        collected.tell();
        assert_eq!(told.try_recv().ok(), Some(key("b")));
    }
}

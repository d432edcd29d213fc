//! Tells people what a machine was seen to do while it boots: "why does it not boot" has an answer in `kubectl describe`.
//!
//! Each thing is told once for each time that a machine is turned on for its claim. What can't be told is lost: nothing
//! depends on it.

use std::sync::Arc;

use beskar7_api::PhysicalHost;
use beskar7_core::{
    delivery,
    events::{Event, Severity},
};
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;

use super::remembered::Remembered;
use crate::{
    tell::Recorder,
    watch::{Key, key},
};

/// So many are written at once.
const AT_ONCE: usize = 8;
/// So many wait to be written; of more, nobody is told.
const MOST_WAITING: usize = 4096;
/// So many are remembered as told: of more, each may be told once more.
const MOST_REMEMBERED: usize = 65_536;

/// What was told of a machine.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Told {
    host: Key,
    claim: String,
    /// When the machine was turned on for it.
    armed: i64,
    reason: &'static str,
    note: String,
}

/// Tells what is seen; cheap to clone.
#[derive(Clone)]
pub(super) struct Witness {
    recorder: Recorder,
    told: Arc<Remembered<Told>>,
    turns: Arc<Semaphore>,
    tasks: TaskTracker,
}

impl Witness {
    pub(super) fn new(recorder: Recorder) -> Self {
        let (told, tasks) = (Arc::new(Remembered::new(MOST_REMEMBERED)), TaskTracker::new());
        Self { recorder, told, turns: Arc::new(Semaphore::new(AT_ONCE)), tasks }
    }

    /// Something was seen of the machine of a host. Nothing is told of one that does not boot.
    pub(super) fn saw(&self, host: &Arc<PhysicalHost>, claim: &str, reason: &'static str, note: String) {
        let Some(since) = delivery::turned_on(host, claim) else { return };
        let armed = since.as_second();
        let told =
            Told { host: key(host.as_ref()), claim: claim.to_owned(), armed, reason, note: note.clone() };
        if self.tasks.len() >= MOST_WAITING || !self.told.add(&told) {
            return;
        }
        let (witness, host) = (self.clone(), host.clone());
        self.tasks.spawn(async move {
            let Ok(_turn) = witness.turns.acquire().await else { return };
            let event = Event { severity: Severity::Normal, reason: reason.to_owned(), note, action: "Boot" };
            witness.recorder.tell(host.as_ref(), &[event]).await;
        });
    }
}

#[cfg(test)]
#[path = "witness_tests.rs"]
mod tests;

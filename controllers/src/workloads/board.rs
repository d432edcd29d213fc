//! What stands on the board of one workload cluster: what was seen of it, who waits for a change, and when it is asked
//! next. Time is a parameter; nothing here asks anybody.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use backon::ExponentialBackoff;
use beskar7_core::machine::node_link::{Node, Trouble};
use kube::Client;
use tokio::time::Instant;

use super::{Known, Pace};
use crate::{retry::pauses_between, watch::Key};

/// A client, and the version of the Secret that it was made from.
#[derive(Clone)]
pub(super) struct Contact {
    pub(super) version: String,
    pub(super) client: Client,
}

/// What is known of one workload cluster.
pub(super) struct Board {
    /// How often it is asked.
    limits: Pace,
    nodes: Option<Result<Arc<Vec<Node>>, Trouble>>,
    generation: u64,
    asked: Option<Instant>,
    /// Until it is asked again.
    pause: Duration,
    pace: Option<ExponentialBackoff>,
    /// Whether a task asks.
    attended: bool,
    waiting: HashMap<Key, Waiter>,
    contact: Option<Contact>,
    /// For whom something is being written.
    writing: HashSet<Key>,
    failed: HashMap<Key, Failed>,
}

struct Waiter {
    /// What it has seen.
    generation: u64,
    /// Whether it waits on when nothing has changed.
    stays: bool,
}

struct Failed {
    why: String,
    until: Instant,
}

impl Board {
    /// Nothing is known.
    pub(super) fn new(limits: Pace) -> Self {
        Self {
            limits,
            nodes: None,
            generation: 0,
            asked: None,
            pause: Duration::ZERO,
            pace: None,
            attended: false,
            waiting: HashMap::new(),
            contact: None,
            writing: HashSet::new(),
            failed: HashMap::new(),
        }
    }

    pub(super) fn known(&self) -> Known {
        Known { nodes: self.nodes.clone(), generation: self.generation }
    }

    /// A machine waits for a change; whether it did not before.
    pub(super) fn waits(&mut self, machine: &Key, seen: u64) -> bool {
        let waiter = Waiter { generation: seen, stays: true };
        let before = self.waiting.insert(machine.clone(), waiter);
        let is_new = !before.is_some_and(|before| before.stays);
        if is_new {
            self.hurry();
        }
        is_new
    }

    /// A machine waits no more; whether the cluster is to be asked again because the last answer is old.
    pub(super) fn settles(&mut self, machine: &Key, seen: u64, old: Duration, now: Instant) -> bool {
        let is_old = self.asked.is_none_or(|asked| now.saturating_duration_since(asked) > old);
        if is_old {
            self.waiting.insert(machine.clone(), Waiter { generation: seen, stays: false });
            self.hurry();
        } else {
            self.waiting.remove(machine);
        }
        is_old
    }

    /// The next question is asked as soon as one may be.
    fn hurry(&mut self) {
        self.pace = None;
        self.pause = self.limits.shortest;
    }

    /// Whether a task has to be started that asks.
    pub(super) fn begins(&mut self) -> bool {
        !std::mem::replace(&mut self.attended, true)
    }

    /// When the next question is due; nothing when nobody waits: then the task that asks ends.
    pub(super) fn due(&mut self, now: Instant) -> Option<Instant> {
        if self.waiting.is_empty() {
            self.attended = false;
            return None;
        }
        Some(self.asked.map_or(now, |asked| asked + self.pause))
    }

    /// The answer to a question: who is to look again.
    pub(super) fn answered(&mut self, nodes: Result<Vec<Node>, Trouble>, now: Instant) -> Vec<Key> {
        let nodes = nodes.map(Arc::new);
        self.asked = Some(now);
        if self.nodes.as_ref() != Some(&nodes) {
            self.nodes = Some(nodes);
            self.generation += 1;
            self.pace = None;
        }
        let Pace { shortest, longest, .. } = self.limits;
        let pace = self.pace.get_or_insert_with(|| pauses_between(shortest, longest));
        self.pause = pace.next().unwrap_or(longest);
        let generation = self.generation;
        let behind =
            |(machine, waiter): (&Key, &Waiter)| (waiter.generation != generation).then(|| machine.clone());
        let woken: Vec<Key> = self.waiting.iter().filter_map(behind).collect();
        self.waiting.retain(|_, waiter| waiter.stays);
        self.waiting.values_mut().for_each(|waiter| waiter.generation = generation);
        woken
    }

    /// A Node was written or read by itself; nothing: it is gone.
    pub(super) fn replace(&mut self, name: &str, with: Option<Node>) {
        let Some(Ok(nodes)) = &self.nodes else { return };
        let mut changed: Vec<Node> = nodes.iter().filter(|node| node.name != name).cloned().collect();
        changed.extend(with);
        self.nodes = Some(Ok(Arc::new(changed)));
        self.generation += 1;
    }

    pub(super) fn contact(&self) -> Option<Contact> {
        self.contact.clone()
    }

    pub(super) fn set_contact(&mut self, contact: Option<Contact>) {
        self.contact = contact;
    }

    /// Whether something may be written for a machine now: nothing else is, and the last failure is long enough ago.
    pub(super) fn begins_to_write(&mut self, machine: &Key, now: Instant) -> bool {
        let may = self.failure(machine, now).is_none_or(|(_, left)| left.is_zero());
        may && self.writing.insert(machine.clone())
    }

    /// It was written, or was not for this reason, which keeps it from being tried again for a while.
    pub(super) fn has_written(&mut self, machine: &Key, failed: Option<(String, Duration)>, now: Instant) {
        self.writing.remove(machine);
        match failed {
            Some((why, pause)) => {
                self.failed.insert(machine.clone(), Failed { why, until: now + pause });
            }
            None => {
                self.failed.remove(machine);
            }
        }
    }

    /// Why the last write failed, and how long it is not tried again.
    pub(super) fn failure(&self, machine: &Key, now: Instant) -> Option<(String, Duration)> {
        let failed = self.failed.get(machine)?;
        Some((failed.why.clone(), failed.until.saturating_duration_since(now)))
    }

    pub(super) fn forget(&mut self, machine: &Key) {
        self.waiting.remove(machine);
        self.failed.remove(machine);
    }
}

#[cfg(test)]
#[path = "board_tests.rs"]
mod tests;

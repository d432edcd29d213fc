//! The tasks of a BMC: what was answered with 202.

use std::time::Duration;

use crate::clock::Moment;

/// How many finished tasks are remembered.
const KEPT: usize = 32;

/// One task.
#[derive(Debug, Clone)]
pub struct Task {
    /// Its id.
    pub id: String,
    /// What it does.
    pub name: &'static str,
    /// When it began.
    pub started: Moment,
    /// From when it can be read.
    pub visible: Moment,
    /// When it is done.
    pub done: Moment,
}

/// All tasks of a BMC, oldest first.
#[derive(Debug, Default)]
pub struct Tasks {
    all: Vec<Task>,
    begun: u64,
}

impl Tasks {
    /// Begins one.
    pub fn begin(&mut self, now: Moment, name: &'static str, hidden: Duration, takes: Duration) -> Task {
        self.begun += 1;
        let task = Task {
            id: self.begun.to_string(),
            name,
            started: now,
            visible: now.saturating_add(hidden),
            done: now.saturating_add(takes),
        };
        if self.all.len() >= KEPT {
            self.all.remove(0);
        }
        self.all.push(task.clone());
        task
    }

    /// The tasks that can be read.
    pub fn visible(&self, now: Moment) -> impl Iterator<Item = &Task> {
        self.all.iter().filter(move |task| now >= task.visible)
    }
}

//! A disk that is being wiped, and who is told of it.

use beskar7_agent_protocol::{hardware::Disk, report::Progress};

use super::{
    device::{Device, Devices},
    spans::Span,
};
use crate::telling::{Problem, Telling};

/// A disk that is being wiped.
#[derive(Clone, Copy)]
pub struct Work<'a> {
    pub disk: &'a Disk,
    pub device: &'a dyn Device,
    pub devices: &'a dyn Devices,
    pub telling: &'a dyn Telling,
}

impl Work<'_> {
    /// All of the disk.
    pub fn whole(&self) -> Span {
        Span::new(0, self.disk.size_bytes)
    }

    /// One line for people.
    pub fn log(&self, line: &str) {
        self.telling.log(&format!("{} {line}", self.disk.path));
    }

    /// How far a step is.
    pub fn progress(&self, step: &'static str, done: Option<u64>) {
        self.telling.progress(Progress {
            step: step.to_owned(),
            disk: Some(self.disk.path.clone()),
            done,
            total: done.map(|_| self.disk.size_bytes),
        });
    }

    /// Why it can not go on.
    pub fn problem(&self, step: &'static str, message: impl Into<String>) -> Problem {
        Problem::with_disk(step, &self.disk.path, message)
    }

    /// Between two blocks.
    ///
    /// # Errors
    /// Nobody wants the disk wiped any more.
    pub fn go_on(&self, step: &'static str) -> Result<(), Problem> {
        if self.telling.is_unwanted() {
            return Err(self.problem(step, "the order is not wanted any more: the disk is left half wiped"));
        }
        Ok(())
    }
}

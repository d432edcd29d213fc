//! What is said of work while it goes on, and why it ends badly.

use beskar7_agent_protocol::report::{Failure, Progress};

/// Who is told how far work is. Telling costs little: it may be done for every block.
pub trait Telling: Send + Sync {
    /// How far it is.
    fn progress(&self, progress: Progress);
    /// One line for people.
    fn log(&self, line: &str);
    /// Whether nobody wants the work done any more: it is left as it is, between two blocks.
    fn is_unwanted(&self) -> bool;
}

/// Why an order was not carried out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{step}{}: {message}", disk.as_ref().map(|disk| format!(" {disk}")).unwrap_or_default())]
pub struct Problem {
    /// In which step: "writing".
    pub step: &'static str,
    /// With which disk, if with one: `/dev/sda`.
    pub disk: Option<String>,
    /// What happened, and what to do.
    pub message: String,
    /// Whether it may be gone when the same is tried again later, without anybody's doing.
    pub passes: bool,
}

impl Problem {
    /// One that concerns no disk.
    #[must_use]
    pub fn new(step: &'static str, message: impl Into<String>) -> Self {
        Self { step, disk: None, message: message.into(), passes: false }
    }

    /// One with a disk.
    #[must_use]
    pub fn with_disk(step: &'static str, disk: &str, message: impl Into<String>) -> Self {
        Self { step, disk: Some(disk.to_owned()), message: message.into(), passes: false }
    }

    /// The same, and whether it may be gone later.
    #[must_use]
    pub fn that_passes(self, passes: bool) -> Self {
        Self { passes, ..self }
    }
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        Self { step: problem.step.to_owned(), disk: problem.disk, message: problem.message }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_says_in_which_step_with_which_disk_and_why() {
        let problem = Problem::with_disk("writing", "/dev/sda", "it is full");
        assert_eq!(problem.to_string(), "writing /dev/sda: it is full");
        assert_eq!(Problem::new("fetching", "gone").to_string(), "fetching: gone");
        assert_eq!(Failure::from(problem).disk.as_deref(), Some("/dev/sda"));
    }
}

//! Follows a task that a BMC has started to its end.

use std::time::Duration;

use reqwest::StatusCode;

use crate::bmc::Bmc;
use crate::error::Error;
use crate::message::Messages;
use crate::patience::Deadline;
use crate::resource::Resource;
use crate::shown::shown;
use crate::transport::Answer;

/// Between two looks at a task.
const LOOK: Duration = Duration::from_secs(1);
/// A job may be unknown for a moment after it was named (Dell).
const UNKNOWN: Duration = Duration::from_secs(10);

/// What a task has come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Running,
    Done,
    Failed,
}

impl Bmc {
    /// Waits until what was accepted is done. An answer other than 202 is done already; a 202 that names no task
    /// (Supermicro) has to be believed: whoever asked looks at the result anyway.
    pub(crate) async fn finished(
        &self,
        what: &str,
        answer: &Answer,
        deadline: Deadline,
    ) -> Result<(), Error> {
        if answer.status != StatusCode::ACCEPTED {
            return Ok(());
        }
        let Some(path) = answer.location() else { return Ok(()) };
        let unknown = Deadline::after(UNKNOWN);
        loop {
            match self.patiently(deadline, || self.get(&path)).await {
                Ok(task) => match state(&task) {
                    State::Done => return Ok(()),
                    State::Failed => return Err(self.task_failed(what, &task)),
                    State::Running => {}
                },
                Err(Error::Said { status: 404, .. }) if !unknown.left().is_zero() => {}
                // A task monitor is gone when the task is.
                Err(Error::Said { status: 404, .. }) => return Ok(()),
                // A monitor of a finished task may answer with nothing at all.
                Err(Error::Malformed { .. }) => return Ok(()),
                Err(error) => return Err(error),
            }
            if LOOK >= deadline.left() {
                return Err(self.not_seen(format!("the end of the {what}"), deadline));
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    fn task_failed(&self, what: &str, task: &Resource) -> Error {
        let told =
            task.at("Messages").map(|messages| serde_json::json!({ "@Message.ExtendedInfo": messages }));
        let body = told.map(|told| told.to_string()).unwrap_or_default();
        Error::Said {
            address: self.address().to_string(),
            status: StatusCode::ACCEPTED.as_u16(),
            what: shown(what),
            messages: Messages::of(body.as_bytes()),
        }
    }
}

fn state(task: &Resource) -> State {
    match task.text("TaskState").or_else(|| task.text("JobState")) {
        Some("Completed" | "CompletedOK") => match task.text("TaskStatus") {
            Some("Critical") => State::Failed,
            Some(_) | None => State::Done,
        },
        Some("Exception" | "Killed" | "Cancelled" | "CompletedWithErrors" | "Failed") => State::Failed,
        Some(_) => State::Running,
        // What a monitor gives at the end is the result, which is no task.
        None => State::Done,
    }
}

#[cfg(feature = "fuzzing")]
impl Bmc {
    /// Reads a resource as a task, whatever it is, and says what would be said if it had failed.
    pub(crate) fn read_as_task(&self, resource: &Resource) -> Error {
        std::hint::black_box(state(resource));
        self.task_failed("change", resource)
    }
}

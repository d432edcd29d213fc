//! How a look at a Beskar7Machine can fail.

use std::time::Duration;

use crate::{claim::ClaimError, controller::Failure};

/// Why it has to be tried again.
#[derive(Debug, thiserror::Error)]
pub enum ReconcileError {
    /// A step of its claim failed.
    #[error(transparent)]
    Claim(#[from] ClaimError),
    /// The machine could not be written.
    #[error("the machine can't be written")]
    Write(#[source] Box<kube::Error>),
    /// What is to be written could not be made into a patch.
    #[error("the machine can't be written as JSON")]
    Json(#[source] serde_json::Error),
    /// It hung.
    #[error("not done within {0:?}")]
    TimedOut(Duration),
}

impl Failure for ReconcileError {
    fn category(&self) -> &'static str {
        match self {
            Self::Claim(error) => error.category(),
            Self::Write(_) => "write",
            Self::Json(_) => "json",
            Self::TimedOut(_) => "timeout",
        }
    }

    fn timed_out(limit: Duration) -> Self {
        Self::TimedOut(limit)
    }
}

pub(super) fn write(error: kube::Error) -> ReconcileError {
    ReconcileError::Write(Box::new(error))
}

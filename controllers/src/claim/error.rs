//! How a look at a consumer can fail.

use std::time::Duration;

use crate::{chance::NoChance, controller::Failure, status::StatusError};

/// Why it has to be tried again.
#[derive(Debug, thiserror::Error)]
pub enum ClaimError {
    /// The consumer or a host could not be read.
    #[error("the object or its host can't be read")]
    Read(#[source] Box<kube::Error>),
    /// The consumer or a host could not be written.
    #[error("the object or its host can't be written")]
    Write(#[source] Box<kube::Error>),
    /// What is to be written could not be made into a patch.
    #[error("the object can't be written as JSON")]
    Json(#[source] serde_json::Error),
    /// No claim ID could be drawn.
    #[error(transparent)]
    Chance(#[from] NoChance),
    /// It hung.
    #[error("not done within {0:?}")]
    TimedOut(Duration),
}

impl Failure for ClaimError {
    fn category(&self) -> &'static str {
        match self {
            Self::Read(_) => "read",
            Self::Write(_) => "write",
            Self::Json(_) => "json",
            Self::Chance(_) => "chance",
            Self::TimedOut(_) => "timeout",
        }
    }

    fn timed_out(limit: Duration) -> Self {
        Self::TimedOut(limit)
    }
}

impl From<StatusError> for ClaimError {
    fn from(error: StatusError) -> Self {
        match error {
            StatusError::Write(error) => Self::Write(error),
            StatusError::Json(error) => Self::Json(error),
        }
    }
}

pub(super) fn read(error: kube::Error) -> ClaimError {
    ClaimError::Read(Box::new(error))
}

pub(crate) fn write(error: kube::Error) -> ClaimError {
    ClaimError::Write(Box::new(error))
}

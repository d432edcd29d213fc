//! How a look at a HostClaim can fail.

use std::time::Duration;

use crate::{claim::ClaimError, controller::Failure};

/// Why it has to be tried again.
#[derive(Debug, thiserror::Error)]
pub enum ReconcileError {
    /// A step of the claim failed.
    #[error(transparent)]
    Claim(#[from] ClaimError),
    /// Its status could not be written.
    #[error("the claim's status can't be written")]
    Status(#[source] Box<kube::Error>),
    /// What is to be written could not be made into a patch.
    #[error("the claim can't be written as JSON")]
    Json(#[source] serde_json::Error),
    /// It hung.
    #[error("not done within {0:?}")]
    TimedOut(Duration),
}

impl Failure for ReconcileError {
    fn category(&self) -> &'static str {
        match self {
            Self::Claim(error) => error.category(),
            Self::Status(_) => "status",
            Self::Json(_) => "json",
            Self::TimedOut(_) => "timeout",
        }
    }

    fn timed_out(limit: Duration) -> Self {
        Self::TimedOut(limit)
    }
}

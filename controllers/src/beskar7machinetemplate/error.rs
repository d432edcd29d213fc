//! How a reconcile of a Beskar7MachineTemplate can fail.

use std::time::Duration;

use crate::controller::Failure;

/// Why a reconcile has to be tried again.
#[derive(Debug, thiserror::Error)]
pub enum ReconcileError {
    /// The status could not be written.
    #[error("the status can't be written")]
    Status(#[source] Box<kube::Error>),
    /// The status could not be made into a patch.
    #[error("the status can't be written as JSON")]
    Json(#[source] serde_json::Error),
    /// It hung.
    #[error("not done within {0:?}")]
    TimedOut(Duration),
}

impl Failure for ReconcileError {
    fn category(&self) -> &'static str {
        match self {
            Self::Status(_) => "status",
            Self::Json(_) => "json",
            Self::TimedOut(_) => "timeout",
        }
    }

    fn timed_out(limit: Duration) -> Self {
        Self::TimedOut(limit)
    }
}

//! How a reconcile of a Beskar7Cluster can fail.

use std::time::Duration;

use crate::{controller::Failure, status::StatusError};

/// Why a reconcile has to be tried again.
#[derive(Debug, thiserror::Error)]
pub enum ReconcileError {
    /// What makes the control-plane machines could not be read; the cluster's condition says why.
    #[error("the control plane can't be read; the cluster's condition says why")]
    ControlPlane,
    /// The hosts that are kept for a cluster could not be read.
    #[error("the hosts that are kept for the cluster can't be read")]
    Hosts(#[source] Box<kube::Error>),
    /// The cluster or a host could not be written.
    #[error("the {0} can't be written")]
    Write(&'static str, #[source] Box<kube::Error>),
    /// The status could not be written.
    #[error(transparent)]
    Status(#[from] StatusError),
    /// It hung.
    #[error("not done within {0:?}")]
    TimedOut(Duration),
}

impl Failure for ReconcileError {
    fn category(&self) -> &'static str {
        match self {
            Self::ControlPlane => "control_plane",
            Self::Hosts(_) => "hosts",
            Self::Write(_, _) => "write",
            Self::Status(error) => error.category(),
            Self::TimedOut(_) => "timeout",
        }
    }

    fn timed_out(limit: Duration) -> Self {
        Self::TimedOut(limit)
    }
}

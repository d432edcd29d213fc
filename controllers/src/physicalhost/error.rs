//! How a reconcile of a PhysicalHost can fail.

use std::time::Duration;

use crate::{chance::NoChance, controller::Failure, status::StatusError};

/// Why a reconcile has to be tried again.
#[derive(Debug, thiserror::Error)]
pub enum ReconcileError {
    /// A Secret that the host names could not be read; its condition says which.
    #[error("a Secret of the host can't be read")]
    Secret,
    /// The BMC did not answer or did not do as it was told; the host's conditions say what.
    #[error("the BMC does not do as it should; the host's conditions say what")]
    Bmc,
    /// What the host boots from the network is not ready; its conditions say why.
    #[error("what the host boots from the network is not ready; its conditions say why")]
    BootResources,
    /// The host could not be written.
    #[error("the host can't be written")]
    Write(#[source] Box<kube::Error>),
    /// What the agent saw of its machine could not be read.
    #[error("the HardwareData of the host can't be read")]
    Inspection(#[source] Box<kube::Error>),
    /// There are no random numbers.
    #[error(transparent)]
    Chance(#[from] NoChance),
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
            Self::Secret => "secret",
            Self::Bmc => "bmc",
            Self::BootResources => "boot-resources",
            Self::Write(_) => "write",
            Self::Inspection(_) => "read",
            Self::Chance(_) => "chance",
            Self::Status(error) => error.category(),
            Self::TimedOut(_) => "timeout",
        }
    }

    fn timed_out(limit: Duration) -> Self {
        Self::TimedOut(limit)
    }
}

//! How a step of a claim can fail.

use crate::chance::NoChance;

/// Why it has to be tried again.
#[derive(Debug, thiserror::Error)]
pub enum ClaimError {
    /// The consumer or a host could not be read.
    #[error("the object or its host can't be read")]
    Read(#[source] Box<kube::Error>),
    /// The consumer or a host could not be written.
    #[error("the object or its host can't be written")]
    Write(#[source] Box<kube::Error>),
    /// No claim ID could be drawn.
    #[error(transparent)]
    Chance(#[from] NoChance),
}

impl ClaimError {
    /// In one word, for metrics.
    pub(crate) fn category(&self) -> &'static str {
        match self {
            Self::Read(_) => "read",
            Self::Write(_) => "write",
            Self::Chance(_) => "chance",
        }
    }
}

pub(super) fn read(error: kube::Error) -> ClaimError {
    ClaimError::Read(Box::new(error))
}

pub(super) fn write(error: kube::Error) -> ClaimError {
    ClaimError::Write(Box::new(error))
}

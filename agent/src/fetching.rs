//! Reading what the boot server has. What carries an order out knows only this, and not how it is done.

use std::io::{self, Read};

/// Something that is fetched.
pub struct Fetched {
    /// Its bytes, from where it was asked on.
    pub body: Box<dyn Read + Send>,
    /// How long the whole of it is, where the server says so.
    pub total: Option<u64>,
}

/// Why something can't be fetched.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    /// The server could not be reached, or broke off. It was tried again for as long as that may help.
    #[error("{0}")]
    Unreachable(String),
    /// The server does not let this machine have it.
    #[error("{0}")]
    Refused(String),
    /// The server knows nothing of it, or not for this machine.
    #[error("{0}")]
    NotThere(String),
    /// It is not what it was before: nothing that was read of it fits what comes now.
    #[error("{0}")]
    Changed(String),
}

impl FetchError {
    /// Whether the same may be had later, without anybody's doing.
    #[must_use]
    pub const fn passes(&self) -> bool {
        match self {
            Self::Unreachable(_) => true,
            Self::Refused(_) | Self::NotThere(_) | Self::Changed(_) => false,
        }
    }

    /// Why something broke off that was being fetched. None where reading failed for a reason of its own.
    #[must_use]
    pub fn behind(error: &io::Error) -> Option<&Self> {
        error.get_ref()?.downcast_ref()
    }
}

/// Whether what broke off may be had later.
#[must_use]
pub fn passes(error: &io::Error) -> bool {
    FetchError::behind(error).is_some_and(FetchError::passes)
}

/// Where things are fetched.
pub trait Fetch: Send + Sync {
    /// Opens what is at a path below the machine's URL (or behind a whole URL), from this byte on. Its body goes on by
    /// itself where the server breaks off in the middle, from the byte where it did, and ends in an error only when that
    /// failed for long, or it is not the same content any more.
    ///
    /// # Errors
    /// It can't be had.
    fn open(&self, path: &str, from: u64) -> Result<Fetched, FetchError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_server_that_is_away_comes_back_by_itself() {
        let text = || "why".to_owned();
        for (error, expected) in [
            (FetchError::Unreachable(text()), true),
            (FetchError::Refused(text()), false),
            (FetchError::NotThere(text()), false),
            (FetchError::Changed(text()), false),
        ] {
            assert_eq!(error.passes(), expected, "{error:?}");
            assert_eq!(passes(&io::Error::other(error.clone())), expected, "{error:?}");
        }
        assert!(!passes(&io::Error::other("damaged")) && !passes(&io::ErrorKind::UnexpectedEof.into()));
    }
}

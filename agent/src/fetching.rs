//! Reading what the boot server has. What carries an order out knows only this, and not how it is done.

use std::io::Read;

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

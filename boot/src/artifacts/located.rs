//! Where an artifact is, so that it can be found again: by a server on another replica, from what is written down.

use std::fmt;

use url::Url;

use super::digest::Digest;
use super::error::ArtifactError;
use super::reference::{Reference, Repository};
use crate::upstream::shown;

/// Where an artifact is.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Located {
    /// Behind a URL, as somebody wrote it: with credentials and a digest, if there are any.
    Url(String),
    /// Among the blobs of a repository in a registry.
    Blob(Blob),
}

/// A part of an image in a registry.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Blob {
    pub(crate) repository: Repository,
    pub(crate) digest: Digest,
    pub(crate) size: u64,
}

impl Located {
    /// A part of an image, by the image's reference and what its manifest says about the part.
    ///
    /// # Errors
    /// One of the texts can't be read.
    pub fn blob(reference: &str, digest: &str, size: u64) -> Result<Self, ArtifactError> {
        let reference: Reference = reference.parse().map_err(ArtifactError::Reference)?;
        let digest = Digest::of_content(digest)
            .map_err(|why| ArtifactError::Digest { what: reference.to_string(), why })?;
        Ok(Self::Blob(Blob { repository: reference.repository().clone(), digest, size }))
    }
}

/// As people are told: without what is secret.
impl fmt::Display for Located {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url(url) => match Url::parse(url) {
                Ok(url) => f.write_str(&shown(&url)),
                Err(_) => f.write_str("what is no URL"),
            },
            Self::Blob(blob) => blob.fmt(f),
        }
    }
}

impl fmt::Display for Blob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.repository, self.digest)
    }
}

impl fmt::Debug for Located {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Located({self})")
    }
}

impl fmt::Debug for Blob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Blob({self}, {} bytes)", self.size)
    }
}

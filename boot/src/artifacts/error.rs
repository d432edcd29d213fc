//! Why an artifact can't be had. No text holds credentials: URLs are shown without user, password and query.

use super::architecture::Architecture;
use super::checksums::ChecksumError;
use super::digest::{Digest, DigestError};
use super::reference::ReferenceError;
use crate::source::SourceError;
use crate::upstream::{UpstreamError, Why};

/// Why an artifact can't be had, or is not what it should be.
#[derive(Debug, thiserror::Error)]
pub enum ArtifactError {
    /// It can't be had from where it is.
    #[error(transparent)]
    Upstream(#[from] UpstreamError),
    /// It can't be read to its end.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// A digest that somebody wrote.
    #[error("the digest of {what} can't be read: {why}")]
    Digest {
        /// Whose.
        what: String,
        /// Why.
        why: DigestError,
    },
    /// A file with checksums that does not list the one that is wanted.
    #[error("the checksum file {what} can't be used: {why}")]
    Checksum {
        /// The file.
        what: String,
        /// Why.
        why: ChecksumError,
    },
    /// A reference that somebody wrote. It is left out: it may hold a password.
    #[error("the image reference can't be read: {0}")]
    Reference(ReferenceError),
    /// A registry does not give an image.
    #[error("{image} can't be had from its registry: {why}")]
    Registry {
        /// The image.
        image: String,
        /// Why.
        why: Why,
    },
    /// A registry wants to know who asks.
    #[error(
        "{image} can't be had from its registry without credentials. Let everybody read it there, or put a copy \
         where everybody may; many registries say the same of an image that they don't have"
    )]
    Private {
        /// The image.
        image: String,
    },
    /// What a registry gives makes no sense.
    #[error("{image} can't be used: {why}")]
    Manifest {
        /// The image.
        image: String,
        /// Why.
        why: String,
    },
    /// There is no such image for the machine.
    #[error(
        "{image} has nothing for linux/{architecture}, only for {there}. Push it for that architecture as well"
    )]
    Architecture {
        /// The image.
        image: String,
        /// What was looked for.
        architecture: Architecture,
        /// What there is.
        there: String,
    },
    /// An image that holds nothing that boots.
    #[error(
        "{image} holds no kernel, initramfs, squashfs or EFI program that could be recognised by media type or file \
         name, but {there}. An image that containers run from is none that machines boot from"
    )]
    NothingToBoot {
        /// The image.
        image: String,
        /// What there is.
        there: String,
    },
    /// Its content is not the one that was meant.
    #[error(
        "{what} has the digest {found}, and should have {expected}: it was replaced, damaged, or the digest is wrong"
    )]
    Mismatch {
        /// The artifact.
        what: String,
        /// What was given for it.
        expected: Digest,
        /// What it has.
        found: Digest,
    },
    /// Another content is there than the one that was asked for.
    #[error("{what} is {now} now, and {pin} was asked for: it has been replaced since")]
    Replaced {
        /// The artifact.
        what: String,
        /// What was asked for.
        pin: String,
        /// What is there.
        now: String,
    },
}

impl ArtifactError {
    /// Whether it may work when it is tried again.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Upstream(error) => error.is_passing(),
            Self::Registry { why, .. } => why.is_passing(),
            // What changed in the middle may be read from its beginning.
            Self::Source(SourceError::Changed(_) | SourceError::Unreadable { .. }) => true,
            Self::Source(SourceError::OutOfRange { .. })
            | Self::Digest { .. }
            | Self::Checksum { .. }
            | Self::Reference(_)
            | Self::Private { .. }
            | Self::Manifest { .. }
            | Self::Architecture { .. }
            | Self::NothingToBoot { .. }
            | Self::Mismatch { .. }
            | Self::Replaced { .. } => false,
        }
    }
}

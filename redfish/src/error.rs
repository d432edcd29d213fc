//! How dealings with a BMC end when they do not end well: what happened, at which BMC, what a person does next.
//!
//! No text here holds a password or a session token, and none holds what a BMC said beyond its own messages.

use std::time::Duration;

use crate::message::Messages;
use crate::trust::{TrustError, Untrusted};

/// What went wrong.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nobody is there, or the way is cut.
    #[error(
        "the BMC at {address} can't be reached: check its address, that it has power and network, and firewalls between"
    )]
    Unreachable {
        /// Where it should be.
        address: String,
        /// What happened.
        #[source]
        source: Box<reqwest::Error>,
    },
    /// It did not answer in time.
    #[error("the BMC at {address} did not answer {what} within {limit:?}: if it stays so, reset the BMC")]
    NotAnswered {
        /// Where it is.
        address: String,
        /// What was asked.
        what: String,
        /// How long it had.
        limit: Duration,
    },
    /// It took an order, and what was ordered did not come about.
    #[error(
        "the BMC at {address} took the order, but {what} was not seen within {limit:?}: look at the machine's console \
         and the BMC's log"
    )]
    NotSeen {
        /// Where it is.
        address: String,
        /// What was waited for.
        what: String,
        /// How long.
        limit: Duration,
    },
    /// It was dead a moment ago, and is left alone for a while.
    #[error("the BMC at {address} did not answer {failures} times in a row; it is tried again in {left:?}")]
    Resting {
        /// Where it is.
        address: String,
        /// How often it did not answer.
        failures: u32,
        /// How long it is left alone.
        left: Duration,
    },
    /// Its certificate is not trusted.
    #[error(
        "the certificate of the BMC at {address} is not trusted: {certificate}. Put the certificate of its issuer \
         into a Secret under ca.crt and name it in caBundleSecretRef"
    )]
    Untrusted {
        /// Where it is.
        address: String,
        /// What was shown.
        certificate: Untrusted,
    },
    /// The trust setting can't be used.
    #[error(transparent)]
    Trust(#[from] TrustError),
    /// User name or password are wrong.
    #[error(
        "the BMC at {address} does not accept the user name and password: correct the credentials Secret"
    )]
    BadCredentials {
        /// Where it is.
        address: String,
    },
    /// The user may not do this.
    #[error(
        "the BMC at {address} does not allow its user to {what} ({messages}): give the user the role of an operator or \
         administrator"
    )]
    NotAllowed {
        /// Where it is.
        address: String,
        /// What was tried.
        what: String,
        /// What it said.
        messages: Messages,
    },
    /// It has no computer system.
    #[error("the BMC at {address} shows no computer system")]
    NoSystem {
        /// Where it is.
        address: String,
    },
    /// It has no such system.
    #[error("the BMC at {address} has no system {wanted}: set systemID to one of {}", present.join(", "))]
    NoSuchSystem {
        /// Where it is.
        address: String,
        /// Which one was asked for.
        wanted: String,
        /// Which ones there are.
        present: Vec<String>,
    },
    /// It has several, and none was named.
    #[error("the BMC at {address} has several systems: set systemID to one of {}", present.join(", "))]
    SeveralSystems {
        /// Where it is.
        address: String,
        /// Which ones there are.
        present: Vec<String>,
    },
    /// It can't do this.
    #[error("the BMC at {address} does not support {what}")]
    NotSupported {
        /// Where it is.
        address: String,
        /// What was wanted.
        what: String,
    },
    /// We may no longer change anything.
    #[error("{what} was not sent to the BMC at {address}: this process may no longer change machines")]
    Withdrawn {
        /// Where it is.
        address: String,
        /// What was not asked.
        what: String,
    },
    /// It can't do this now.
    #[error("the BMC at {address} is busy with something else: {messages}")]
    Busy {
        /// Where it is.
        address: String,
        /// What it said.
        messages: Messages,
        /// When to ask again, if it said so.
        after: Option<Duration>,
    },
    /// It refused an image that is served over https.
    #[error(
        "the BMC at {address} did not take the image ({reason}). BMCs often do not trust the certificate of an https \
         server: serve the image over http, or with a certificate whose issuer this BMC knows"
    )]
    ImageRefused {
        /// Where it is.
        address: String,
        /// How it refused.
        reason: Box<Error>,
    },
    /// It takes no image beside the one that the machine boots from.
    #[error(
        "the BMC at {address} takes no second image beside the one that the machine boots from ({reason}). Configure \
         this machine by provisioningMode RemoteConfig, which puts the address of the configuration into the image's \
         kernel parameters, or use a host whose BMC has two virtual drives"
    )]
    SecondImageRefused {
        /// Where it is.
        address: String,
        /// How it refused, or why there is no place.
        reason: Box<Error>,
    },
    /// It refused.
    #[error("the BMC at {address} answered {status} to {what}: {messages}")]
    Said {
        /// Where it is.
        address: String,
        /// The HTTP status.
        status: u16,
        /// What was asked.
        what: String,
        /// What it said.
        messages: Messages,
    },
    /// Its answer makes no sense.
    #[error("the BMC at {address} gave an answer to {what} that makes no sense: {problem}")]
    Malformed {
        /// Where it is.
        address: String,
        /// What was asked.
        what: String,
        /// What is wrong with it.
        problem: String,
    },
}

impl Error {
    /// The kind of failure, for metrics: few values, which stay.
    #[must_use]
    pub const fn category(&self) -> &'static str {
        match self {
            Self::Unreachable { .. } => "unreachable",
            Self::NotAnswered { .. } => "not-answered",
            Self::NotSeen { .. } => "not-seen",
            Self::Resting { .. } => "resting",
            Self::Untrusted { .. } => "untrusted",
            Self::Trust(_) => "trust",
            Self::BadCredentials { .. } => "bad-credentials",
            Self::NotAllowed { .. } => "not-allowed",
            Self::NoSystem { .. } => "no-system",
            Self::NoSuchSystem { .. } => "no-such-system",
            Self::SeveralSystems { .. } => "several-systems",
            Self::NotSupported { .. } => "not-supported",
            Self::Withdrawn { .. } => "withdrawn",
            Self::Busy { .. } => "busy",
            Self::ImageRefused { .. } => "image-refused",
            Self::SecondImageRefused { .. } => "second-image-refused",
            Self::Said { .. } => "refused",
            Self::Malformed { .. } => "malformed",
        }
    }
    /// Whether it is about what was asked for, so that other requests may still work.
    pub(crate) const fn is_about_one_resource(&self) -> bool {
        match self {
            Self::Said { .. }
            | Self::Malformed { .. }
            | Self::NotAllowed { .. }
            | Self::NotSupported { .. }
            | Self::NotSeen { .. }
            | Self::ImageRefused { .. }
            | Self::SecondImageRefused { .. } => true,
            Self::Unreachable { .. }
            | Self::NotAnswered { .. }
            | Self::Resting { .. }
            | Self::Untrusted { .. }
            | Self::Trust(_)
            | Self::BadCredentials { .. }
            | Self::NoSystem { .. }
            | Self::NoSuchSystem { .. }
            | Self::SeveralSystems { .. }
            | Self::Withdrawn { .. }
            | Self::Busy { .. } => false,
        }
    }
}

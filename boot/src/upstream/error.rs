//! Why an image can't be had from where it is. No text holds credentials: URLs are shown without user, password and
//! query.

use std::error::Error;
use std::io;

use http::StatusCode;
use url::Url;

/// Why images can't be opened, or this one can't.
#[derive(Debug, thiserror::Error)]
pub enum UpstreamError {
    /// It is no URL. The text itself is left out: it may hold a password.
    #[error("the image's URL can't be read: {0}")]
    NotAUrl(url::ParseError),
    /// It can't be read.
    #[error("{what} can't be read: {why}")]
    Unreadable {
        /// The image.
        what: String,
        /// Why.
        why: Why,
    },
    /// The extra CA bundle can't be used.
    #[error("the CA bundle for images can't be used: {0}")]
    Bundle(String),
    /// TLS can't be set up.
    #[error("TLS can't be set up for images")]
    Tls(#[source] rustls::Error),
    /// HTTP can't be set up.
    #[error("HTTP can't be set up for images")]
    Client(#[source] reqwest::Error),
    /// The cache's directory can't be used.
    #[error("the image cache can't use {directory}")]
    Cache {
        /// The directory.
        directory: String,
        /// What the system said.
        #[source]
        error: io::Error,
    },
}

impl UpstreamError {
    /// Whether it may work when it is tried again.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Unreadable { why, .. } => why.is_passing(),
            Self::NotAUrl(_) | Self::Bundle(_) | Self::Tls(_) | Self::Client(_) | Self::Cache { .. } => false,
        }
    }
}

/// Why an image can't be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Why {
    /// Images come over HTTP only.
    #[error("{0} is not supported, serve the image over http or https")]
    Scheme(String),
    /// It is not where images may come from.
    #[error("{0}")]
    Refused(String),
    /// Redirects go round in circles, or nowhere.
    #[error("{0}")]
    Redirect(String),
    /// The server does not have it for us.
    #[error("the server answered {0}")]
    Status(StatusCode),
    /// The server can't be reached, did not answer or ended in the middle.
    #[error("{0}")]
    Unreachable(String),
    /// The answer makes no sense.
    #[error("{0}")]
    Answer(String),
    /// It can only be read as a whole, and there is no cache for it.
    #[error(
        "its server answers no ranges. Serve it by one that does, or turn the image cache on, which then fetches it \
         once as a whole"
    )]
    NoRanges,
    /// It can only be read as a whole, and the cache is too small for it.
    #[error(
        "its server answers no ranges, and its {size} bytes are more than the {limit} of the image cache. Serve it \
         by one that does, or give the cache more room"
    )]
    TooLarge {
        /// How large it is.
        size: u64,
        /// How large the cache may get.
        limit: u64,
    },
    /// Its server wants a token, and there is none.
    #[error("its registry asks for a token from {realm}, and there is none to be had: {why}")]
    Token {
        /// Where tokens come from.
        realm: String,
        /// Why there is none.
        why: Box<Why>,
    },
    /// Nothing tells it from what will be there tomorrow.
    #[error(
        "its server gives neither ETag nor Last-Modified, so that a change in mid-boot could not be seen; serve it by \
         one that gives either"
    )]
    NoValidator,
}

impl Why {
    /// Whether it may work when it is tried again.
    pub(crate) fn is_passing(&self) -> bool {
        match self {
            Self::Unreachable(_) => true,
            Self::Token { why, .. } => why.is_passing(),
            Self::Status(status) => status.is_server_error() || *status == StatusCode::TOO_MANY_REQUESTS,
            Self::Scheme(_)
            | Self::Refused(_)
            | Self::Redirect(_)
            | Self::Answer(_)
            | Self::NoRanges
            | Self::TooLarge { .. }
            | Self::NoValidator => false,
        }
    }
}

/// A URL without what is secret in it: user and password, and a query, which may be a signature.
pub(crate) fn shown(url: &Url) -> String {
    if !url.has_authority() {
        return format!("{}:...", url.scheme());
    }
    let mut url = url.clone();
    // Neither can fail for http and https, and other schemes are never asked for anything.
    url.set_username("").ok();
    url.set_password(None).ok();
    url.set_fragment(None);
    if url.query().is_some() {
        url.set_query(Some("..."));
    }
    url.into()
}

/// What an HTTP error says, with what caused it, and without the URL.
pub(crate) fn told(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut causes: Vec<String> = Vec::new();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let text = inner.to_string();
        // hyper repeats its source's text in some of its own.
        if !causes.iter().any(|said| said.contains(&text)) {
            causes.push(text);
        }
        cause = inner.source();
    }
    if causes.is_empty() { error.to_string() } else { causes.join(": ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_secret_in_a_url_is_not_shown() {
        for (url, expected) in [
            ("http://a.test/x.iso", "http://a.test/x.iso"),
            ("https://user:secret@a.test:8443/x.iso", "https://a.test:8443/x.iso"),
            ("https://secret@a.test/x.iso#secret", "https://a.test/x.iso"),
            ("me:secret@a.test/x.iso", "me:..."),
            ("https://a.test/x.iso?X-Amz-Signature=secret", "https://a.test/x.iso?..."),
        ] {
            assert_eq!(shown(&url.parse().unwrap()), expected);
        }
    }
}

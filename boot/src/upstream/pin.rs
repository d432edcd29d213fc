//! What tells an image from what may stand at its URL tomorrow.

use std::fmt;

use http::HeaderMap;
use http::header::{ETAG, HeaderName, IF_MATCH, IF_UNMODIFIED_SINCE, LAST_MODIFIED};
use ring::digest::{SHA256, digest};
use url::Url;

/// The identity of an image's content: a strong ETag and the size; without one, the time of the last change and the
/// size; without that, a weak ETag and the size, which is the best that there is then.
///
/// Its text is 16 hexadecimal digits that stand for the URL and all of this. They are the same on every replica that
/// was given the same URL and is answered the same.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Pin {
    validator: Validator,
    size: u64,
    digest: [u8; 8],
}

/// What a server says about which content it gives.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Validator {
    /// A strong ETag, quotes included.
    Strong(String),
    /// The value of Last-Modified.
    Modified(String),
    /// A weak ETag, prefix and quotes included.
    Weak(String),
    /// The digest that the URL asks for: whatever else the server says, it is no other content.
    Content(String),
}

impl Validator {
    /// The best of what an answer has.
    pub(crate) fn of(headers: &HeaderMap) -> Option<Self> {
        let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
        let etag = text(ETAG).map(str::trim).filter(|etag| !etag.is_empty());
        match (etag, text(LAST_MODIFIED)) {
            (Some(etag), _) if !is_weak(etag) => Some(Self::Strong(etag.to_owned())),
            (_, Some(modified)) => Some(Self::Modified(modified.trim().to_owned())),
            (Some(etag), None) => Some(Self::Weak(etag.to_owned())),
            (None, None) => None,
        }
    }

    /// The header by which a server itself refuses to give anything else.
    pub(crate) fn condition(&self) -> Option<(HeaderName, &str)> {
        match self {
            Self::Strong(etag) => Some((IF_MATCH, etag)),
            Self::Modified(modified) => Some((IF_UNMODIFIED_SINCE, modified)),
            // A weak one never matches as If-Match compares.
            Self::Weak(_) | Self::Content(_) => None,
        }
    }
}

fn is_weak(etag: &str) -> bool {
    etag.starts_with("W/") || etag.starts_with("w/")
}

impl Pin {
    /// What a URL was seen to give.
    pub(crate) fn new(url: &Url, validator: Validator, size: u64) -> Self {
        let (kind, value) = match &validator {
            Validator::Strong(value) => ("etag", value),
            Validator::Modified(value) => ("last-modified", value),
            Validator::Weak(value) => ("weak-etag", value),
            Validator::Content(value) => ("digest", value),
        };
        // Credentials have no part in it: they may be rotated, and the text is public. Nothing of this holds a line end.
        let mut public = url.clone();
        public.set_username("").ok();
        public.set_password(None).ok();
        public.set_fragment(None);
        let all = format!("{public}\n{kind}\n{value}\n{size}");
        let mut short = [0; 8];
        for (to, from) in short.iter_mut().zip(digest(&SHA256, all.as_bytes()).as_ref()) {
            *to = *from;
        }
        Self { validator, size, digest: short }
    }

    /// How many bytes there are.
    pub fn size(&self) -> u64 {
        self.size
    }

    pub(crate) fn validator(&self) -> &Validator {
        &self.validator
    }
}

impl fmt::Display for Pin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.digest.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Pin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pin({self}: {:?}, {} bytes)", self.validator, self.size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(HeaderName, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.clone(), value.parse().unwrap())).collect()
    }

    #[test]
    fn the_best_that_a_server_gives_is_taken() {
        let (date, strong, weak) = ("Mon, 02 Nov 2026 10:00:00 GMT", "\"abc\"", "W/\"abc\"");
        for (given, expected) in [
            (vec![(ETAG, strong), (LAST_MODIFIED, date)], Some(Validator::Strong(strong.to_owned()))),
            (vec![(ETAG, strong)], Some(Validator::Strong(strong.to_owned()))),
            (vec![(ETAG, weak), (LAST_MODIFIED, date)], Some(Validator::Modified(date.to_owned()))),
            (vec![(LAST_MODIFIED, date)], Some(Validator::Modified(date.to_owned()))),
            (vec![(ETAG, weak)], Some(Validator::Weak(weak.to_owned()))),
            (vec![(ETAG, "")], None),
            (vec![], None),
        ] {
            assert_eq!(Validator::of(&headers(&given)), expected, "{given:?}");
        }
    }

    #[test]
    fn a_pin_is_the_same_everywhere_and_another_for_every_difference() {
        let url = |text: &str| -> Url { text.parse().unwrap() };
        let strong = |value: &str| Validator::Strong(value.to_owned());
        let base = Pin::new(&url("https://a.test/x.iso"), strong("\"1\""), 7);
        // Written down: it must not change from one version to the next, or replicas of two versions would disagree.
        assert_eq!(base.to_string(), "49d56f872018d6f5");
        let content = Validator::Content("sha256:00".to_owned());
        assert_eq!(Pin::new(&url("https://a.test/x.iso"), content, 7).to_string(), "eaeb85ea8ace61c0");
        for same in ["https://a.test/x.iso", "https://me:secret@a.test/x.iso", "https://A.test:443/x.iso#y"] {
            assert_eq!(Pin::new(&url(same), strong("\"1\""), 7).to_string(), base.to_string(), "{same}");
        }
        let others = [
            Pin::new(&url("https://a.test/y.iso"), strong("\"1\""), 7),
            Pin::new(&url("http://a.test/x.iso"), strong("\"1\""), 7),
            Pin::new(&url("https://a.test/x.iso?a"), strong("\"1\""), 7),
            Pin::new(&url("https://a.test/x.iso"), strong("\"2\""), 7),
            Pin::new(&url("https://a.test/x.iso"), Validator::Modified("\"1\"".to_owned()), 7),
            Pin::new(&url("https://a.test/x.iso"), Validator::Weak("\"1\"".to_owned()), 7),
            Pin::new(&url("https://a.test/x.iso"), Validator::Content("\"1\"".to_owned()), 7),
            Pin::new(&url("https://a.test/x.iso"), strong("\"1\""), 8),
        ];
        for other in others {
            assert_ne!(other.to_string(), base.to_string(), "{other:?}");
        }
    }
}

//! What an answer means to somebody who wants bytes from a place on, of content that may have been read in part before.

use reqwest::StatusCode;
use reqwest::header::{CONTENT_LENGTH, CONTENT_RANGE, ETAG, HeaderMap, HeaderName, LAST_MODIFIED};

use super::trouble::Trouble;
use crate::fetching::FetchError;

/// What content is known by.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Identity {
    etag: Option<String>,
    modified: Option<String>,
    /// The length of all of it.
    pub total: Option<u64>,
}

/// An answer that fits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fitting {
    /// So many bytes of it were read before.
    pub skip: u64,
    /// Whether there is nothing more: what was read is all.
    pub is_end: bool,
    /// What it is.
    pub identity: Identity,
}

impl Identity {
    fn of(headers: &HeaderMap, total: Option<u64>) -> Self {
        Self { etag: text(headers, ETAG), modified: text(headers, LAST_MODIFIED), total }
    }

    /// The value of `If-Range`: the server itself then gives no part of anything else. A weak ETag can't be used so.
    pub(super) fn condition(&self) -> Option<&str> {
        match &self.etag {
            Some(etag) if !etag.starts_with("W/") => Some(etag),
            Some(_) => None,
            None => self.modified.as_deref(),
        }
    }

    /// Whether both are the same content, as far as a server says so. Where it does not, they are not.
    fn is_same(&self, other: &Self) -> bool {
        let lengths_differ = self.total.zip(other.total).is_some_and(|(one, two)| one != two);
        let validators = self.etag.as_ref().zip(other.etag.as_ref());
        let validators = validators.or(self.modified.as_ref().zip(other.modified.as_ref()));
        !lengths_differ && validators.is_some_and(|(one, two)| one == two)
    }
}

/// What an answer means to who asked for the bytes from `from` on. `known` is what was read until there.
pub(super) fn interpret(
    what: &str,
    status: StatusCode,
    headers: &HeaderMap,
    from: u64,
    known: Option<&Identity>,
) -> Result<Fitting, Trouble> {
    let fitting = match status {
        StatusCode::OK => {
            let length = text(headers, CONTENT_LENGTH).and_then(|length| length.parse().ok());
            Fitting { skip: from, is_end: false, identity: Identity::of(headers, length) }
        }
        StatusCode::PARTIAL_CONTENT => {
            let (start, total) =
                text(headers, CONTENT_RANGE).and_then(|range| part(&range)).unwrap_or((None, None));
            if start != Some(from) {
                let text = format!("{what}: the server answers with other bytes than those from {from} on");
                return Err(Trouble::Lasting(FetchError::Refused(text)));
            }
            Fitting { skip: 0, is_end: false, identity: Identity::of(headers, total) }
        }
        StatusCode::RANGE_NOT_SATISFIABLE => {
            let (_, total) =
                text(headers, CONTENT_RANGE).and_then(|range| part(&range)).unwrap_or((None, None));
            if total != Some(from) {
                let text = format!("{what}: the server has nothing from byte {from} on");
                return Err(Trouble::Lasting(FetchError::Refused(text)));
            }
            // Such an answer names no content. What has the length of all that was read is taken to be that.
            let identity = known.cloned().unwrap_or_else(|| Identity { total, ..Identity::default() });
            return Ok(Fitting { skip: 0, is_end: true, identity });
        }
        other => return Err(Trouble::of_status(what, other)),
    };
    match known {
        Some(known) if !known.is_same(&fitting.identity) => {
            Err(Trouble::Lasting(FetchError::Changed(format!(
                "{what} is not what it was when it was begun to be read, or the server does not say (by ETag or \
             Last-Modified) that it is: it has to be read anew"
            ))))
        }
        Some(_) | None => Ok(fitting),
    }
}

/// Where a part begins, and the length of all: `bytes 5-8/9`, `bytes 5-8/*`, `bytes */9`.
fn part(range: &str) -> Option<(Option<u64>, Option<u64>)> {
    let (places, total) = range.trim().strip_prefix("bytes ")?.split_once('/')?;
    let start = places.split_once('-').and_then(|(start, _)| start.trim().parse().ok());
    Some((start, total.trim().parse().ok()))
}

fn text(headers: &HeaderMap, name: HeaderName) -> Option<String> {
    let value = headers.get(name)?.to_str().ok()?.trim();
    Some(value).filter(|value| !value.is_empty()).map(str::to_owned)
}

#[cfg(test)]
#[path = "answer_tests.rs"]
mod tests;

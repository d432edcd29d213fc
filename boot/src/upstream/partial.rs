//! Whether an answer is the part of the image that was asked for, and of no other image.

use std::ops::Range;

use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, ETAG, LAST_MODIFIED};
use http::{HeaderMap, StatusCode};

use super::error::Why;
use super::pin::{Pin, Validator};

/// More bytes than an image can have: at ten gigabits a second, they would be read for fifteen hours. A server may say any
/// number, and whoever names its URL may have chosen it.
const LARGEST: u64 = 64 << 40;

/// What is wrong with an answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Wrong {
    /// It is of another image than the one that was opened.
    Changed,
    /// The server says that the condition does not hold.
    Condition,
    /// Something else.
    Other(Why),
}

/// What an opening is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct First {
    /// How large the image is.
    pub size: u64,
    /// Whether the server gives parts of it.
    pub ranges: bool,
}

/// Reads the answer to a request for the first byte.
pub(crate) fn first(status: StatusCode, headers: &HeaderMap) -> Result<First, Why> {
    encoding(headers)?;
    let nothing = || Why::Answer("it is empty".to_owned());
    let first = match status {
        StatusCode::PARTIAL_CONTENT => {
            let (given, size) = content_range(headers)
                .ok_or_else(|| Why::Answer("the server does not say how large it is".to_owned()))?;
            if given != (0..1) {
                return Err(not_asked_for(&given, &(0..1)));
            }
            First { size, ranges: true }
        }
        StatusCode::OK => {
            let size = content_length(headers)
                .ok_or_else(|| Why::Answer("the server does not say how large it is".to_owned()))?;
            First { size, ranges: false }
        }
        StatusCode::RANGE_NOT_SATISFIABLE => return Err(nothing()),
        other => return Err(Why::Status(other)),
    };
    match first.size {
        0 => Err(nothing()),
        1..=LARGEST => Ok(first),
        size => Err(Why::Answer(format!(
            "the server says that it has {size} bytes, and no image of more than {} TiB is read: look at what is there",
            LARGEST >> 40
        ))),
    }
}

/// Whether an answer is the range that was asked for, of the pinned image.
pub(crate) fn check(
    status: StatusCode,
    headers: &HeaderMap,
    asked: &Range<u64>,
    pin: &Pin,
) -> Result<(), Wrong> {
    match status {
        StatusCode::PARTIAL_CONTENT => {}
        StatusCode::PRECONDITION_FAILED => return Err(Wrong::Condition),
        StatusCode::OK => {
            whole(headers, pin)?;
            let why = "the server answered with the whole image instead of the range that was asked for";
            return Err(Wrong::Other(Why::Answer(why.to_owned())));
        }
        StatusCode::RANGE_NOT_SATISFIABLE if unsatisfied(headers) != Some(pin.size()) => {
            return Err(Wrong::Changed);
        }
        other => return Err(Wrong::Other(Why::Status(other))),
    }
    encoding(headers).map_err(Wrong::Other)?;
    let Some((given, size)) = content_range(headers) else {
        let why = "the server answered a range without saying which";
        return Err(Wrong::Other(Why::Answer(why.to_owned())));
    };
    if size != pin.size() || !is_pinned(headers, pin.validator()) {
        return Err(Wrong::Changed);
    }
    if given != *asked {
        return Err(Wrong::Other(not_asked_for(&given, asked)));
    }
    let length = asked.end.saturating_sub(asked.start);
    match content_length(headers) {
        Some(given) if given != length => {
            let why = format!("the server answered {given} bytes for a range of {length}");
            Err(Wrong::Other(Why::Answer(why)))
        }
        Some(_) | None => Ok(()),
    }
}

/// Whether an answer is the whole of the pinned image.
pub(crate) fn whole(headers: &HeaderMap, pin: &Pin) -> Result<(), Wrong> {
    encoding(headers).map_err(Wrong::Other)?;
    let same = content_length(headers) == Some(pin.size()) && is_pinned(headers, pin.validator());
    if same { Ok(()) } else { Err(Wrong::Changed) }
}

/// Whether an answer has the pinned validator. One that was there at the opening must be there in every part.
fn is_pinned(headers: &HeaderMap, validator: &Validator) -> bool {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    match validator {
        Validator::Strong(etag) | Validator::Weak(etag) => text(ETAG) == Some(etag),
        Validator::Modified(modified) => text(LAST_MODIFIED) == Some(modified),
        // Servers that share one store give each its own ETag.
        Validator::Content(_) => true,
    }
}

fn encoding(headers: &HeaderMap) -> Result<(), Why> {
    match headers.get(CONTENT_ENCODING) {
        Some(encoding) if encoding.as_bytes() != b"identity" => {
            let why = "the server compresses it, though it was asked not to: ranges of that are of no use";
            Err(Why::Answer(why.to_owned()))
        }
        Some(_) | None => Ok(()),
    }
}

fn not_asked_for(given: &Range<u64>, asked: &Range<u64>) -> Why {
    Why::Answer(format!(
        "the server answered bytes {} to {} when {} to {} were asked for",
        given.start, given.end, asked.start, asked.end
    ))
}

fn content_length(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.trim().parse().ok()
}

/// `bytes 0-9/100`: the range, its end excluded, and the size of the whole.
fn content_range(headers: &HeaderMap) -> Option<(Range<u64>, u64)> {
    let (range, size) = headers.get(CONTENT_RANGE)?.to_str().ok()?.strip_prefix("bytes ")?.split_once('/')?;
    let (first, last) = range.trim().split_once('-')?;
    let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
    let size = size.trim().parse().ok()?;
    let valid = first <= last && last < size;
    valid.then(|| (first..last.saturating_add(1), size))
}

/// `bytes */100`: the size of the whole.
fn unsatisfied(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_RANGE)?.to_str().ok()?.strip_prefix("bytes */")?.trim().parse().ok()
}

#[cfg(test)]
#[path = "partial_tests.rs"]
mod tests;

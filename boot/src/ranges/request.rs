//! What a request asks for: all, a range, or nothing, as RFC 9110 has it.

use std::ops::Range;

use http::header::{HeaderName, IF_MATCH, IF_NONE_MATCH, IF_RANGE, RANGE};
use http::{HeaderMap, Method};

/// What is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wanted {
    /// 200: all of it.
    Whole,
    /// 206: a part that is not empty.
    Part(Range<u64>),
    /// 304: the client has it.
    NotModified,
    /// 405: this is only read.
    Method,
    /// 412: the client wants another.
    Precondition,
    /// 416: the range is outside.
    Outside,
}

/// What a request asks for, of so many bytes under this tag, quotes included.
pub(super) fn wanted(method: &Method, headers: &HeaderMap, etag: &str, length: u64) -> Wanted {
    if *method != Method::GET && *method != Method::HEAD {
        return Wanted::Method;
    }
    if let Some(list) = text(headers, IF_MATCH)
        && !lists(list, etag, |tag| tag)
    {
        return Wanted::Precondition;
    }
    if let Some(list) = text(headers, IF_NONE_MATCH)
        && lists(list, etag, |tag| tag.strip_prefix("W/").unwrap_or(tag))
    {
        return Wanted::NotModified;
    }
    // A range is defined for GET only, and for the very content that the client has a part of already. There is no time of
    // a last change here that could equal the one that it names.
    let applies = *method == Method::GET && text(headers, IF_RANGE).is_none_or(|tag| tag.trim() == etag);
    let mut ranges = headers.get_all(RANGE).iter();
    let (Some(range), None, true) = (ranges.next(), ranges.next(), applies) else { return Wanted::Whole };
    range.to_str().map_or(Wanted::Whole, |range| one(range, length))
}

fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name).map(|value| value.to_str().unwrap_or_default())
}

/// Whether a list names a tag, each of its own seen through `as_compared`.
fn lists(list: &str, etag: &str, as_compared: fn(&str) -> &str) -> bool {
    list.split(',').map(str::trim).any(|tag| tag == "*" || as_compared(tag) == etag)
}

/// Reads `bytes=a-b`, `bytes=a-` or `bytes=-n`. What can't be read is ignored, and so are several ranges at once.
fn one(range: &str, length: u64) -> Wanted {
    parse(range, length).unwrap_or(Wanted::Whole)
}

fn parse(range: &str, length: u64) -> Option<Wanted> {
    let (unit, range) = range.split_once('=')?;
    if !unit.trim().eq_ignore_ascii_case("bytes") {
        return None;
    }
    let (first, last) = range.trim().split_once('-')?;
    let part = match (first, last) {
        ("", last) => match number(last)? {
            0 => return Some(Wanted::Outside),
            // All of nothing: a part can't be empty.
            _ if length == 0 => return None,
            last => length.saturating_sub(last)..length,
        },
        (first, "") => number(first)?..length,
        (first, last) => {
            let (first, last) = (number(first)?, number(last)?);
            if last < first {
                return None;
            }
            first..last.saturating_add(1).min(length)
        }
    };
    Some(if part.start < length { Wanted::Part(part) } else { Wanted::Outside })
}

/// Digits and nothing else; what is larger than any image is the largest number there is.
fn number(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAG: &str = "\"abc\"";

    fn headers(pairs: &[(HeaderName, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(name, value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn ranges_are_read_as_the_standard_has_them() {
        for (range, length, expected) in [
            ("bytes=0-0", 100, Wanted::Part(0..1)),
            ("bytes=0-99", 100, Wanted::Part(0..100)),
            ("bytes=10-19", 100, Wanted::Part(10..20)),
            ("bytes=10-1000", 100, Wanted::Part(10..100)),
            ("bytes=99-", 100, Wanted::Part(99..100)),
            ("bytes=0-", 100, Wanted::Part(0..100)),
            ("bytes=-1", 100, Wanted::Part(99..100)),
            ("bytes=-100", 100, Wanted::Part(0..100)),
            ("bytes=-1000", 100, Wanted::Part(0..100)),
            ("BYTES=1-2", 100, Wanted::Part(1..3)),
            ("bytes= 1-2 ", 100, Wanted::Part(1..3)),
            ("bytes=0-18446744073709551615", 100, Wanted::Part(0..100)),
            ("bytes=0-99999999999999999999999", 100, Wanted::Part(0..100)),
            ("bytes=100-", 100, Wanted::Outside),
            ("bytes=100-200", 100, Wanted::Outside),
            ("bytes=18446744073709551615-", 100, Wanted::Outside),
            ("bytes=99999999999999999999999-", 100, Wanted::Outside),
            ("bytes=-0", 100, Wanted::Outside),
            ("bytes=0-", 0, Wanted::Outside),
            ("bytes=0-0", 0, Wanted::Outside),
            ("bytes=-5", 0, Wanted::Whole),
            ("bytes=5-4", 100, Wanted::Whole),
            ("bytes=-", 100, Wanted::Whole),
            ("bytes=", 100, Wanted::Whole),
            ("bytes", 100, Wanted::Whole),
            ("", 100, Wanted::Whole),
            ("bytes=a-b", 100, Wanted::Whole),
            ("bytes=+1-2", 100, Wanted::Whole),
            ("bytes=1 -2", 100, Wanted::Whole),
            ("bytes=1--2", 100, Wanted::Whole),
            ("bytes=0x1-2", 100, Wanted::Whole),
            ("lines=1-2", 100, Wanted::Whole),
            ("bytes=0-1,5-6", 100, Wanted::Whole),
            ("bytes=0-1, 200-300", 100, Wanted::Whole),
        ] {
            let given = headers(&[(RANGE, range)]);
            assert_eq!(wanted(&Method::GET, &given, TAG, length), expected, "{range} of {length}");
        }
    }

    #[test]
    fn conditions_come_before_ranges() {
        let range = (RANGE, "bytes=1-2");
        let (part, head, get) = (Wanted::Part(1..3), Method::HEAD, Method::GET);
        for (method, given, expected) in [
            (&get, vec![], Wanted::Whole),
            (&head, vec![], Wanted::Whole),
            (&head, vec![range.clone()], Wanted::Whole),
            (&Method::POST, vec![range.clone()], Wanted::Method),
            (&Method::DELETE, vec![], Wanted::Method),
            (&get, vec![range.clone(), (RANGE, "bytes=5-6")], Wanted::Whole),
            (&get, vec![range.clone(), (IF_RANGE, TAG)], part.clone()),
            (&get, vec![range.clone(), (IF_RANGE, "\"other\"")], Wanted::Whole),
            (&get, vec![range.clone(), (IF_RANGE, "W/\"abc\"")], Wanted::Whole),
            (&get, vec![range.clone(), (IF_RANGE, "Mon, 02 Nov 2026 10:00:00 GMT")], Wanted::Whole),
            (&get, vec![range.clone(), (IF_MATCH, TAG)], part.clone()),
            (&get, vec![range.clone(), (IF_MATCH, "*")], part.clone()),
            (&get, vec![range.clone(), (IF_MATCH, "\"x\", \"abc\"")], part.clone()),
            (&get, vec![range.clone(), (IF_MATCH, "\"x\"")], Wanted::Precondition),
            (&get, vec![range.clone(), (IF_MATCH, "W/\"abc\"")], Wanted::Precondition),
            (&get, vec![range.clone(), (IF_NONE_MATCH, "\"x\"")], part),
            (&get, vec![range.clone(), (IF_NONE_MATCH, TAG)], Wanted::NotModified),
            (&get, vec![(IF_NONE_MATCH, "W/\"abc\"")], Wanted::NotModified),
            (&head, vec![(IF_NONE_MATCH, "*")], Wanted::NotModified),
        ] {
            assert_eq!(wanted(method, &headers(&given), TAG, 100), expected, "{method} {given:?}");
        }
    }
}

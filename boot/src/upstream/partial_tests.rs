use http::header::HeaderName;

use super::*;

const DATE: &str = "Mon, 02 Nov 2026 10:00:00 GMT";

fn headers(pairs: &[(HeaderName, &str)]) -> HeaderMap {
    pairs.iter().map(|(name, value)| (name.clone(), value.parse().unwrap())).collect()
}

fn pin(validator: Validator) -> Pin {
    Pin::new(&"http://a.test/x.iso".parse().unwrap(), validator, 100)
}

fn answer(why: &str) -> Wrong {
    Wrong::Other(Why::Answer(why.to_owned()))
}

#[test]
fn only_the_exact_range_of_the_pinned_image_is_taken() {
    let pin = pin(Validator::Strong("\"1\"".to_owned()));
    let (range, etag) = ((CONTENT_RANGE, "bytes 10-19/100"), (ETAG, "\"1\""));
    let whole = "the server answered with the whole image instead of the range that was asked for";
    for (status, given, expected) in [
        (206, vec![range.clone(), etag.clone()], Ok(())),
        (206, vec![range.clone(), etag.clone(), (CONTENT_LENGTH, "10")], Ok(())),
        (206, vec![range.clone(), etag.clone(), (LAST_MODIFIED, DATE)], Ok(())),
        (
            206,
            vec![range.clone(), etag.clone(), (CONTENT_LENGTH, "9")],
            Err(answer("the server answered 9 bytes for a range of 10")),
        ),
        (206, vec![range.clone(), (ETAG, "\"2\"")], Err(Wrong::Changed)),
        (206, vec![range.clone(), (ETAG, "W/\"1\"")], Err(Wrong::Changed)),
        (206, vec![range.clone()], Err(Wrong::Changed)),
        (206, vec![(CONTENT_RANGE, "bytes 10-19/101"), etag.clone()], Err(Wrong::Changed)),
        (
            206,
            vec![(CONTENT_RANGE, "bytes 10-18/100"), etag.clone()],
            Err(answer("the server answered bytes 10 to 19 when 10 to 20 were asked for")),
        ),
        (
            206,
            vec![(CONTENT_RANGE, "bytes 11-19/100"), etag.clone()],
            Err(answer("the server answered bytes 11 to 20 when 10 to 20 were asked for")),
        ),
        (206, vec![etag.clone()], Err(answer("the server answered a range without saying which"))),
        (
            206,
            vec![(CONTENT_RANGE, "bytes 10-19/*"), etag.clone()],
            Err(answer("the server answered a range without saying which")),
        ),
        (200, vec![etag.clone(), (CONTENT_LENGTH, "100")], Err(answer(whole))),
        (200, vec![(ETAG, "\"2\""), (CONTENT_LENGTH, "100")], Err(Wrong::Changed)),
        (200, vec![etag.clone(), (CONTENT_LENGTH, "101")], Err(Wrong::Changed)),
        (412, vec![], Err(Wrong::Condition)),
        (416, vec![(CONTENT_RANGE, "bytes */5")], Err(Wrong::Changed)),
        (
            416,
            vec![(CONTENT_RANGE, "bytes */100")],
            Err(Wrong::Other(Why::Status(StatusCode::RANGE_NOT_SATISFIABLE))),
        ),
        (404, vec![], Err(Wrong::Other(Why::Status(StatusCode::NOT_FOUND)))),
        (
            206,
            vec![range.clone(), etag.clone(), (CONTENT_ENCODING, "gzip")],
            Err(answer("the server compresses it, though it was asked not to: ranges of that are of no use")),
        ),
    ] {
        let status = StatusCode::from_u16(status).unwrap();
        assert_eq!(check(status, &headers(&given), &(10..20), &pin), expected, "{status} {given:?}");
    }
}

#[test]
fn weaker_validators_are_compared_as_far_as_they_go() {
    let range = (CONTENT_RANGE, "bytes 10-19/100");
    let modified = Validator::Modified(DATE.to_owned());
    let weak = Validator::Weak("W/\"1\"".to_owned());
    let later = "Mon, 02 Nov 2026 10:00:01 GMT";
    for (validator, given, expected) in [
        (modified.clone(), vec![range.clone(), (LAST_MODIFIED, DATE)], Ok(())),
        (modified.clone(), vec![range.clone()], Err(Wrong::Changed)),
        (modified, vec![range.clone(), (LAST_MODIFIED, later)], Err(Wrong::Changed)),
        (weak.clone(), vec![range.clone(), (ETAG, "W/\"1\"")], Ok(())),
        (weak.clone(), vec![range.clone(), (ETAG, "W/\"2\"")], Err(Wrong::Changed)),
        (weak, vec![range], Err(Wrong::Changed)),
    ] {
        let pin = pin(validator);
        let status = StatusCode::PARTIAL_CONTENT;
        assert_eq!(check(status, &headers(&given), &(10..20), &pin), expected, "{pin:?} {given:?}");
    }
}

#[test]
fn an_opening_tells_size_and_ranges() {
    let empty = Err(Why::Answer("it is empty".to_owned()));
    let no_size = Err(Why::Answer("the server does not say how large it is".to_owned()));
    for (status, given, expected) in [
        (206, vec![(CONTENT_RANGE, "bytes 0-0/100")], Ok(First { size: 100, ranges: true })),
        (200, vec![(CONTENT_LENGTH, "100")], Ok(First { size: 100, ranges: false })),
        (200, vec![(CONTENT_LENGTH, "0")], empty.clone()),
        (416, vec![(CONTENT_RANGE, "bytes */0")], empty),
        (200, vec![], no_size.clone()),
        (206, vec![(CONTENT_RANGE, "bytes 0-0/*")], no_size.clone()),
        (206, vec![], no_size),
        (
            206,
            vec![(CONTENT_RANGE, "bytes 5-9/10")],
            Err(Why::Answer("the server answered bytes 5 to 10 when 0 to 1 were asked for".to_owned())),
        ),
        (404, vec![], Err(Why::Status(StatusCode::NOT_FOUND))),
        (503, vec![], Err(Why::Status(StatusCode::SERVICE_UNAVAILABLE))),
    ] {
        let status = StatusCode::from_u16(status).unwrap();
        assert_eq!(first(status, &headers(&given)), expected, "{status} {given:?}");
    }
}

#[test]
fn no_server_is_believed_that_says_more_than_an_image_can_have() {
    let largest = 64_u64 << 40;
    let asked = |size: u64| {
        let (range, length) = (format!("bytes 0-0/{size}"), size.to_string());
        let parts = first(StatusCode::PARTIAL_CONTENT, &headers(&[(CONTENT_RANGE, &range)]));
        let whole = first(StatusCode::OK, &headers(&[(CONTENT_LENGTH, &length)]));
        [parts, whole]
    };
    assert_eq!(asked(largest), [true, false].map(|ranges| Ok(First { size: largest, ranges })));
    for size in [largest + 1, 1 << 53, u64::MAX] {
        for found in asked(size) {
            let why = found.unwrap_err();
            assert!(!why.is_passing() && why.to_string().contains("more than 64 TiB"), "{size}: {why}");
        }
    }
}

//! What answers mean, by table.

use super::*;

const DATE: &str = "Mon, 02 Nov 2026 10:00:00 GMT";

fn identity(etag: Option<&str>, modified: Option<&str>, total: Option<u64>) -> Identity {
    Identity { etag: etag.map(str::to_owned), modified: modified.map(str::to_owned), total }
}

fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
    let named = |name: &str| HeaderName::from_bytes(name.as_bytes()).unwrap();
    pairs.iter().map(|(name, value)| (named(name), value.parse().unwrap())).collect()
}

/// What comes of it, in short: bytes to skip, the end, or the kind of trouble.
fn meaning(status: u16, pairs: &[(&str, &str)], from: u64, known: Option<&Identity>) -> String {
    match interpret("image", StatusCode::from_u16(status).unwrap(), &headers(pairs), from, known) {
        Ok(fitting) if fitting.is_end => "end".to_owned(),
        Ok(fitting) => format!("skip {} of {:?}", fitting.skip, fitting.identity.total),
        Err(Trouble::Passing(_)) => "passing".to_owned(),
        Err(Trouble::Lasting(FetchError::Changed(_))) => "changed".to_owned(),
        Err(Trouble::Lasting(FetchError::Refused(_))) => "refused".to_owned(),
        Err(Trouble::Lasting(FetchError::NotThere(_))) => "not there".to_owned(),
        Err(Trouble::Lasting(FetchError::Unreachable(_))) => "unreachable".to_owned(),
    }
}

#[test]
fn an_answer_fits_or_it_does_not() {
    let known = identity(Some("\"1\""), None, Some(9));
    let dated = identity(None, Some(DATE), Some(9));
    let weak = identity(Some("W/\"1\""), None, Some(9));
    let nameless = identity(None, None, Some(9));
    for (status, pairs, from, known, expected) in [
        (200, &[("content-length", "9")][..], 0, None, "skip 0 of Some(9)"),
        (200, &[], 0, None, "skip 0 of None"),
        (206, &[("content-range", "bytes 5-8/9")], 5, None, "skip 0 of Some(9)"),
        (206, &[("content-range", "bytes 5-8/*"), ("etag", "\"1\"")], 5, Some(&known), "skip 0 of None"),
        (206, &[("content-range", "bytes 5-8/9"), ("etag", "\"1\"")], 5, Some(&known), "skip 0 of Some(9)"),
        (
            206,
            &[("content-range", "bytes 5-8/9"), ("last-modified", DATE)],
            5,
            Some(&dated),
            "skip 0 of Some(9)",
        ),
        (206, &[("content-range", "bytes 5-8/9"), ("etag", "W/\"1\"")], 5, Some(&weak), "skip 0 of Some(9)"),
        // A server without ranges.
        (200, &[("content-length", "9"), ("etag", "\"1\"")], 5, Some(&known), "skip 5 of Some(9)"),
        // Other content, or nobody knows.
        (206, &[("content-range", "bytes 5-8/9"), ("etag", "\"2\"")], 5, Some(&known), "changed"),
        (206, &[("content-range", "bytes 5-9/10"), ("etag", "\"1\"")], 5, Some(&known), "changed"),
        (200, &[("content-length", "9"), ("etag", "\"2\"")], 5, Some(&known), "changed"),
        (200, &[("content-length", "8"), ("etag", "\"1\"")], 5, Some(&known), "changed"),
        (200, &[("content-length", "9")], 5, Some(&nameless), "changed"),
        // Answers to another question.
        (206, &[("content-range", "bytes 4-8/9")], 5, None, "refused"),
        (206, &[], 5, None, "refused"),
        (416, &[("content-range", "bytes */9")], 9, Some(&known), "end"),
        (416, &[("content-range", "bytes */9")], 9, None, "end"),
        (416, &[("content-range", "bytes */7")], 9, Some(&known), "refused"),
        (416, &[], 9, None, "refused"),
        (404, &[], 0, None, "not there"),
        (410, &[], 5, Some(&known), "not there"),
        (302, &[("location", "http://elsewhere/")], 0, None, "refused"),
        (503, &[], 0, None, "passing"),
    ] {
        assert_eq!(
            meaning(status, pairs, from, known),
            expected,
            "{status} {pairs:?} from {from}, {known:?}"
        );
    }
}

#[test]
fn the_server_is_asked_for_the_same_content_by_the_best_that_it_named() {
    for (identity, expected) in [
        (identity(Some("\"1\""), Some(DATE), None), Some("\"1\"")),
        (identity(None, Some(DATE), None), Some(DATE)),
        (identity(Some("W/\"1\""), Some(DATE), None), None),
        (Identity::default(), None),
    ] {
        assert_eq!(identity.condition(), expected);
    }
}

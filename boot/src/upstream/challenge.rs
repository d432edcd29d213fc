//! What a registry says when it wants a token: `WWW-Authenticate: Bearer realm="…",service="…",scope="…"`.

use http::HeaderMap;
use http::header::WWW_AUTHENTICATE;

/// Where a token comes from, and for what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Challenge {
    pub realm: String,
    pub service: Option<String>,
    pub scope: Option<String>,
}

impl Challenge {
    /// The first of an answer's challenges that asks for a token.
    pub(crate) fn of(headers: &HeaderMap) -> Option<Self> {
        let values = headers.get_all(WWW_AUTHENTICATE).iter();
        values.filter_map(|value| value.to_str().ok()).find_map(Self::parse)
    }

    fn parse(text: &str) -> Option<Self> {
        let (scheme, mut rest) = text.trim().split_once(' ')?;
        if !scheme.eq_ignore_ascii_case("bearer") {
            return None;
        }
        let (mut realm, mut service, mut scope) = (None, None, None);
        while let Some((name, value, after)) = parameter(rest) {
            match name.to_ascii_lowercase().as_str() {
                "realm" => realm = Some(value),
                "service" => service = Some(value),
                "scope" => scope = Some(value),
                _ => {}
            }
            rest = after;
        }
        Some(Self { realm: realm?, service, scope })
    }
}

/// The first parameter of a list, and what follows it.
fn parameter(text: &str) -> Option<(&str, String, &str)> {
    let (name, rest) = text.trim_start_matches([' ', '\t', ',']).split_once('=')?;
    let (name, rest) = (name.trim(), rest.trim_start());
    // Another challenge has begun.
    if name.is_empty() || name.contains(' ') {
        return None;
    }
    match rest.strip_prefix('"') {
        Some(quoted) => quoted_text(quoted).map(|(value, after)| (name, value, after)),
        None => {
            let (value, after) = rest.split_once(',').unwrap_or((rest, ""));
            Some((name, value.trim().to_owned(), after))
        }
    }
}

/// What stands before the closing quote, and what behind it.
fn quoted_text(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Some((value, text.get(at.saturating_add(1)..)?)),
            '\\' => value.push(characters.next()?.1),
            other => value.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn challenge(realm: &str, service: Option<&str>, scope: Option<&str>) -> Challenge {
        let owned = |text: &str| text.to_owned();
        Challenge { realm: owned(realm), service: service.map(owned), scope: scope.map(owned) }
    }

    #[test]
    fn challenges_are_read_as_registries_write_them() {
        let full = challenge("https://a.test/token", Some("a.test"), Some("repository:x/y:pull"));
        for (text, expected) in [
            (
                r#"Bearer realm="https://a.test/token",service="a.test",scope="repository:x/y:pull""#,
                Some(full.clone()),
            ),
            (
                r#"bearer  Realm="https://a.test/token" , scope="repository:x/y:pull", service=a.test"#,
                Some(full.clone()),
            ),
            (
                r#"Bearer realm="https://a.test/token",service="a.test",scope="repository:x/y:pull",error="invalid_token""#,
                Some(full),
            ),
            (
                r#"Bearer realm="https://a.test/a,b?c=d""#,
                Some(challenge("https://a.test/a,b?c=d", None, None)),
            ),
            (r#"Bearer realm="a\"b\\c""#, Some(challenge(r#"a"b\c"#, None, None))),
            (r#"Bearer realm=https://a.test/t"#, Some(challenge("https://a.test/t", None, None))),
            (r#"Bearer realm="a", Basic realm="b""#, Some(challenge("a", None, None))),
            (r#"Basic realm="a""#, None),
            (r#"Bearer service="a""#, None),
            (r#"Bearer realm="a"#, None),
            (r#"Bearer realm="a\"#, None),
            ("Bearer", None),
            ("", None),
        ] {
            assert_eq!(Challenge::parse(text), expected, "{text}");
        }
    }

    #[test]
    fn the_challenge_is_found_among_others() {
        let mut headers = HeaderMap::new();
        assert_eq!(Challenge::of(&headers), None);
        headers.append(WWW_AUTHENTICATE, r#"Basic realm="x""#.parse().unwrap());
        assert_eq!(Challenge::of(&headers), None);
        headers.append(WWW_AUTHENTICATE, r#"Bearer realm="y""#.parse().unwrap());
        assert_eq!(Challenge::of(&headers), Some(challenge("y", None, None)));
    }
}

//! Patterns of aliases, as `modprobe` understands them: `*`, `?`, `[a-z]`, and `-` is the same as `_`.

/// Whether a text fits a pattern, all of it.
pub(super) fn fits(pattern: &[u8], text: &[u8]) -> bool {
    let (mut pattern, mut text) = (pattern, text);
    // Behind the last star: what to go back to, with one letter more for the star.
    let mut star: Option<(&[u8], &[u8])> = None;
    loop {
        if let Some((b'*', rest)) = pattern.split_first() {
            star = Some((rest, text));
            pattern = rest;
            continue;
        }
        let fits = match (text.split_first(), pattern.is_empty()) {
            (None, ends) => return ends,
            (Some(_), true) => None,
            (Some((letter, rest)), false) => one(pattern, *letter).map(|pattern| (pattern, rest)),
        };
        (pattern, text) = match (fits, star) {
            (Some(next), _) => next,
            (None, Some((behind, from))) => {
                let Some((_, later)) = from.split_first() else { return false };
                star = Some((behind, later));
                (behind, later)
            }
            (None, None) => return false,
        };
    }
}

/// The pattern behind its first element, if a letter fits that.
fn one(pattern: &[u8], letter: u8) -> Option<&[u8]> {
    let (first, rest) = pattern.split_first()?;
    match first {
        b'?' => Some(rest),
        b'[' => class(rest, letter),
        b'\\' => {
            let (literal, rest) = rest.split_first()?;
            (*literal == letter).then_some(rest)
        }
        literal => (even(*literal) == even(letter)).then_some(rest),
    }
}

/// `[a-f0-9]`, `[!x]`: the pattern behind it, if a letter is one of it.
fn class(pattern: &[u8], letter: u8) -> Option<&[u8]> {
    let (is_negated, mut rest) = match pattern {
        [b'!' | b'^', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let (mut is_in, mut is_first) = (false, true);
    loop {
        rest = match rest {
            [b']', behind @ ..] if !is_first => return (is_in != is_negated).then_some(behind),
            [low, b'-', high, behind @ ..] if *high != b']' => {
                is_in |= (*low..=*high).contains(&letter);
                behind
            }
            [single, behind @ ..] => {
                is_in |= *single == letter;
                behind
            }
            [] => return None,
        };
        is_first = false;
    }
}

pub(super) fn even(letter: u8) -> u8 {
    if letter == b'-' { b'_' } else { letter }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_fit_patterns_as_with_modprobe() {
        for (pattern, text, expected) in [
            ("", "", true),
            ("", "a", false),
            ("a", "", false),
            ("*", "", true),
            ("*", "anything/at:all", true),
            ("abc", "abc", true),
            ("abc", "abcd", false),
            ("a*c", "abbbc", true),
            ("a*c", "abbb", false),
            ("a*bc*", "abxbcx", true),
            ("*a*a*", "a", false),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("v[0-9a-f]d", "vad", true),
            ("v[0-9a-f]d", "vgd", false),
            ("v[!0-9]d", "vad", true),
            ("v[!0-9]d", "v5d", false),
            ("v[]x]d", "v]d", true),
            ("v[a-]d", "v-d", true),
            ("v[a", "va", false),
            ("*[4-6]x", "12345x", true),
            ("a\\*c", "a*c", true),
            ("a\\*c", "abc", false),
            ("of:N*Cacme,big-nic", "of:Nnic0T(null)Cacme,big_nic", true),
            ("crypto-crc32c", "crypto_crc32c", true),
            (
                "pci:v00008086d000010D3sv*sd*bc*sc*i*",
                "pci:v00008086d000010D3sv00008086sd0000A01Fbc02sc00i00",
                true,
            ),
            (
                "pci:v00008086d000010D3sv*sd*bc*sc*i*",
                "pci:v00008086d000010D4sv00008086sd0000A01Fbc02sc00i00",
                false,
            ),
            ("pci:v*d*sv*sd*bc01sc08i02*", "pci:v0000144Dd0000A808sv0000144Dsd0000A801bc01sc08i02", true),
            (
                "usb:v*p*d*dc*dsc*dp*ic08isc06ip50in*",
                "usb:v0781p5567d0127dc00dsc00dp00ic08isc06ip50in00",
                true,
            ),
            ("virtio:d00000001v*", "virtio:d00000001v00001AF4", true),
        ] {
            assert_eq!(fits(pattern.as_bytes(), text.as_bytes()), expected, "{pattern} {text}");
        }
    }
}

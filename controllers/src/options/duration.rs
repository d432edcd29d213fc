//! Durations as users of other managers write them: `15s`, `1m30s`, `300ms`.

use std::time::Duration;

/// Why a text is not a duration.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum DurationError {
    /// Nothing, or a sign, which no flag here has a use for.
    #[error("write a positive duration such as 15s or 1m30s")]
    Shape,
    /// A number without its unit.
    #[error("the number {0} has no unit: write one of h, m, s, ms, us, ns after it, such as 15s")]
    NoUnit(String),
    /// A unit that is not known.
    #[error("{0} is not a unit of time: use h, m, s, ms, us or ns")]
    Unit(String),
    /// More than fits.
    #[error("the duration is too long")]
    TooLong,
}

/// Reads a duration in Go's notation. Zero is `0` or `0s`; negative durations are refused.
///
/// # Errors
/// Says what is wrong with the text, and how to write it.
pub fn parse(text: &str) -> Result<Duration, DurationError> {
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    if text.is_empty() || text.starts_with(['-', '+']) {
        return Err(DurationError::Shape);
    }
    let mut rest = text;
    let mut total = Duration::ZERO;
    while !rest.is_empty() {
        let (number, after) = split_where(rest, |c| !c.is_ascii_digit() && c != '.');
        if number.is_empty() {
            return Err(DurationError::Shape);
        }
        let (unit, after) = split_where(after, |c| c.is_ascii_digit() || c == '.');
        if unit.is_empty() {
            return Err(DurationError::NoUnit(number.to_owned()));
        }
        let part = number.parse::<f64>().map_err(|_| DurationError::Shape)? * seconds_of(unit)?;
        let part = Duration::try_from_secs_f64(part).map_err(|_| DurationError::TooLong)?;
        total = total.checked_add(part).ok_or(DurationError::TooLong)?;
        rest = after;
    }
    Ok(total)
}

fn split_where(text: &str, end: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(end).unwrap_or(text.len()))
}

fn seconds_of(unit: &str) -> Result<f64, DurationError> {
    match unit {
        "h" => Ok(3600.0),
        "m" => Ok(60.0),
        "s" => Ok(1.0),
        "ms" => Ok(1e-3),
        "us" | "µs" | "μs" => Ok(1e-6),
        "ns" => Ok(1e-9),
        unknown => Err(DurationError::Unit(unknown.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn go_durations_are_read() {
        for (text, expected) in [
            ("15s", Duration::from_secs(15)),
            ("1m30s", Duration::from_secs(90)),
            ("1h", Duration::from_secs(3600)),
            ("1.5h", Duration::from_secs(5400)),
            ("300ms", Duration::from_millis(300)),
            ("2µs", Duration::from_micros(2)),
            ("0", Duration::ZERO),
            ("0s", Duration::ZERO),
            ("10m0s", Duration::from_secs(600)),
        ] {
            assert_eq!(parse(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_not_a_duration_is_refused_with_a_reason() {
        for (text, expected) in [
            ("", DurationError::Shape),
            ("s", DurationError::Shape),
            ("-3s", DurationError::Shape),
            ("1.2.3s", DurationError::Shape),
            ("15", DurationError::NoUnit("15".into())),
            ("1m30", DurationError::NoUnit("30".into())),
            ("3d", DurationError::Unit("d".into())),
            ("15 s", DurationError::Unit(" s".into())),
            ("9999999999999999999999h", DurationError::TooLong),
        ] {
            assert_eq!(parse(text), Err(expected), "{text}");
        }
    }
}

//! What may be in the way of a request, and whether it helps to try again.

use std::error::Error;

use reqwest::StatusCode;

use crate::fetching::FetchError;

/// What was in the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// It may be gone the next time.
    Passing(String),
    /// It stays.
    Lasting(FetchError),
}

impl Trouble {
    /// A request that got no answer.
    pub(super) fn of_request(what: &str, error: reqwest::Error) -> Self {
        Self::Passing(format!("{what}: {}", causes(&error.without_url())))
    }

    /// An answer that is none of those that are expected.
    pub(super) fn of_status(what: &str, status: StatusCode) -> Self {
        let text = format!("{what}: the server answers {status}");
        let passes = status.is_server_error()
            || [StatusCode::REQUEST_TIMEOUT, StatusCode::TOO_EARLY, StatusCode::TOO_MANY_REQUESTS]
                .contains(&status);
        match passes {
            true => Self::Passing(text),
            false if status.is_redirection() => {
                Self::Lasting(FetchError::Refused(format!("{text}, which is not followed")))
            }
            false if [StatusCode::NOT_FOUND, StatusCode::GONE].contains(&status) => {
                Self::Lasting(FetchError::NotThere(text))
            }
            false => Self::Lasting(FetchError::Refused(text)),
        }
    }
}

/// What happened, with what was behind it: reqwest's own text says only that something did.
pub(super) fn causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let said = cause.to_string();
        if !text.contains(&said) {
            text = format!("{text}: {said}");
        }
        next = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_pass_is_told_from_what_stays() {
        for (status, passes) in [
            (500, true),
            (502, true),
            (503, true),
            (408, true),
            (425, true),
            (429, true),
            (400, false),
            (403, false),
            (404, false),
            (410, false),
            (302, false),
        ] {
            let trouble = Trouble::of_status("agent/order", StatusCode::from_u16(status).unwrap());
            assert_eq!(matches!(trouble, Trouble::Passing(_)), passes, "{trouble:?}");
            let is_unknown = matches!(trouble, Trouble::Lasting(FetchError::NotThere(_)));
            assert_eq!(is_unknown, [404, 410].contains(&status), "{trouble:?}");
        }
    }
}

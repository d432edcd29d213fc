//! How we are known to a BMC: by one session that is kept, or by Basic where there are no sessions.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::StatusCode;
use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue};
use serde_json::json;

use crate::credentials::Credentials;
use crate::error::Error;
use crate::message::Messages;
use crate::transport::{Answer, Request, Transport};

const TOKEN: HeaderName = HeaderName::from_static("x-auth-token");
/// Where sessions are, when the service root does not say.
const SESSIONS: &str = "/redfish/v1/SessionService/Sessions";

/// What is shown with each request.
#[derive(Debug, Clone)]
pub(crate) enum Authentication {
    /// A session, and where it is deleted.
    Session { token: HeaderValue, path: Option<String> },
    /// User name and password each time.
    Basic(HeaderValue),
}

impl Authentication {
    /// As a header; marked as sensitive, so that nobody's debug output shows it.
    pub(crate) fn header(&self) -> (HeaderName, HeaderValue) {
        match self {
            Self::Session { token, .. } => (TOKEN, token.clone()),
            Self::Basic(value) => (AUTHORIZATION, value.clone()),
        }
    }

    /// Where the session is, to delete it.
    pub(crate) fn session(&self) -> Option<&str> {
        match self {
            Self::Session { path, .. } => path.as_deref(),
            Self::Basic(_) => None,
        }
    }
}

/// Logs in: by a session, or by Basic where the BMC has no sessions or none left.
pub(crate) async fn log_in(
    transport: &Transport,
    sessions: Option<&str>,
    credentials: &Credentials,
) -> Result<Authentication, Error> {
    let body = json!({ "UserName": credentials.username(), "Password": credentials.password() });
    let request = Request::log_in(sessions.unwrap_or(SESSIONS), &body);
    let answer = transport.send(&request).await?;
    if answer.status.is_success()
        && let Some(session) = of_answer(&answer)
    {
        return Ok(session);
    }
    match answer.status {
        // Where the root names no sessions, the refusal may be of the path and not of the credentials.
        StatusCode::UNAUTHORIZED if sessions.is_some() => {
            Err(Error::BadCredentials { address: transport.address().to_string() })
        }
        // No sessions here, or all are taken: some BMCs have four of them, and other tools leak theirs. Whether the
        // credentials are right, the first request by Basic tells.
        _ => basic(transport, credentials, &answer),
    }
}

fn of_answer(answer: &Answer) -> Option<Authentication> {
    let mut token = answer.headers.get(&TOKEN)?.clone();
    token.set_sensitive(true);
    Some(Authentication::Session { token, path: answer.location() })
}

fn basic(transport: &Transport, credentials: &Credentials, answer: &Answer) -> Result<Authentication, Error> {
    let pair = STANDARD.encode(format!("{}:{}", credentials.username(), credentials.password()));
    let Ok(mut value) = HeaderValue::from_str(&format!("Basic {pair}")) else {
        return Err(transport.malformed("log-in", Messages::of(&answer.body).to_string()));
    };
    value.set_sensitive(true);
    Ok(Authentication::Basic(value))
}

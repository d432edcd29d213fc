//! Who is asking: sessions and Basic, and the resources around them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::StatusCode;
use http::header::{self, HeaderName};
use serde_json::{Value, json};

use super::answer::{Answer, Request};
use super::resource::{self, Resource};
use super::sessions::Session;
use super::{Bmc, object};
use crate::clock::Moment;
use crate::machine::log::Action;

/// Whoever sent a request, for the log.
pub(super) type Who = String;

const TOKEN: &str = "x-auth-token";

impl Bmc {
    /// Who sent this; an error answer if it has to be somebody and is nobody.
    pub(super) fn who(&mut self, request: &Request, now: Moment, open: bool) -> Result<Who, Box<Answer>> {
        if let Some(token) = request.header(TOKEN) {
            let session = self.sessions.of_token(now, token, &self.profile.session);
            return match session {
                Some(session) => Ok(format!("session {} of {}", session.id, session.user)),
                None if open => Ok("nobody".to_owned()),
                None => Err(Box::new(no_session())),
            };
        }
        if let Some(authorization) = request.header("authorization") {
            return match basic(authorization) {
                Some((user, password)) if self.accepts(&user, &password) => Ok(format!("basic {user}")),
                _ if open => Ok("nobody".to_owned()),
                _ => Err(Box::new(no_session())),
            };
        }
        if open { Ok("nobody".to_owned()) } else { Err(Box::new(no_session())) }
    }

    fn accepts(&self, user: &str, password: &str) -> bool {
        self.credentials.username == user && self.credentials.password == password
    }

    /// POST to Sessions.
    pub(super) fn log_in(&mut self, request: &Request, now: Moment) -> Answer {
        let Some(body) = object(&request.body) else { return Answer::malformed() };
        let text = |key: &str| body.get(key).and_then(Value::as_str);
        let (Some(user), Some(password)) = (text("UserName"), text("Password")) else {
            return Answer::error(
                StatusCode::BAD_REQUEST,
                "Base.1.12.PropertyMissing",
                "The properties UserName and Password are required properties and must be included in the request.",
                &["UserName"],
            );
        };
        if !self.accepts(user, password) {
            return unauthorized("Base.1.12.ResourceAtUriUnauthorized", "Invalid credentials.");
        }
        let Some(session) = self.sessions.open(now, user, &self.profile.session) else {
            return Answer::error(
                StatusCode::SERVICE_UNAVAILABLE,
                "Base.1.12.SessionLimitExceeded",
                "The session establishment failed due to the number of simultaneous sessions exceeding the limit of the implementation.",
                &[],
            );
        };
        let who = format!("session {} of {user}", session.id);
        self.machine.note(now, &who, Action::LoggedIn);
        let path = resource::path(self.profile, &Resource::Session(session.id.clone()));
        let host = request.header("host").unwrap_or("localhost");
        let scheme = if request.secure { "https" } else { "http" };
        let location =
            if self.profile.session.absolute_location { format!("{scheme}://{host}{path}") } else { path };
        Answer::json(StatusCode::CREATED, self.session_body(&session))
            .with(header::LOCATION, &location)
            .with(HeaderName::from_static(TOKEN), &session.token)
    }

    pub(super) fn session_service(&self) -> Value {
        json!({
            "@odata.id": resource::path(self.profile, &Resource::SessionService),
            "@odata.type": "#SessionService.v1_1_8.SessionService",
            "Id": "SessionService",
            "Name": "Session Service",
            "ServiceEnabled": true,
            "SessionTimeout": self.profile.session.idle.as_secs(),
            "Sessions": self.link(&Resource::Sessions),
            "Status": { "State": "Enabled", "Health": "OK" },
        })
    }

    pub(super) fn sessions_collection(&self) -> Value {
        let members: Vec<Resource> =
            self.sessions.all().iter().map(|session| Resource::Session(session.id.clone())).collect();
        self.collection("Session", &Resource::Sessions, &members)
    }

    pub(super) fn session(&self, id: &str) -> Option<Value> {
        self.sessions.get(id).map(|session| self.session_body(session))
    }

    fn session_body(&self, session: &Session) -> Value {
        json!({
            "@odata.id": resource::path(self.profile, &Resource::Session(session.id.clone())),
            "@odata.type": "#Session.v1_3_0.Session",
            "Id": session.id,
            "Name": "User Session",
            "UserName": session.user,
        })
    }
}

fn basic(header: &str) -> Option<(String, String)> {
    let (scheme, encoded) = header.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let decoded = String::from_utf8(STANDARD.decode(encoded.trim()).ok()?).ok()?;
    let (user, password) = decoded.split_once(':')?;
    Some((user.to_owned(), password.to_owned()))
}

/// 401 for whoever has no session.
pub(crate) fn no_session() -> Answer {
    unauthorized("Base.1.12.NoValidSession", "There is no valid session established with the implementation.")
}

/// 401 as a BMC says it.
fn unauthorized(id: &str, text: &str) -> Answer {
    Answer::error(StatusCode::UNAUTHORIZED, id, text, &[])
        .with(header::WWW_AUTHENTICATE, "Basic realm=\"Redfish\"")
}

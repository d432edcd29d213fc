//! Who is asking: sessions and Basic, and the resources around them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::header::{self, HeaderName};
use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::accounts::{Privilege, Role};
use super::answer::{Answer, Request};
use super::resource::{self, Resource};
use super::sessions::Session;
use super::{Bmc, object};
use crate::clock::Moment;
use crate::machine::log::Action;

/// Whoever sent a request, for the log.
pub(super) type Who = String;

/// Whoever sent a request, and what they may do.
#[derive(Debug)]
pub(super) struct Caller {
    pub(super) who: Who,
    user: String,
    role: Option<Role>,
}

impl Caller {
    fn nobody() -> Self {
        Self { who: "nobody".to_owned(), user: String::new(), role: None }
    }

    pub(super) fn may(&self, privilege: Privilege) -> bool {
        self.role.is_some_and(|role| role.may(privilege))
    }
}

const TOKEN: &str = "x-auth-token";

impl Bmc {
    /// Who sent this; an error answer if it has to be somebody and is nobody.
    pub(super) fn caller(
        &mut self,
        request: &Request,
        now: Moment,
        open: bool,
    ) -> Result<Caller, Box<Answer>> {
        let known = match (request.header(TOKEN), request.header("authorization")) {
            (Some(token), _) => self.by_session(token, now),
            (None, Some(authorization)) => self.by_basic(authorization),
            (None, None) => None,
        };
        match known {
            Some(caller) => Ok(caller),
            None if open => Ok(Caller::nobody()),
            None => Err(Box::new(no_session())),
        }
    }

    fn by_session(&mut self, token: &str, now: Moment) -> Option<Caller> {
        let session = self.sessions.of_token(now, token, &self.profile.session)?;
        let (id, user) = (session.id.clone(), session.user.clone());
        let role = Some(self.role_of(&user)?);
        Some(Caller { who: format!("session {id} of {user}"), user, role })
    }

    fn by_basic(&self, authorization: &str) -> Option<Caller> {
        let (user, password) = basic(authorization)?;
        self.accepts(&user, &password).then(|| Caller {
            who: format!("basic {user}"),
            role: self.role_of(&user),
            user,
        })
    }

    fn role_of(&self, user: &str) -> Option<Role> {
        if self.credentials.username == user {
            return Some(Role::Administrator);
        }
        self.accounts.named(user).filter(|account| account.enabled).map(|account| account.role)
    }

    fn accepts(&self, user: &str, password: &str) -> bool {
        let is_first = self.credentials.username == user && self.credentials.password == password;
        let added = self.accounts.named(user).filter(|account| account.enabled);
        is_first || added.is_some_and(|account| account.password == password)
    }

    /// Whether somebody may do this: reading is for everybody who is known, but for other people's accounts.
    pub(super) fn permits(&self, caller: &Caller, found: &Resource, method: &Method) -> bool {
        let is_read = method == Method::GET || method == Method::HEAD;
        if let Resource::Account(id) = found {
            let own = self.accounts.get(id).is_some_and(|account| account.user == caller.user);
            let change_own = own && (is_read || method == Method::PATCH);
            return caller.may(Privilege::ConfigureUsers)
                || (change_own && caller.may(Privilege::ConfigureSelf));
        }
        if is_read {
            return caller.may(Privilege::Login);
        }
        if let Resource::Session(id) = found {
            let own = self.sessions.get(id).is_some_and(|session| session.user == caller.user);
            return caller.may(Privilege::ConfigureManager) || (own && caller.may(Privilege::ConfigureSelf));
        }
        if matches!(found, Resource::Accounts) {
            return caller.may(Privilege::ConfigureUsers);
        }
        if matches!(found, Resource::ManagerReset | Resource::SessionService) {
            return caller.may(Privilege::ConfigureManager);
        }
        caller.may(Privilege::ConfigureComponents)
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

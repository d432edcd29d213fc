//! A BMC: Redfish over the machine behind it, with the habits of a profile.
//!
//! One request goes in, one answer comes out, at a time that is handed in; connections, delays and
//! what happens outside of the machine are somebody else's.

pub mod accounts;
pub mod answer;
pub mod identity;
pub mod resource;
pub mod sessions;
pub mod tasks;

pub(crate) mod access;
mod account_service;
mod boot;
mod inventory;
mod media;
mod metadata;
mod power;
mod root;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use http::header;
use http::{Method, StatusCode};
use serde_json::{Map, Value, json};

use self::access::Caller;
use self::accounts::Accounts;
use self::answer::{Answer, Body, Request};
use self::identity::Identity;
use self::resource::Resource;
use self::sessions::Sessions;
use self::tasks::Tasks;
use crate::clock::{Clock, Moment, Pace};
use crate::faults::{Fault, Faults};
use crate::machine::Machine;
use crate::machine::media::Slot;
use crate::profiles::Profile;
use crate::profiles::habits::{ETagForm, IfMatch};

/// Who may log in.
#[derive(Debug, Clone)]
pub struct Credentials {
    /// The only user.
    pub username: String,
    /// And the password.
    pub password: String,
}

/// One BMC and its machine.
#[derive(Debug)]
pub struct Bmc {
    /// Its kind.
    pub profile: &'static Profile,
    /// Who it is.
    pub identity: Identity,
    /// The machine.
    pub machine: Machine,
    /// What goes wrong.
    pub faults: Faults,
    credentials: Arc<Credentials>,
    clock: Clock,
    pace: Pace,
    accounts: Accounts,
    sessions: Sessions,
    tasks: Tasks,
    requests: u64,
    unchanged: u64,
}

impl Bmc {
    /// A BMC whose machine is off.
    #[must_use]
    pub fn new(
        profile: &'static Profile,
        identity: Identity,
        credentials: Arc<Credentials>,
        clock: Clock,
        pace: Pace,
    ) -> Self {
        Self {
            profile,
            identity,
            machine: new_machine(profile, pace),
            faults: Faults::default(),
            credentials,
            clock,
            pace,
            accounts: Accounts::default(),
            sessions: Sessions::default(),
            tasks: Tasks::default(),
            requests: 0,
            unchanged: 0,
        }
    }

    /// As new: machine off, no media, no override, no sessions, no faults, no log.
    pub fn reset_to_new(&mut self) {
        self.machine = new_machine(self.profile, self.pace);
        self.faults.clear();
        self.accounts = Accounts::default();
        self.sessions = Sessions::default();
        self.tasks = Tasks::default();
        self.requests = 0;
        self.unchanged = 0;
    }

    /// How many requests it has seen.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// How many of them it answered with 304.
    #[must_use]
    pub fn unchanged(&self) -> u64 {
        self.unchanged
    }

    /// How many sessions are open, and how many were ever opened.
    #[must_use]
    pub fn sessions(&self) -> (usize, u64) {
        (self.sessions.all().len(), self.sessions.opened())
    }

    /// Forgets every session.
    pub fn forget_sessions(&mut self) {
        self.sessions.forget();
    }

    /// From now on others may log in, and nobody is logged in.
    pub fn change_credentials(&mut self, to: Credentials) {
        self.credentials = Arc::new(to);
        self.sessions.forget();
    }

    /// Counts a request, before anything can go wrong with it.
    pub fn count_request(&mut self) {
        self.requests += 1;
    }

    /// Answers one request.
    pub fn answer(&mut self, request: &Request, now: Moment) -> Answer {
        self.machine.advance(now);
        let answer = self.route(request, now);
        self.finish(request, answer)
    }

    fn route(&mut self, request: &Request, now: Moment) -> Answer {
        if request.header("odata-version").is_some_and(|version| version.trim() != "4.0") {
            return Answer::error(
                StatusCode::PRECONDITION_FAILED,
                "Base.1.12.GeneralError",
                "Only OData-Version 4.0 is served.",
                &[],
            );
        }
        let found = resource::find(self.profile, resource_path(request));
        let is_login = found == Some(Resource::Sessions) && request.method == Method::POST;
        let is_open = is_login || found.as_ref().is_some_and(resource::is_public);
        let caller = match self.caller(request, now, is_open) {
            Ok(caller) => caller,
            Err(answer) => return *answer,
        };
        let Some(found) = found else { return Answer::not_found(&request.path) };
        let allowed = resource::methods(self.profile, &found);
        if !allowed.contains(&request.method) {
            return not_allowed(&request.method, allowed);
        }
        if !is_open && !self.permits(&caller, &found, &request.method) {
            return Answer::forbidden();
        }
        if let Some(refusal) = refuse_query(request) {
            return refusal;
        }
        match request.method {
            Method::GET | Method::HEAD => {
                let answer = self.get(request, &found, now);
                answer.with(header::ALLOW, &allow(allowed))
            }
            Method::PATCH => self.patch(request, &found, &caller, now),
            Method::POST => self.post(request, &found, &caller, now),
            Method::DELETE => self.delete(&found, &request.path),
            _ => not_allowed(&request.method, allowed),
        }
    }

    fn get(&mut self, request: &Request, found: &Resource, now: Moment) -> Answer {
        if *found == Resource::Metadata {
            let mut answer = Answer::empty(StatusCode::OK);
            answer.body = Body::Xml(metadata::document(self.profile));
            return answer;
        }
        let lies =
            matches!(found, Resource::Media(_)) && self.faults.strikes(Fault::LyingMedia, &request.path);
        let Some(mut body) = self.read(found, now, lies) else { return Answer::not_found(&request.path) };
        let Some(etag) = self.etag(found, &body) else { return Answer::json(StatusCode::OK, body) };
        if request.header("if-none-match").is_some_and(|given| given.split(',').any(|one| one.trim() == etag))
        {
            self.unchanged += 1;
            return Answer::empty(StatusCode::NOT_MODIFIED).with(header::ETAG, &etag);
        }
        if let Some(object) = body.as_object_mut().filter(|object| object.contains_key("@odata.id")) {
            object.insert("@odata.etag".to_owned(), json!(etag));
        }
        Answer::json(StatusCode::OK, body).with(header::ETAG, &etag)
    }

    fn read(&self, found: &Resource, now: Moment, lies: bool) -> Option<Value> {
        match found {
            Resource::Versions => Some(json!({ "v1": "/redfish/v1/" })),
            Resource::Metadata => None,
            Resource::Root => Some(self.root()),
            Resource::OData => Some(self.odata()),
            Resource::SessionService => Some(self.session_service()),
            Resource::Sessions => Some(self.sessions_collection()),
            Resource::Session(id) => self.session(id),
            Resource::AccountService => Some(self.account_service()),
            Resource::Accounts => Some(self.accounts_collection()),
            Resource::Account(id) => self.account(id),
            Resource::Roles => Some(self.roles()),
            Resource::Role(role) => Some(self.role(*role)),
            Resource::Systems => Some(self.systems()),
            Resource::System => Some(self.system(now)),
            Resource::Bystander(i) => self.bystander(*i),
            Resource::Settings => Some(self.settings()),
            Resource::ResetActionInfo => Some(self.reset_action_info()),
            Resource::SystemReset | Resource::ManagerReset | Resource::Insert(_) | Resource::Eject(_) => None,
            Resource::Processors => {
                Some(self.numbered("Processor", found, resource::PROCESSORS, Resource::Processor))
            }
            Resource::Processor(i) => Some(self.processor(*i)),
            Resource::Memory => Some(self.numbered("Memory", found, resource::DIMMS, Resource::Dimm)),
            Resource::Dimm(i) => Some(self.dimm(*i)),
            Resource::Nics => Some(self.numbered("EthernetInterface", found, resource::NICS, Resource::Nic)),
            Resource::Nic(i) => Some(self.nic(*i)),
            Resource::Storages => Some(self.collection("Storage", found, &[Resource::Storage])),
            Resource::Storage => Some(self.storage()),
            Resource::Drive(i) => Some(self.drive(*i)),
            Resource::Managers => Some(self.collection("Manager", found, &[Resource::Manager])),
            Resource::Manager => Some(self.manager()),
            Resource::ManagerNics => {
                Some(self.collection("EthernetInterface", found, &[Resource::ManagerNic]))
            }
            Resource::ManagerNic => Some(self.manager_nic()),
            Resource::MediaOf(home) => Some(self.media_collection(*home)),
            Resource::Media(slot) => self.media(*slot, now, lies),
            Resource::Chassises => Some(self.collection("Chassis", found, &[Resource::Chassis])),
            Resource::Chassis => Some(self.chassis()),
            Resource::TaskService => Some(self.task_service()),
            Resource::Tasks => Some(self.tasks_collection(now)),
            Resource::Task(id) => self.task(id, now),
            Resource::UpdateService => Some(self.update_service()),
            Resource::FirmwareInventory => {
                Some(self.numbered("SoftwareInventory", found, resource::FIRMWARES.len(), Resource::Firmware))
            }
            Resource::Firmware(i) => Some(self.firmware(*i)),
            Resource::Registries => Some(self.numbered(
                "MessageRegistryFile",
                found,
                resource::REGISTRIES.len(),
                Resource::Registry,
            )),
            Resource::Registry(i) => Some(self.registry(*i)),
        }
    }

    fn patch(&mut self, request: &Request, found: &Resource, caller: &Caller, now: Moment) -> Answer {
        if let Some(refusal) = self.refuse_if_match(request, found, now) {
            return refusal;
        }
        let Some(body) = object(&request.body) else { return Answer::malformed() };
        if body.is_empty() {
            return Answer::error(
                StatusCode::BAD_REQUEST,
                "Base.1.12.EmptyJSON",
                "The request body submitted contained an empty JSON object and the service is unable to process it.",
                &[],
            );
        }
        if matches!(found, Resource::System | Resource::Settings) {
            self.patch_system(request, found, &body, &caller.who, now)
        } else if let Resource::Media(slot) = found {
            self.patch_media(*slot, &body, &caller.who, now)
        } else if let Resource::Account(id) = found {
            self.patch_account(request, id, &body, caller, now)
        } else {
            body.keys().next().map_or_else(Answer::malformed, |key| Answer::not_writable(key))
        }
    }

    fn post(&mut self, request: &Request, found: &Resource, caller: &Caller, now: Moment) -> Answer {
        if *found == Resource::Sessions {
            self.log_in(request, now)
        } else if *found == Resource::Accounts {
            self.add_account(request)
        } else if *found == Resource::SystemReset {
            self.reset_system(request, &caller.who, now)
        } else if let Resource::Insert(slot) = found {
            self.insert_media(request, *slot, &caller.who, now)
        } else if let Resource::Eject(slot) = found {
            self.eject_media(request, *slot, &caller.who, now)
        } else {
            // What is left is the reset of the BMC itself: it forgets who was logged in.
            self.sessions.forget();
            Answer::empty(StatusCode::NO_CONTENT)
        }
    }

    fn delete(&mut self, found: &Resource, path: &str) -> Answer {
        if let Resource::Account(id) = found {
            return self.remove_account(id, path);
        }
        let closed = matches!(found, Resource::Session(id) if self.sessions.close(id));
        if closed { Answer::empty(StatusCode::NO_CONTENT) } else { Answer::not_found(path) }
    }

    /// The ETag of a resource as it would be sent, if this BMC has any.
    fn etag(&self, found: &Resource, body: &Value) -> Option<String> {
        let mut hasher = DefaultHasher::new();
        body.to_string().hash(&mut hasher);
        self.changes(found).hash(&mut hasher);
        let hash = hasher.finish();
        match self.profile.etag.form {
            ETagForm::None => None,
            ETagForm::Strong => Some(format!("\"{hash:016x}\"")),
            ETagForm::Weak => Some(format!("W/\"{:08X}\"", hash >> 32)),
        }
    }

    fn refuse_if_match(&self, request: &Request, found: &Resource, now: Moment) -> Option<Answer> {
        let current = self.read(found, now, false).and_then(|body| self.etag(found, &body))?;
        let given = request.header("if-match");
        let matches = |given: &str| given.split(',').any(|one| one.trim() == current);
        match (self.profile.etag.if_match, given) {
            (IfMatch::Ignored, _) | (IfMatch::Checked, None | Some("*")) => None,
            (IfMatch::Required, None) => Some(Answer::error(
                StatusCode::PRECONDITION_REQUIRED,
                "Base.1.12.PreconditionRequired",
                "A precondition header or annotation is required to change this resource.",
                &[],
            )),
            (IfMatch::Checked | IfMatch::Required, Some(given)) if matches(given) => None,
            (IfMatch::Checked | IfMatch::Required, Some(_)) => Some(Answer::error(
                StatusCode::PRECONDITION_FAILED,
                "Base.1.12.PreconditionFailed",
                "The ETag supplied did not match the current ETag of the resource.",
                &[],
            )),
        }
    }

    /// What every answer gets: slashes where the profile has them, and the schema's link.
    fn finish(&self, request: &Request, mut answer: Answer) -> Answer {
        if let Body::Json(body) = &mut answer.body {
            if self.profile.trailing_slash {
                add_slashes(body);
            }
            let is_read = request.method == Method::GET || request.method == Method::HEAD;
            if let Some(link) = describing(body).filter(|_| is_read) {
                answer = answer.with(header::LINK, &link);
            }
        }
        answer
    }
}

fn new_machine(profile: &Profile, pace: Pace) -> Machine {
    Machine::new(
        profile.timing.at(pace),
        profile
            .media
            .slots
            .iter()
            .map(|slot| Slot { boots: slot.boots, ..Slot::new(slot.id.to_owned()) })
            .collect(),
    )
}

/// The path that a request is about: to POST to the members of a collection is to POST to the collection.
fn resource_path(request: &Request) -> &str {
    let path = request.path.as_str();
    let members = path.strip_suffix("/Members").filter(|_| request.method == Method::POST);
    members.unwrap_or(path)
}

/// The JSON object in a body.
fn object(body: &[u8]) -> Option<Map<String, Value>> {
    serde_json::from_slice(body).ok()
}

fn not_allowed(method: &Method, allowed: &[Method]) -> Answer {
    Answer::error(
        StatusCode::METHOD_NOT_ALLOWED,
        "Base.1.12.OperationNotAllowed",
        &format!("The HTTP method {method} is not allowed on this resource."),
        &[],
    )
    .with(header::ALLOW, &allow(allowed))
}

/// What may be done to a resource, as the header says it.
fn allow(allowed: &[Method]) -> String {
    let names: Vec<&str> = allowed.iter().map(Method::as_str).collect();
    names.join(", ")
}

/// Query parameters that Redfish reserves and this BMC does not serve.
fn refuse_query(request: &Request) -> Option<Answer> {
    let query = request.query.as_deref()?;
    let reserved = query.split('&').find(|pair| pair.starts_with('$') || pair.starts_with("%24"))?;
    Some(Answer::error(
        StatusCode::NOT_IMPLEMENTED,
        "Base.1.12.QueryNotSupported",
        &format!("Querying is not supported by the implementation: {reserved}."),
        &[],
    ))
}

fn add_slashes(value: &mut Value) {
    match value {
        Value::Object(object) => {
            for (key, value) in object.iter_mut() {
                let is_link = key == "@odata.id" || key == "target";
                if let (true, Value::String(link)) = (is_link, &mut *value) {
                    if !link.ends_with('/') {
                        link.push('/');
                    }
                } else {
                    add_slashes(value);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(add_slashes),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => (),
    }
}

/// `Link: <schema>; rel=describedby`, from `@odata.type`.
fn describing(body: &Value) -> Option<String> {
    let kind = body.get("@odata.type")?.as_str()?.trim_start_matches('#');
    let (schema, _) = kind.rsplit_once('.')?;
    Some(format!("<https://redfish.dmtf.org/schemas/v1/{schema}.json>; rel=describedby"))
}

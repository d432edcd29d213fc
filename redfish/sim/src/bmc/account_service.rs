//! The AccountService: accounts and roles as the BMC shows them, and changes of accounts.

use http::{StatusCode, header};
use serde_json::{Map, Value, json};

use super::access::Caller;
use super::accounts::{Account, NotAdded, Privilege, Role};
use super::answer::{Answer, Request};
use super::inventory::ok;
use super::resource::{self, Resource};
use super::{Bmc, object};
use crate::clock::Moment;

/// The account that the whole fleet shares.
const FIRST: &str = "1";

const USER: &str = "UserName";
const PASSWORD: &str = "Password";
const ROLE: &str = "RoleId";
const ENABLED: &str = "Enabled";

impl Bmc {
    pub(super) fn account_service(&self) -> Value {
        json!({
            "@odata.id": resource::path(self.profile, &Resource::AccountService),
            "@odata.type": "#AccountService.v1_10_0.AccountService",
            "Id": "AccountService",
            "Name": "Account Service",
            "ServiceEnabled": true,
            "Accounts": self.link(&Resource::Accounts),
            "Roles": self.link(&Resource::Roles),
            "Status": ok(),
        })
    }

    pub(super) fn accounts_collection(&self) -> Value {
        let added = self.accounts.all().iter().map(|account| account.id.clone());
        let members: Vec<Resource> =
            std::iter::once(FIRST.to_owned()).chain(added).map(Resource::Account).collect();
        self.collection("ManagerAccount", &Resource::Accounts, &members)
    }

    pub(super) fn account(&self, id: &str) -> Option<Value> {
        if id == FIRST {
            return Some(self.account_body(id, &self.credentials.username, Role::Administrator, true));
        }
        let account = self.accounts.get(id)?;
        Some(self.account_body(id, &account.user, account.role, account.enabled))
    }

    fn account_body(&self, id: &str, user: &str, role: Role, enabled: bool) -> Value {
        json!({
            "@odata.id": resource::path(self.profile, &Resource::Account(id.to_owned())),
            "@odata.type": "#ManagerAccount.v1_8_0.ManagerAccount",
            "Id": id,
            "Name": "User Account",
            "UserName": user,
            "Password": null,
            "RoleId": role.name(),
            "Enabled": enabled,
            "Locked": false,
            "AccountTypes": ["Redfish"],
            "Links": { "Role": self.link(&Resource::Role(role)) },
        })
    }

    pub(super) fn roles(&self) -> Value {
        self.collection("Role", &Resource::Roles, &Role::ALL.map(Resource::Role))
    }

    pub(super) fn role(&self, role: Role) -> Value {
        let privileges: Vec<&str> = role.privileges().iter().map(|privilege| privilege.name()).collect();
        json!({
            "@odata.id": resource::path(self.profile, &Resource::Role(role)),
            "@odata.type": "#Role.v1_3_0.Role",
            "Id": role.name(),
            "RoleId": role.name(),
            "Name": "User Role",
            "IsPredefined": true,
            "AssignedPrivileges": privileges,
        })
    }

    /// How often an account was changed: part of its ETag, because a new password does not show.
    pub(super) fn changes(&self, found: &Resource) -> Option<u64> {
        let Resource::Account(id) = found else { return None };
        self.accounts.get(id).map(|account| account.changes)
    }

    /// POST to Accounts.
    pub(super) fn add_account(&mut self, request: &Request) -> Answer {
        let Some(body) = object(&request.body) else { return Answer::malformed() };
        let text = |key: &str| body.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
        let (Some(user), Some(password), Some(role)) = (text(USER), text(PASSWORD), text(ROLE)) else {
            let key = [USER, PASSWORD, ROLE].into_iter().find(|key| text(key).is_none());
            return missing(key.unwrap_or_default());
        };
        if let Some(key) = body.keys().find(|key| ![USER, PASSWORD, ROLE, ENABLED].contains(&key.as_str())) {
            return Answer::unknown_property(key);
        }
        let Some(role) = Role::parse(role) else { return Answer::not_in_list(ROLE, role) };
        let enabled = body.get(ENABLED).and_then(Value::as_bool).unwrap_or(true);
        if user == self.credentials.username {
            return exists(user);
        }
        let id = match self.accounts.add(user, password, role, enabled) {
            Ok(id) => id,
            Err(NotAdded::Taken) => return exists(user),
            Err(NotAdded::Full) => return full(),
        };
        let path = resource::path(self.profile, &Resource::Account(id.clone()));
        let body = self.account(&id).unwrap_or(Value::Null);
        Answer::json(StatusCode::CREATED, body).with(header::LOCATION, &path)
    }

    /// PATCH of an account. Whoever may not change accounts may change their own password, and nothing else.
    pub(super) fn patch_account(
        &mut self,
        request: &Request,
        id: &str,
        body: &Map<String, Value>,
        caller: &Caller,
        now: Moment,
    ) -> Answer {
        if body.keys().all(|key| key.contains("@odata.")) {
            return nothing_to_do();
        }
        if body.keys().any(|key| key != PASSWORD) && !caller.may(Privilege::ConfigureUsers) {
            return Answer::forbidden();
        }
        let Some(account) = self.accounts.get(id) else {
            return if id == FIRST {
                Answer::not_writable("UserName")
            } else {
                Answer::not_found(&request.path)
            };
        };
        let changed = match with(account.clone(), body) {
            Ok(changed) => changed,
            Err(refusal) => return *refusal,
        };
        if !changed.enabled {
            self.sessions.close_of(&changed.user);
        }
        self.accounts.replace(changed);
        self.changed(&Resource::Account(id.to_owned()), now)
    }

    /// Removes an account and ends its sessions.
    pub(super) fn remove_account(&mut self, id: &str, path: &str) -> Answer {
        if id == FIRST {
            return Answer::forbidden();
        }
        match self.accounts.remove(id) {
            Some(user) => {
                self.sessions.close_of(&user);
                Answer::empty(StatusCode::NO_CONTENT)
            }
            None => Answer::not_found(path),
        }
    }
}

/// An account with what a PATCH asks for; names stay, because sessions and logs go by them.
fn with(mut account: Account, body: &Map<String, Value>) -> Result<Account, Box<Answer>> {
    for (key, value) in body {
        match (key.as_str(), value) {
            (PASSWORD, Value::String(password)) if !password.is_empty() => {
                account.password.clone_from(password);
            }
            (ENABLED, Value::Bool(enabled)) => account.enabled = *enabled,
            (ROLE, Value::String(role)) => {
                account.role = Role::parse(role).ok_or_else(|| Box::new(Answer::not_in_list(ROLE, role)))?;
            }
            // What stands there is not repeated: it may be meant as a password.
            (PASSWORD | ENABLED | ROLE, _) => return Err(Box::new(Answer::not_in_list(key, "(this value)"))),
            (USER, _) => return Err(Box::new(Answer::not_writable(USER))),
            (other, _) => return Err(Box::new(Answer::unknown_property(other))),
        }
    }
    account.changes += 1;
    Ok(account)
}

fn nothing_to_do() -> Answer {
    Answer::error(
        StatusCode::BAD_REQUEST,
        "Base.1.12.NoOperation",
        "The request body submitted contain no data to act upon and no changes to the resource took place.",
        &[],
    )
}

fn full() -> Answer {
    Answer::error(
        StatusCode::BAD_REQUEST,
        "Base.1.12.CreateLimitReachedForResource",
        "The create operation failed because the resource has reached the limit of possible resources.",
        &[],
    )
}

fn missing(property: &str) -> Answer {
    Answer::error(
        StatusCode::BAD_REQUEST,
        "Base.1.12.PropertyMissing",
        &format!("The property {property} is a required property and must be included in the request."),
        &[property],
    )
}

fn exists(user: &str) -> Answer {
    Answer::error(
        StatusCode::BAD_REQUEST,
        "Base.1.12.ResourceAlreadyExists",
        &format!(
            "The requested resource of type ManagerAccount with the property UserName with the value '{user}' already exists."
        ),
        &["ManagerAccount", "UserName", user],
    )
}

//! Who may log in, and what each may do. The first account is the fleet's own and can't be changed; what is added to
//! it is kept here, so a BMC that nobody adds an account to holds nothing.

/// How many accounts there may be beside the first.
const MOST: usize = 15;

/// What a Redfish service may ask for before it does something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Privilege {
    /// Read.
    Login,
    /// Change the BMC.
    ConfigureManager,
    /// Change accounts.
    ConfigureUsers,
    /// Change the machine.
    ConfigureComponents,
    /// Change one's own password and end one's own sessions.
    ConfigureSelf,
}

impl Privilege {
    /// Its name in Redfish.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Login => "Login",
            Self::ConfigureManager => "ConfigureManager",
            Self::ConfigureUsers => "ConfigureUsers",
            Self::ConfigureComponents => "ConfigureComponents",
            Self::ConfigureSelf => "ConfigureSelf",
        }
    }
}

/// The roles that Redfish demands of every service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Everything.
    Administrator,
    /// The machine, but neither the BMC nor accounts.
    Operator,
    /// Nothing but to look.
    ReadOnly,
}

impl Role {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Administrator, Self::Operator, Self::ReadOnly];

    /// Its name in Redfish.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Administrator => "Administrator",
            Self::Operator => "Operator",
            Self::ReadOnly => "ReadOnly",
        }
    }

    /// The role of a name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.name() == name)
    }

    /// What it is allowed.
    #[must_use]
    pub fn privileges(self) -> &'static [Privilege] {
        match self {
            Self::Administrator => &[
                Privilege::Login,
                Privilege::ConfigureManager,
                Privilege::ConfigureUsers,
                Privilege::ConfigureComponents,
                Privilege::ConfigureSelf,
            ],
            Self::Operator => &[Privilege::Login, Privilege::ConfigureComponents, Privilege::ConfigureSelf],
            Self::ReadOnly => &[Privilege::Login, Privilege::ConfigureSelf],
        }
    }

    /// Whether it is allowed this.
    #[must_use]
    pub fn may(self, privilege: Privilege) -> bool {
        self.privileges().contains(&privilege)
    }
}

/// An account that somebody has added.
#[derive(Debug, Clone)]
pub struct Account {
    /// Its id in the collection.
    pub id: String,
    /// The name to log in with.
    pub user: String,
    /// And the password.
    pub password: String,
    /// What it may do.
    pub role: Role,
    /// Whether it may log in.
    pub enabled: bool,
    /// How often it was changed: a password shows in no other way.
    pub changes: u64,
}

/// Why an account was not added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotAdded {
    /// Somebody has that name.
    Taken,
    /// There is no room for more.
    Full,
}

/// The accounts that were added.
#[derive(Debug, Default)]
pub struct Accounts {
    added: Vec<Account>,
    ever: u64,
}

impl Accounts {
    /// Adds one, if there is room and nobody has that name, and says its id.
    pub fn add(&mut self, user: &str, password: &str, role: Role, enabled: bool) -> Result<String, NotAdded> {
        if self.named(user).is_some() {
            return Err(NotAdded::Taken);
        }
        if self.added.len() >= MOST {
            return Err(NotAdded::Full);
        }
        self.ever += 1;
        // The fleet's own account is number one.
        let id = (self.ever + 1).to_string();
        self.added.push(Account {
            id: id.clone(),
            user: user.to_owned(),
            password: password.to_owned(),
            role,
            enabled,
            changes: 0,
        });
        Ok(id)
    }

    /// All that were added.
    #[must_use]
    pub fn all(&self) -> &[Account] {
        &self.added
    }

    /// The one with this id.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<&Account> {
        self.added.iter().find(|account| account.id == id)
    }

    /// Puts a changed account in the place of the one with its id.
    pub fn replace(&mut self, changed: Account) {
        if let Some(account) = self.added.iter_mut().find(|account| account.id == changed.id) {
            *account = changed;
        }
    }

    /// The one with this name.
    #[must_use]
    pub fn named(&self, user: &str) -> Option<&Account> {
        self.added.iter().find(|account| account.user == user)
    }

    /// Removes one, and says whose it was.
    pub fn remove(&mut self, id: &str) -> Option<String> {
        let at = self.added.iter().position(|account| account.id == id)?;
        Some(self.added.remove(at).user)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_ids_are_not_used_again() {
        let mut accounts = Accounts::default();
        assert_eq!(accounts.add("ann", "x", Role::Operator, true).unwrap(), "2");
        assert_eq!(accounts.add("ann", "y", Role::Operator, true), Err(NotAdded::Taken));
        assert_eq!(accounts.remove("2"), Some("ann".to_owned()));
        assert_eq!(accounts.remove("2"), None);
        assert_eq!(accounts.add("ann", "x", Role::ReadOnly, true).unwrap(), "3");
    }

    #[test]
    fn there_is_room_for_only_so_many() {
        let mut accounts = Accounts::default();
        for n in 0..MOST {
            accounts.add(&format!("u{n}"), "x", Role::ReadOnly, true).unwrap();
        }
        assert_eq!(accounts.add("one more", "x", Role::ReadOnly, true), Err(NotAdded::Full));
    }

    #[test]
    fn who_only_looks_changes_only_themselves() {
        assert!(Role::ReadOnly.may(Privilege::ConfigureSelf));
        assert!(!Role::ReadOnly.may(Privilege::ConfigureComponents));
        assert!(Role::Operator.may(Privilege::ConfigureComponents));
        assert!(!Role::Operator.may(Privilege::ConfigureUsers));
        assert_eq!(Role::parse("Operator"), Some(Role::Operator));
        assert_eq!(Role::parse("operator"), None);
    }
}

//! A user name and a password that never show.

use std::fmt;

use secrecy::{ExposeSecret, SecretString};

/// What a BMC knows us by.
#[derive(Clone)]
pub struct Credentials {
    username: String,
    password: SecretString,
}

impl Credentials {
    /// Takes them over; the password is wiped from memory when the last copy goes.
    #[must_use]
    pub fn new(username: impl Into<String>, password: impl Into<SecretString>) -> Self {
        Self { username: username.into(), password: password.into() }
    }

    pub(crate) fn username(&self) -> &str {
        &self.username
    }

    pub(crate) fn password(&self) -> &str {
        self.password.expose_secret()
    }
}

impl PartialEq for Credentials {
    fn eq(&self, other: &Self) -> bool {
        self.username == other.username && self.password() == other.password()
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Credentials({}, …)", self.username)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_password_does_not_show() {
        let credentials = Credentials::new("root", "calvin");
        assert!(!format!("{credentials:?}").contains("calvin"));
        assert_ne!(credentials, Credentials::new("root", "other"));
    }
}

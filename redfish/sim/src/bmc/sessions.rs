//! The sessions of a BMC: few, and gone after a while without use.

use crate::clock::Moment;
use crate::profiles::habits::SessionHabits;

/// One session.
#[derive(Debug, Clone)]
pub struct Session {
    /// Its id in the collection.
    pub id: String,
    /// What proves it.
    pub token: String,
    /// Who opened it.
    pub user: String,
    /// The last request.
    pub used: Moment,
}

/// All sessions of a BMC.
#[derive(Debug, Default)]
pub struct Sessions {
    open: Vec<Session>,
    opened: u64,
}

impl Sessions {
    /// Opens one, if there is room.
    pub fn open(&mut self, now: Moment, user: &str, habits: &SessionHabits) -> Option<Session> {
        self.expire(now, habits);
        if self.open.len() >= habits.max {
            return None;
        }
        self.opened += 1;
        let token = format!("{:016x}{:016x}", fastrand::u64(..), fastrand::u64(..));
        let session = Session { id: self.opened.to_string(), token, user: user.to_owned(), used: now };
        self.open.push(session.clone());
        Some(session)
    }

    /// The session of a token, which counts as used.
    pub fn of_token(&mut self, now: Moment, token: &str, habits: &SessionHabits) -> Option<&Session> {
        self.expire(now, habits);
        let session = self.open.iter_mut().find(|session| session.token == token)?;
        session.used = now;
        Some(session)
    }

    /// The session with this id.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<&Session> {
        self.open.iter().find(|session| session.id == id)
    }

    /// All sessions.
    #[must_use]
    pub fn all(&self) -> &[Session] {
        &self.open
    }

    /// How many were ever opened.
    #[must_use]
    pub fn opened(&self) -> u64 {
        self.opened
    }

    /// Closes one; false if there is none.
    pub fn close(&mut self, id: &str) -> bool {
        let before = self.open.len();
        self.open.retain(|session| session.id != id);
        self.open.len() < before
    }

    /// Closes all of a user's.
    pub fn close_of(&mut self, user: &str) {
        self.open.retain(|session| session.user != user);
    }

    /// Forgets all.
    pub fn forget(&mut self) {
        self.open.clear();
    }

    fn expire(&mut self, now: Moment, habits: &SessionHabits) {
        self.open.retain(|session| now.saturating_sub(session.used) < habits.idle);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;
    use std::time::Duration;

    const HABITS: SessionHabits =
        SessionHabits { idle: Duration::from_secs(10), max: 2, absolute_location: false };

    fn at(seconds: u64) -> Moment {
        Duration::from_secs(seconds)
    }

    #[test]
    fn use_keeps_a_session_and_idleness_ends_it() {
        let mut sessions = Sessions::default();
        let token = sessions.open(at(0), "admin", &HABITS).unwrap().token;
        assert!(sessions.of_token(at(9), &token, &HABITS).is_some());
        assert!(sessions.of_token(at(18), &token, &HABITS).is_some());
        assert!(sessions.of_token(at(28), &token, &HABITS).is_none());
    }

    #[test]
    fn there_are_only_so_many() {
        let mut sessions = Sessions::default();
        let first = sessions.open(at(0), "admin", &HABITS).unwrap();
        assert!(sessions.open(at(0), "admin", &HABITS).is_some());
        assert!(sessions.open(at(0), "admin", &HABITS).is_none());
        assert!(sessions.close(&first.id));
        assert!(!sessions.close(&first.id));
        assert!(sessions.open(at(0), "admin", &HABITS).is_some());
    }
}

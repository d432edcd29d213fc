//! Restarts: each is made once.
//!
//! What a tenant writes on its claim is taken off and replaced by our own annotation with a token, in one patch; that is
//! written onto the host, and then taken off the claim. The host remembers which token it has done. So a crash between
//! any two writes neither loses a restart nor makes two of one.

use std::fmt;

use beskar7_api::{PhysicalHost, annotations};

use super::hold::annotation;

/// A token is 128 bits in hexadecimal digits.
const MOST_DIGITS: usize = 32;

/// How a machine is restarted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Its operating system is asked to shut down first.
    Soft,
    /// Its power is cut.
    Hard,
}

impl Mode {
    const fn word(self) -> &'static str {
        match self {
            Self::Soft => "soft",
            Self::Hard => "hard",
        }
    }
}

/// A restart that is to be made once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restart {
    /// How.
    pub mode: Mode,
    /// Which: another one for each.
    pub token: String,
}

impl Restart {
    /// Reads our annotation; what is not one of ours is none.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (mode, token) = text.split_once(' ')?;
        let mode = [Mode::Soft, Mode::Hard].into_iter().find(|known| known.word() == mode)?;
        let is_one =
            (1..=MOST_DIGITS).contains(&token.len()) && token.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_one.then(|| Self { mode, token: token.to_owned() })
    }
}

impl fmt::Display for Restart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.mode.word(), self.token)
    }
}

/// The restart that a host has been told to make, and has not made.
#[must_use]
pub fn pending(host: &PhysicalHost) -> Option<Restart> {
    let wanted = annotation(host, annotations::RESTART).and_then(Restart::parse)?;
    (annotation(host, annotations::RESTARTED) != Some(&wanted.token)).then_some(wanted)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::claim::samples::host;

    #[test]
    fn a_host_makes_each_once() {
        let told = |annotations| pending(&host("h", json!({"metadata": {"annotations": annotations}})));
        let restart = Restart { mode: Mode::Hard, token: "7f".to_owned() };
        assert_eq!(Restart::parse(&restart.to_string()), Some(restart.clone()));
        assert_eq!(told(json!({annotations::RESTART: "hard 7f"})), Some(restart.clone()));
        let another = json!({annotations::RESTART: "hard 7f", annotations::RESTARTED: "6e"});
        assert_eq!(told(another), Some(restart));
        assert_eq!(told(json!({annotations::RESTART: "hard 7f", annotations::RESTARTED: "7f"})), None);
        for text in ["", "hard", "hard ", "hard x y", "later 7f", &format!("hard {}", "7".repeat(33))] {
            assert_eq!(told(json!({annotations::RESTART: text})), None, "{text}");
        }
    }
}

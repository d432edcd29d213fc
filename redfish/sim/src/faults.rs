//! Faults that can be put into a BMC by command, and taken out again.
//!
//! A fault says what goes wrong, how often, and for which paths; where it bites is the business of
//! the server (transport) and of the BMC (behaviour).

use serde::{Deserialize, Serialize};

use crate::selection::Selection;

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum Fault {
    /// The request is taken and never answered.
    Hang,
    /// The answer takes longer.
    Slow {
        /// By how much.
        ms: u64,
    },
    /// The connection is reset instead of an answer.
    Reset,
    /// 401, whatever the credentials.
    Unauthorized,
    /// 503 with `Retry-After`.
    Unavailable {
        /// What `Retry-After` says.
        retry_after_seconds: u64,
    },
    /// A change of power is accepted, and nothing happens.
    StuckPower,
    /// A boot override is accepted and shown, and the firmware does not listen.
    IgnoredOverride,
    /// Every session is forgotten before the request is looked at.
    LostSession,
    /// Every media slot is emptied before the request is looked at.
    LostMedia,
    /// A media slot shows the opposite of what is in it.
    LyingMedia,
}

impl Fault {
    /// Whether it bites each request, before the BMC looks at it.
    fn is_transport(self) -> bool {
        match self {
            Self::Hang
            | Self::Slow { .. }
            | Self::Reset
            | Self::Unauthorized
            | Self::Unavailable { .. }
            | Self::LostSession
            | Self::LostMedia => true,
            Self::StuckPower | Self::IgnoredOverride | Self::LyingMedia => false,
        }
    }
}

/// A fault that waits for its prey.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Armed {
    /// What goes wrong.
    #[serde(flatten)]
    pub fault: Fault,
    /// How often it still bites; absent: until it is cleared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    /// Only requests whose path contains this; absent: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// How many requests it spares first, of those it is for.
    #[serde(default, skip_serializing_if = "is_none")]
    pub after: u32,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
const fn is_none(number: &u32) -> bool {
    *number == 0
}

impl Armed {
    /// Until it is cleared.
    #[must_use]
    pub fn always(fault: Fault) -> Self {
        Self { fault, count: None, path: None, after: 0 }
    }

    /// So many times.
    #[must_use]
    pub fn times(fault: Fault, count: u32) -> Self {
        Self { fault, count: Some(count), path: None, after: 0 }
    }

    /// Only where the path contains `part`.
    #[must_use]
    pub fn at(mut self, part: &str) -> Self {
        self.path = Some(part.to_owned());
        self
    }

    /// Only after so many requests.
    #[must_use]
    pub fn sparing(mut self, after: u32) -> Self {
        self.after = after;
        self
    }

    fn bites(&mut self, path: &str) -> bool {
        if self.path.as_deref().is_some_and(|part| !path.contains(part)) {
            return false;
        }
        if self.after > 0 {
            self.after -= 1;
            return false;
        }
        match &mut self.count {
            None => true,
            Some(0) => false,
            Some(left) => {
                *left -= 1;
                true
            }
        }
    }
}

/// A fault for many BMCs at once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Widespread {
    /// For which. There is no default: a fault for all is asked for, not slipped into.
    pub on: Selection,
    /// What each of them gets.
    #[serde(flatten)]
    pub armed: Armed,
}

/// The faults of one BMC.
#[derive(Debug, Default)]
pub struct Faults {
    armed: Vec<Armed>,
}

impl Faults {
    /// Adds one.
    pub fn arm(&mut self, armed: Armed) {
        self.armed.push(armed);
    }

    /// Takes all out.
    pub fn clear(&mut self) {
        self.armed.clear();
    }

    /// What is armed.
    #[must_use]
    pub fn armed(&self) -> &[Armed] {
        &self.armed
    }

    /// The faults that bite a request before the BMC looks at it, in the order they were armed.
    pub fn on_request(&mut self, path: &str) -> Vec<Fault> {
        self.bite(path, Fault::is_transport)
    }

    /// Whether this behaviour goes wrong now.
    pub fn strikes(&mut self, fault: Fault, path: &str) -> bool {
        !self.bite(path, |armed| armed == fault).is_empty()
    }

    fn bite(&mut self, path: &str, which: impl Fn(Fault) -> bool) -> Vec<Fault> {
        let bitten =
            self.armed.iter_mut().filter(|a| which(a.fault)).filter_map(|a| a.bites(path).then_some(a.fault));
        let bitten = bitten.collect();
        self.armed.retain(|armed| armed.count != Some(0));
        bitten
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;

    #[test]
    fn a_counted_fault_wears_off() {
        let mut faults = Faults::default();
        faults.arm(Armed::times(Fault::StuckPower, 2));
        assert_eq!([true, true, false], [(); 3].map(|()| faults.strikes(Fault::StuckPower, "/")));
        assert!(faults.armed().is_empty());
    }

    #[test]
    fn a_fault_may_spare_the_first_requests() {
        let mut faults = Faults::default();
        faults.arm(Armed::times(Fault::Hang, 1).sparing(2).at("/a"));
        let bitten = ["/a", "/b", "/a", "/a", "/a"].map(|path| faults.on_request(path).len());
        assert_eq!(bitten, [0, 0, 0, 1, 0]);
    }

    #[test]
    fn an_uncounted_fault_stays_until_cleared() {
        let mut faults = Faults::default();
        faults.arm(Armed::always(Fault::Hang));
        assert_eq!(faults.on_request("/x"), [Fault::Hang]);
        assert_eq!(faults.on_request("/x"), [Fault::Hang]);
        faults.clear();
        assert!(faults.on_request("/x").is_empty());
    }

    #[test]
    fn a_path_spares_the_others() {
        let mut faults = Faults::default();
        faults.arm(Armed::times(Fault::Reset, 1).at("/Systems"));
        assert!(faults.on_request("/redfish/v1/Managers").is_empty());
        assert_eq!(faults.on_request("/redfish/v1/Systems/1"), [Fault::Reset]);
    }

    #[test]
    fn a_fault_reads_as_json() {
        let text = r#"{"kind":"unavailable","retryAfterSeconds":3,"count":1}"#;
        let armed: Armed = serde_json::from_str(text).unwrap();
        assert_eq!(armed, Armed::times(Fault::Unavailable { retry_after_seconds: 3 }, 1));
    }

    #[test]
    fn a_fault_for_many_says_for_which() {
        let text = r#"{"kind":"slow","ms":20,"path":"/Systems","on":{"percent":2}}"#;
        let many: Widespread = serde_json::from_str(text).unwrap();
        let armed = Armed::always(Fault::Slow { ms: 20 }).at("/Systems");
        assert_eq!(many, Widespread { on: Selection::Percent(2), armed });
        assert!(serde_json::from_str::<Widespread>(r#"{"kind":"hang"}"#).is_err());
    }
}

//! Which condition a BMC wants with a change: some want the version as they gave it, some without its `W/`, some any,
//! and some fail on every condition. A ladder is climbed down once and the rung remembered.

use std::sync::{Mutex, PoisonError};

/// One way to write `If-Match`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rung {
    /// As the BMC gave it.
    Given,
    /// The same without `W/`.
    Strong,
    /// `*`.
    Any,
    /// None at all.
    Absent,
}

const LADDER: [Rung; 4] = [Rung::Given, Rung::Strong, Rung::Any, Rung::Absent];
/// Without a version, hardly any BMC wants a condition.
const WITHOUT_VERSION: [Rung; 2] = [Rung::Absent, Rung::Any];

/// What a rung comes to for a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Condition {
    /// The same as another rung, or nothing to write.
    Skip,
    /// No header.
    None,
    /// This value.
    Match(String),
}

impl Rung {
    pub(crate) fn value(self, etag: Option<&str>) -> Condition {
        match (self, etag) {
            (Self::Given, Some(etag)) => Condition::Match(etag.to_owned()),
            (Self::Strong, Some(etag)) => match etag.strip_prefix("W/") {
                Some(strong) => Condition::Match(strong.to_owned()),
                None => Condition::Skip,
            },
            (Self::Given | Self::Strong, None) => Condition::Skip,
            (Self::Any, _) => Condition::Match("*".to_owned()),
            (Self::Absent, _) => Condition::None,
        }
    }
}

/// The ladder of one BMC: which rung it took after it had refused another.
#[derive(Debug, Default)]
pub(crate) struct EtagLadder(Mutex<Option<Rung>>);

impl EtagLadder {
    /// The rungs to try for a version, beginning with the one that the BMC is known to take, each once.
    pub(crate) fn rungs(&self, etag: Option<&str>) -> Vec<Rung> {
        let ladder: &[Rung] = if etag.is_some() { &LADDER } else { &WITHOUT_VERSION };
        let known = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut rungs = ladder.to_vec();
        rungs.sort_by_key(|rung| Some(*rung) != known);
        rungs
    }

    pub(crate) fn remember(&self, rung: Rung) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(rung);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rung_that_worked_is_tried_first() {
        let ladder = EtagLadder::default();
        assert_eq!(ladder.rungs(Some("\"7\"")), LADDER);
        assert_eq!(ladder.rungs(None), [Rung::Absent, Rung::Any]);
        ladder.remember(Rung::Any);
        assert_eq!(ladder.rungs(Some("\"7\"")), [Rung::Any, Rung::Given, Rung::Strong, Rung::Absent]);
        assert_eq!(ladder.rungs(None), [Rung::Any, Rung::Absent]);
        ladder.remember(Rung::Strong);
        assert_eq!(ladder.rungs(None), [Rung::Absent, Rung::Any]);
    }

    #[test]
    fn a_rung_comes_to_what_the_version_allows() {
        for (rung, etag, condition) in [
            (Rung::Given, Some("W/\"7\""), Condition::Match("W/\"7\"".into())),
            (Rung::Strong, Some("W/\"7\""), Condition::Match("\"7\"".into())),
            (Rung::Strong, Some("\"7\""), Condition::Skip),
            (Rung::Given, None, Condition::Skip),
            (Rung::Any, None, Condition::Match("*".into())),
            (Rung::Absent, Some("\"7\""), Condition::None),
        ] {
            assert_eq!(rung.value(etag), condition, "{rung:?} {etag:?}");
        }
    }
}

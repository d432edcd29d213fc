//! Which condition a BMC wants with a change: some want the version as they gave it, some without its `W/`, some any,
//! and some fail on every condition. A ladder is climbed down once and the rung remembered.

use std::sync::atomic::{AtomicUsize, Ordering};

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

/// The ladder of one BMC.
#[derive(Debug, Default)]
pub(crate) struct EtagLadder(AtomicUsize);

impl EtagLadder {
    /// The rungs to try, beginning with the one that worked last, each once.
    pub(crate) fn rungs(&self) -> impl Iterator<Item = Rung> + use<> {
        LADDER.into_iter().cycle().skip(self.0.load(Ordering::Relaxed)).take(LADDER.len())
    }

    pub(crate) fn remember(&self, rung: Rung) {
        if let Some(position) = LADDER.iter().position(|known| *known == rung) {
            self.0.store(position, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rung_that_worked_is_tried_first() {
        let ladder = EtagLadder::default();
        assert_eq!(ladder.rungs().next(), Some(Rung::Given));
        ladder.remember(Rung::Any);
        let rungs: Vec<Rung> = ladder.rungs().collect();
        assert_eq!(rungs, [Rung::Any, Rung::Absent, Rung::Given, Rung::Strong]);
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

//! Which BMCs of a fleet are meant, when something is done to many at once.

use std::num::NonZeroUsize;

use serde::{Deserialize, Serialize};

use crate::profiles::Profile;

/// Which BMCs of a fleet. They are counted from 1, in the order of their addresses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Selection {
    /// Every one.
    All,
    /// Every n-th: with 50 the 50th, the 100th and so on.
    Every(NonZeroUsize),
    /// So many of a hundred, spread evenly.
    Percent(u8),
    /// Those with this profile.
    Profile(String),
}

impl Selection {
    /// Whether the BMC with this number and profile is meant.
    #[must_use]
    pub fn includes(&self, number: NonZeroUsize, profile: &Profile) -> bool {
        match self {
            Self::All => true,
            Self::Every(n) => number.get().is_multiple_of(n.get()),
            Self::Percent(percent) => {
                let so_far = |number: usize| number.saturating_mul(usize::from(*percent)) / 100;
                so_far(number.get()) > so_far(number.get() - 1)
            }
            Self::Profile(name) => profile.name == name,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;
    use crate::profiles;

    fn chosen(text: &str, of: usize) -> Vec<usize> {
        let selection: Selection = serde_json::from_str(text).unwrap();
        let kinds = profiles::ALL;
        let numbered = (1..=of).zip(kinds.into_iter().cycle());
        let included = |number, profile| selection.includes(NonZeroUsize::new(number).unwrap(), profile);
        numbered.filter(|(number, profile)| included(*number, profile)).map(|(number, _)| number).collect()
    }

    #[test]
    fn a_selection_is_counted_out() {
        assert_eq!(chosen(r#""all""#, 3), [1, 2, 3]);
        assert_eq!(chosen(r#"{"every": 50}"#, 120), [50, 100]);
        assert_eq!(chosen(r#"{"percent": 2}"#, 120), [50, 100]);
        assert_eq!(chosen(r#"{"percent": 60}"#, 5), [2, 4, 5]);
        assert_eq!(chosen(r#"{"percent": 100}"#, 3), [1, 2, 3]);
        assert!(chosen(r#"{"percent": 0}"#, 300).is_empty());
        assert_eq!(chosen(r#"{"profile": "dell-idrac"}"#, 9), [2, 8]);
    }

    #[test]
    fn every_percentage_is_kept() {
        for percent in 0..=100 {
            assert_eq!(chosen(&format!(r#"{{"percent": {percent}}}"#), 1000).len(), percent * 10);
        }
    }

    #[test]
    fn what_is_no_selection_is_refused() {
        for text in [r#"{"every": 0}"#, r#"{"percent": 256}"#, r#"{"evry": 3}"#, r#""some""#, "{}"] {
            assert!(serde_json::from_str::<Selection>(text).is_err(), "{text}");
        }
    }
}

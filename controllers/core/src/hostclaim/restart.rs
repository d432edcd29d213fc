//! Restarts that a tenant asks for.

use beskar7_api::{HostClaim, annotations};

use crate::host::restart::Mode;

/// The restart that a tenant has just asked for, and the annotations by which it did.
#[must_use]
pub fn asked(claim: &HostClaim) -> Option<(Mode, Vec<&'static str>)> {
    let all = claim.metadata.annotations.as_ref()?;
    let by: Vec<&'static str> = [annotations::REBOOT, annotations::REBOOT_METAL3]
        .into_iter()
        .filter(|name| all.contains_key(*name))
        .collect();
    let mode = by.iter().filter_map(|name| all.get(*name)).map(|text| mode(text));
    let hardest = mode.max_by_key(|mode| *mode == Mode::Hard)?;
    Some((hardest, by))
}

/// What a tenant wrote: `{"mode": "hard"}`, `{"mode": "soft"}`, or nothing, which means soft.
fn mode(text: &str) -> Mode {
    if text.to_ascii_lowercase().contains("\"hard\"") { Mode::Hard } else { Mode::Soft }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::samples::claim, *};

    #[test]
    fn a_restart_is_asked_for_in_the_words_of_either_system() {
        let (soft, hard) = (json!({"mode": "soft"}).to_string(), json!({"mode": "hard"}).to_string());
        for (annotations, expected) in [
            (json!({}), None),
            (json!({"reboot.beskar7.io": ""}), Some((Mode::Soft, 1))),
            (json!({"reboot.metal3.io": soft}), Some((Mode::Soft, 1))),
            (json!({"reboot.metal3.io": hard}), Some((Mode::Hard, 1))),
            (json!({"reboot.metal3.io": "nonsense"}), Some((Mode::Soft, 1))),
            (json!({"reboot.beskar7.io": hard, "reboot.metal3.io": ""}), Some((Mode::Hard, 2))),
            (json!({"reboot.metal3.io/mine": ""}), None),
        ] {
            let found = claim(json!({"metadata": {"annotations": annotations}}));
            assert_eq!(asked(&found).map(|(mode, by)| (mode, by.len())), expected, "{annotations}");
        }
    }
}

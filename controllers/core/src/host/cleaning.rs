//! Whether the disks of a machine must be wiped before somebody else gets it.
//!
//! The stricter of two counts: what the host says, and what the policy demanded under which it was taken. Nothing in this
//! version wipes disks: where that is demanded, the host stays back until people have done it and say so.

use beskar7_api::{PhysicalHost, annotations, boot::Cleaning, conditions::host as reasons};

use super::{
    contact::Trouble,
    hold::{annotation, is_released},
};

/// A level, as it stands in annotations.
#[must_use]
pub const fn word(cleaning: Cleaning) -> &'static str {
    match cleaning {
        Cleaning::None => "None",
        Cleaning::Metadata => "Metadata",
        Cleaning::Full => "Full",
    }
}

/// What a policy demanded when the host was taken, or since.
#[must_use]
pub fn demanded_by_policy(host: &PhysicalHost) -> Cleaning {
    let written = annotation(host, annotations::CLEANING);
    let known = [Cleaning::None, Cleaning::Metadata, Cleaning::Full];
    match written {
        None => Cleaning::None,
        // What nobody can read is not taken for a word that nothing is wanted.
        Some(text) => known.into_iter().find(|known| word(*known) == text).unwrap_or(Cleaning::Full),
    }
}

/// Why a host that is off and empty is not given to others yet, if it is not.
#[must_use]
pub fn stays_back(host: &PhysicalHost) -> Option<Trouble> {
    let by_policy = demanded_by_policy(host);
    let demanded = host.spec.cleaning.unwrap_or_default().max(by_policy);
    let claim = host.spec.claim_id.as_deref().or(host.status.as_ref()?.claim_id.as_deref())?;
    let is_done = annotation(host, annotations::CLEANED) == Some(claim);
    if demanded == Cleaning::None || is_done || !is_released(host) || !has_run(host) {
        return None;
    }
    let by = if by_policy == demanded {
        annotation(host, annotations::POLICY).map_or_else(
            || "a HostDeployPolicy".to_owned(),
            |policy| format!("the HostDeployPolicy {policy}"),
        )
    } else {
        "spec.cleaning".to_owned()
    };
    Some(Trouble {
        reason: reasons::CLEANING_NOT_POSSIBLE,
        message: format!(
            "The machine is off and empty, and stays back: {by} demands that its disks are cleaned ({}), which this \
             version can't do. Wipe them, and set the annotation {} to {claim}",
            word(demanded),
            annotations::CLEANED
        ),
        passes: false,
    })
}

/// Whether something was turned on since the disks were last known to be clean.
fn has_run(host: &PhysicalHost) -> bool {
    [annotations::RAN, annotations::BOOTING, annotations::PROVISIONED]
        .into_iter()
        .any(|mark| annotation(host, mark).is_some())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::claim::samples::host;

    fn told(annotations: Value, cleaning: Option<&str>, released: bool) -> Option<String> {
        let mut patch = json!({
            "metadata": {"annotations": annotations},
            "spec": {"claimID": "id", "cleaning": cleaning}, "status": {"claimID": "id"},
        });
        if released {
            patch["metadata"]["annotations"][annotations::RELEASE] = json!("id");
        }
        stays_back(&host("h", patch)).map(|trouble| trouble.message)
    }

    #[test]
    fn who_demands_it_is_said_and_the_stricter_counts() {
        let ran = |demand: &str| json!({annotations::RAN: "id", annotations::CLEANING: demand, annotations::POLICY: "gold"});
        for (annotations, cleaning, expected) in [
            (json!({annotations::RAN: "id"}), None, None),
            (json!({annotations::RAN: "id"}), Some("None"), None),
            (json!({annotations::RAN: "id"}), Some("Metadata"), Some(["spec.cleaning", "(Metadata)"])),
            (ran("None"), None, None),
            (ran("Metadata"), None, Some(["HostDeployPolicy gold", "(Metadata)"])),
            (ran("Metadata"), Some("Full"), Some(["spec.cleaning", "(Full)"])),
            (ran("Full"), Some("Metadata"), Some(["HostDeployPolicy gold", "(Full)"])),
            (ran("moonlight"), None, Some(["HostDeployPolicy gold", "(Full)"])),
        ] {
            let found = told(annotations.clone(), cleaning, true);
            assert_eq!(found.is_some(), expected.is_some(), "{annotations} {cleaning:?} {found:?}");
            for part in expected.into_iter().flatten() {
                assert!(found.as_ref().is_some_and(|found| found.contains(part)), "{part}: {found:?}");
            }
        }
    }

    #[test]
    fn it_is_needed_when_somebody_else_may_come_and_something_ran_and_until_people_say_that_it_is_done() {
        let demand = |more: Value| {
            let mut annotations = json!({annotations::CLEANING: "Full"});
            for (name, value) in more.as_object().unwrap() {
                annotations[name] = value.clone();
            }
            annotations
        };
        assert!(told(demand(json!({annotations::PROVISIONED: "id"})), None, true).is_some());
        assert!(told(demand(json!({annotations::BOOTING: "id 1"})), None, true).is_some());
        assert_eq!(
            told(demand(json!({annotations::RAN: "id"})), None, false),
            None,
            "the same tenant goes on"
        );
        assert_eq!(told(demand(json!({})), None, true), None, "nothing ran");
        let done = json!({annotations::RAN: "id", annotations::CLEANED: "id"});
        assert_eq!(told(demand(done), None, true), None);
        let of_another = json!({annotations::RAN: "id", annotations::CLEANED: "older"});
        assert!(told(demand(of_another), None, true).is_some());
    }
}

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
    let of_machine = || host.status.as_ref()?.claim_id.as_deref();
    let claim = host.spec.claim_id.as_deref().or_else(of_machine)?;
    let says = |name: &str| annotation(host, name) == Some(claim);
    // What says nothing of having been used may have lost that: it is not taken for clean.
    if demanded == Cleaning::None
        || says(annotations::CLEANED)
        || says(annotations::UNUSED)
        || !is_released(host)
    {
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
        let by_policy = |demand: &str| json!({annotations::CLEANING: demand, annotations::POLICY: "gold"});
        for (annotations, cleaning, expected) in [
            (json!({}), None, None),
            (json!({}), Some("None"), None),
            (json!({}), Some("Metadata"), Some(["spec.cleaning", "(Metadata)"])),
            (by_policy("None"), None, None),
            (by_policy("Metadata"), None, Some(["HostDeployPolicy gold", "(Metadata)"])),
            (by_policy("Metadata"), Some("Full"), Some(["spec.cleaning", "(Full)"])),
            (by_policy("Full"), Some("Metadata"), Some(["HostDeployPolicy gold", "(Full)"])),
            (by_policy("moonlight"), None, Some(["HostDeployPolicy gold", "(Full)"])),
        ] {
            let found = told(annotations.clone(), cleaning, true);
            assert_eq!(found.is_some(), expected.is_some(), "{annotations} {cleaning:?} {found:?}");
            for part in expected.into_iter().flatten() {
                assert!(found.as_ref().is_some_and(|found| found.contains(part)), "{part}: {found:?}");
            }
        }
    }

    #[test]
    fn it_is_needed_when_somebody_else_may_come_unless_nothing_ran_or_people_say_that_it_is_done() {
        let demand = |name: &str, claim: &str| json!({annotations::CLEANING: "Full", name: claim});
        for (annotations, released, needed) in [
            (json!({annotations::CLEANING: "Full"}), true, true),
            (demand(annotations::PROVISIONED, "id"), true, true),
            (demand(annotations::PROVISIONED, "id"), false, false),
            (demand(annotations::UNUSED, "id"), true, false),
            (demand(annotations::UNUSED, "older"), true, true),
            (demand(annotations::CLEANED, "id"), true, false),
            (demand(annotations::CLEANED, "older"), true, true),
        ] {
            let found = told(annotations.clone(), None, released);
            assert_eq!(found.is_some(), needed, "{annotations} {released}");
        }
        let mut without_status = host("h", json!({"spec": {"claimID": "id", "cleaning": "Full"}}));
        without_status.status = None;
        without_status.metadata.annotations =
            Some([(annotations::RELEASE.to_owned(), "id".to_owned())].into());
        assert!(stays_back(&without_status).is_some(), "what is not known is not taken for clean");
    }
}

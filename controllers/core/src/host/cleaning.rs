//! Whether the disks of a machine must be wiped before somebody else gets it.
//!
//! The stricter of two counts: what the host says, and what the policy demanded under which it was taken. The agent wipes
//! them, where the manager has one. Else the host stays back until people have done it and say so.

use beskar7_agent_protocol::order::Thoroughness;
use beskar7_api::{PhysicalHost, annotations, boot::Cleaning, conditions::host as reasons};

use super::{
    contact::Trouble,
    hold::{annotation, is_released},
};
use crate::delivery::{AgentBoot, Delivery};

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

/// That the disks of a host must be clean of a claim before somebody else gets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Demand {
    /// How thoroughly they are wiped.
    pub how: Thoroughness,
    /// The claim.
    pub claim: String,
    /// Whether somebody said so: a policy, or the host. Else it is what an agent does where nobody says anything.
    pub is_asked_for: bool,
    /// Who says so.
    by: String,
}

impl Demand {
    /// Why the host stays back, where there is no agent to do it.
    #[must_use]
    pub fn not_possible(&self) -> Trouble {
        let level = match self.how {
            Thoroughness::Metadata => word(Cleaning::Metadata),
            Thoroughness::Full => word(Cleaning::Full),
        };
        Trouble {
            reason: reasons::CLEANING_NOT_POSSIBLE,
            message: format!(
                "The machine is off and empty, and stays back: {} demands that its disks are cleaned ({level}), and this \
                 manager has no agent for that. Start it with --agent-iso, or with --agent-kernel and --agent-initramfs; \
                 or wipe the disks, and set the annotation {} to {}",
                self.by,
                annotations::CLEANED,
                self.claim
            ),
            passes: false,
        }
    }
}

/// What is demanded of a host before others get it, if anything. Where nobody says anything, an agent wipes what an
/// operating system would find.
#[must_use]
pub fn demand(host: &PhysicalHost, delivery: Delivery) -> Option<Demand> {
    demand_or(
        host,
        match delivery.agent() {
            AgentBoot::None => Cleaning::None,
            AgentBoot::VirtualMedia | AgentBoot::Network => Cleaning::Metadata,
        },
    )
}

/// The same, where there is an agent.
#[must_use]
pub fn demand_with_agent(host: &PhysicalHost) -> Option<Demand> {
    demand_or(host, Cleaning::Metadata)
}

fn demand_or(host: &PhysicalHost, otherwise: Cleaning) -> Option<Demand> {
    let by_policy = demanded_by_policy(host);
    let demanded = host.spec.cleaning.unwrap_or(otherwise).max(by_policy);
    let how = match demanded {
        Cleaning::None => return None,
        Cleaning::Metadata => Thoroughness::Metadata,
        Cleaning::Full => Thoroughness::Full,
    };
    let of_machine = || host.status.as_ref()?.claim_id.as_deref();
    let claim = host.spec.claim_id.as_deref().or_else(of_machine)?;
    let says = |name: &str| annotation(host, name) == Some(claim);
    // What says nothing of having been used may have lost that: it is not taken for clean.
    if says(annotations::CLEANED) || says(annotations::UNUSED) || !is_released(host) {
        return None;
    }
    let is_asked_for = host.spec.cleaning.is_some() || by_policy > Cleaning::None;
    let by = match annotation(host, annotations::POLICY) {
        Some(policy) if by_policy == demanded => format!("the HostDeployPolicy {policy}"),
        None if by_policy == demanded => "a HostDeployPolicy".to_owned(),
        Some(_) | None => "spec.cleaning".to_owned(),
    };
    Some(Demand { how, claim: claim.to_owned(), is_asked_for, by })
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
        demand(&host("h", patch), Delivery::Off).map(|demand| demand.not_possible().message)
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
    fn where_nobody_says_anything_an_agent_wipes_what_an_operating_system_would_find() {
        let released = json!({annotations::RELEASE: "id"});
        let by_policy = |level: &str| json!({annotations::RELEASE: "id", annotations::CLEANING: level});
        for (annotations, cleaning, expected) in [
            (released.clone(), None, Some((Thoroughness::Metadata, false))),
            (released.clone(), Some("None"), None),
            (released.clone(), Some("Metadata"), Some((Thoroughness::Metadata, true))),
            (released, Some("Full"), Some((Thoroughness::Full, true))),
            // A policy that demands nothing leaves it at what is usual.
            (by_policy("None"), None, Some((Thoroughness::Metadata, false))),
            (by_policy("Metadata"), None, Some((Thoroughness::Metadata, true))),
            (by_policy("Metadata"), Some("None"), Some((Thoroughness::Metadata, true))),
        ] {
            let patch = json!({
                "metadata": {"annotations": annotations}, "spec": {"claimID": "id", "cleaning": cleaning},
            });
            let found = demand_with_agent(&host("h", patch));
            let found = found.map(|found| (found.how, found.is_asked_for));
            assert_eq!(found, expected, "{annotations} {cleaning:?}");
        }
    }

    #[test]
    fn it_is_needed_when_somebody_else_may_come_unless_nothing_ran_or_people_say_that_it_is_done() {
        let full = |name: &str, claim: &str| json!({annotations::CLEANING: "Full", name: claim});
        for (annotations, released, needed) in [
            (json!({annotations::CLEANING: "Full"}), true, true),
            (full(annotations::PROVISIONED, "id"), true, true),
            (full(annotations::PROVISIONED, "id"), false, false),
            (full(annotations::UNUSED, "id"), true, false),
            (full(annotations::UNUSED, "older"), true, true),
            (full(annotations::CLEANED, "id"), true, false),
            (full(annotations::CLEANED, "older"), true, true),
        ] {
            let found = told(annotations.clone(), None, released);
            assert_eq!(found.is_some(), needed, "{annotations} {released}");
        }
        let mut without_status = host("h", json!({"spec": {"claimID": "id", "cleaning": "Full"}}));
        without_status.status = None;
        without_status.metadata.annotations =
            Some([(annotations::RELEASE.to_owned(), "id".to_owned())].into());
        assert!(demand(&without_status, Delivery::Off).is_some(), "what is not known is not taken for clean");
    }
}

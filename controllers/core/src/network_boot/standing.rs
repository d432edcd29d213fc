//! What is said of a HostBootConfiguration and of a DHCPReservation.

use beskar7_api::{
    DHCPReservation, DHCPReservationStatus, HostBootConfiguration, HostBootConfigurationStatus, conditions,
    conditions::{boot_configuration as reasons, reservation},
    host_boot_configuration::{BootConfigurationState, ServedArtifact},
};
use jiff::Timestamp;

use super::rivals::Shared;
use crate::conditions::{Finding, Truth, set};

/// What came of looking at what a HostBootConfiguration names.
#[derive(Debug, Clone, PartialEq)]
pub enum Checked {
    /// Every artifact answers.
    Ready(Found),
    /// Nobody is served it: its host is not held by the claim that it was made for.
    NotHeld,
    /// There is no boot server.
    ServerOff,
    /// What it asks for can't be booted.
    NotBootable(String),
    /// They answer, and are read to be compared with their digests: which, and how far.
    Comparing(String),
    /// An artifact does not answer, or is not what it should be.
    NotUsable(String),
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Found {
    /// What is served.
    pub artifacts: Vec<ServedArtifact>,
    /// The digest of the manifest, for an image in a registry.
    pub image_digest: Option<String>,
    /// The kernel parameters that such an image wants.
    pub command_line: Option<String>,
}

/// What is said of a configuration.
#[must_use]
pub fn standing(
    configuration: &HostBootConfiguration,
    checked: Checked,
    now: Timestamp,
) -> HostBootConfigurationStatus {
    let mut status = configuration.status.clone().unwrap_or_default();
    let generation = configuration.metadata.generation;
    let no = |reason: &'static str, message: String| Finding { truth: Truth::False, reason, message };
    let (state, finding, found) = match checked {
        Checked::Ready(found) => {
            let ready =
                Finding { truth: Truth::True, reason: reasons::ARTIFACTS_READY, message: String::new() };
            (BootConfigurationState::Ready, ready, found)
        }
        Checked::NotHeld => {
            let why = "Its host does not exist, or is not held by the claim that this was made for: nobody is served it";
            (BootConfigurationState::Pending, no(reasons::HOST_NOT_HELD, why.to_owned()), Found::default())
        }
        Checked::ServerOff => {
            let why = "There is no boot server: start the manager with --boot-url";
            (BootConfigurationState::Error, no(reasons::BOOT_SERVER_OFF, why.to_owned()), Found::default())
        }
        Checked::Comparing(what) => {
            (BootConfigurationState::Pending, no(reasons::COMPARING_ARTIFACTS, what), Found::default())
        }
        Checked::NotBootable(why) => {
            (BootConfigurationState::Error, no(reasons::NOT_BOOTABLE, why), Found::default())
        }
        Checked::NotUsable(why) => {
            (BootConfigurationState::Error, no(reasons::ARTIFACT_NOT_USABLE, why), Found::default())
        }
    };
    set(&mut status.conditions, conditions::READY, &finding, generation, now);
    status.state = Some(state);
    status.artifacts = found.artifacts;
    status.image_digest = found.image_digest;
    status.image_command_line = found.command_line;
    status.observed_generation = generation;
    status
}

/// What is said of a reservation: whether its host is there, and whether another one, which is older, has one of its
/// addresses. What was seen of the host on the wire stays.
#[must_use]
pub fn reservation_standing(
    object: &DHCPReservation,
    host_exists: bool,
    older: Option<(Shared, &str)>,
    now: Timestamp,
) -> DHCPReservationStatus {
    let mut status = object.status.clone().unwrap_or_default();
    let generation = object.metadata.generation;
    let finding = match (host_exists, older) {
        (_, Some((Shared::Mac, older))) => Finding {
            truth: Truth::False,
            reason: reservation::MAC_IN_USE,
            message: format!(
                "{} is reserved by {older} as well, which is older and is answered: correct one of the two",
                object.spec.host_mac
            ),
        },
        (_, Some((Shared::Address, older))) => Finding {
            truth: Truth::False,
            reason: reservation::ADDRESS_IN_USE,
            message: format!(
                "{} is given by {older} as well, which is older: this one's host gets no address. Correct one of the two",
                object.spec.ip_address.as_deref().unwrap_or_default()
            ),
        },
        (false, None) => Finding {
            truth: Truth::False,
            reason: reservation::HOST_NOT_FOUND,
            message: format!("There is no PhysicalHost {}", object.spec.host_ref.name),
        },
        (true, None) => Finding { truth: Truth::True, reason: reservation::RESERVED, message: String::new() },
    };
    set(&mut status.conditions, conditions::READY, &finding, generation, now);
    status.observed_generation = generation;
    status
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn a_configuration_is_ready_or_says_why_not() {
        let mut configuration: HostBootConfiguration = serde_json::from_value(json!({
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "HostBootConfiguration",
            "metadata": {"name": "h", "generation": 3}, "spec": {"hostRef": {"name": "h"}, "kernel": "http://x/k"},
        }))
        .unwrap();
        let kernel = ServedArtifact { name: "kernel".to_owned(), ..Default::default() };
        for (checked, state, reason, artifacts) in [
            (
                Checked::Ready(Found { artifacts: vec![kernel], ..Found::default() }),
                BootConfigurationState::Ready,
                "ArtifactsReady",
                1,
            ),
            (Checked::NotHeld, BootConfigurationState::Pending, "HostNotHeld", 0),
            (Checked::ServerOff, BootConfigurationState::Error, "BootServerOff", 0),
            (Checked::Comparing("x".into()), BootConfigurationState::Pending, "ComparingArtifacts", 0),
            (Checked::NotBootable("x".into()), BootConfigurationState::Error, "NotBootable", 0),
            (Checked::NotUsable("x".into()), BootConfigurationState::Error, "ArtifactNotUsable", 0),
        ] {
            let status = standing(&configuration, checked, at(1));
            assert_eq!(
                (status.state, status.artifacts.len(), status.observed_generation),
                (Some(state), artifacts, Some(3))
            );
            assert_eq!(status.conditions[0].reason, reason);
            configuration.status = Some(status);
        }
    }

    #[test]
    fn of_two_reservations_the_older_one_is_answered() {
        let reservation: DHCPReservation = serde_json::from_value(json!({
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "DHCPReservation",
            "metadata": {"name": "h"}, "status": {"lastArchitecture": "x64"},
            "spec": {"hostRef": {"name": "h"}, "hostMAC": "52:54:00:00:00:01", "ipAddress": "10.0.0.7", "prefix": 24},
        }))
        .unwrap();
        for (exists, older, reason, says) in [
            (true, None, "Reserved", ""),
            (false, None, "HostNotFound", "There is no PhysicalHost h"),
            (true, Some((Shared::Mac, "metal/a")), "MACInUse", "52:54:00:00:00:01 is reserved by metal/a"),
            (false, Some((Shared::Mac, "metal/a")), "MACInUse", "52:54:00:00:00:01 is reserved by metal/a"),
            (true, Some((Shared::Address, "metal/a")), "AddressInUse", "10.0.0.7 is given by metal/a"),
        ] {
            let status = reservation_standing(&reservation, exists, older, at(1));
            let condition = &status.conditions[0];
            assert_eq!(condition.reason, reason);
            assert!(condition.message.starts_with(says), "{}", condition.message);
            assert_eq!(status.last_architecture.as_deref(), Some("x64"), "what was seen stays");
        }
    }
}

//! What of a machine's configuration comes from our own boot server, and when it is given out.
//!
//! The URL of that configuration is a capability: it is made where it is used, and stands nowhere. What consumers write
//! has a placeholder for it.

use std::time::Duration;

use beskar7_api::{PhysicalHost, boot::ConfigVolume, physical_host::HostBoot};
use jiff::Timestamp;

use crate::claim::Kept;
use crate::host::{
    errand::Errand,
    heard::{Heard, Word},
    hold::{Booting, Hold, Progress, is_released},
    left_alone, paused,
};

/// What stands for the URL of the configuration in kernel parameters.
pub const PLACEHOLDER: &str = "{{configURL}}";
/// What stands for the URL by which the agent on a machine asks what to do, its slash included.
pub const AGENT: &str = "{{agentURL}}";

/// Whether there is a boot server that hosts reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// There is none.
    Off,
    /// There is one.
    On {
        /// How long the URL of a configuration is. All are equally long.
        url_length: usize,
        /// How hosts start the agent.
        agent: AgentBoot,
    },
}

/// How hosts start the agent, which writes images to disks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentBoot {
    /// There is none.
    None,
    /// From an ISO that the BMC presents as a drive.
    VirtualMedia,
    /// From the network.
    Network,
}

impl Delivery {
    /// A parameter as long as it will be on the kernel's command line.
    #[must_use]
    pub fn as_long(self, argument: &str) -> String {
        match self {
            Self::Off => argument.to_owned(),
            Self::On { url_length, .. } => argument
                .replace(PLACEHOLDER, &"x".repeat(url_length))
                .replace(AGENT, &"x".repeat(url_length.saturating_add(1))),
        }
    }

    /// How hosts start the agent.
    #[must_use]
    pub const fn agent(self) -> AgentBoot {
        match self {
            Self::Off => AgentBoot::None,
            Self::On { agent, .. } => agent,
        }
    }
}

/// How a machine gets its configuration from us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// It asks for it, by a URL in its kernel parameters.
    Url,
    /// It finds it on a second medium.
    Volume(ConfigVolume),
    /// It finds it in a partition that the agent writes behind its image.
    Partition(ConfigVolume),
}

/// How a machine gets its configuration from us, if it does.
#[must_use]
pub fn way(boot: &HostBoot) -> Option<Way> {
    let by_url = || boot.kernel_args.iter().any(|argument| argument.contains(PLACEHOLDER));
    match boot.config_volume {
        Some(volume) if boot.install.is_some() => Some(Way::Partition(volume)),
        Some(volume) => Some(Way::Volume(volume)),
        None => by_url().then_some(Way::Url),
    }
}

/// Whether a host's configuration is given out to who asks for it under this claim: from when its machine is about to
/// be turned on for it, until its boot was seen, or `limit` has passed.
#[must_use]
pub fn configuration_is_open(host: &PhysicalHost, claim: &str, now: Timestamp, limit: Duration) -> bool {
    booting(host, claim).is_some_and(|booting| !booting.is_over(now, limit))
}

/// Whether the medium with a host's configuration is given out under this claim. A BMC may read it when it is inserted,
/// and that is before the machine is turned on. The agent reads it when it runs, and not any more when it has written it.
#[must_use]
pub fn volume_is_open(host: &PhysicalHost, claim: &str, now: Timestamp, limit: Duration) -> bool {
    let for_agent = matches!(host.spec.boot.as_ref().and_then(way), Some(Way::Partition(_)));
    match held(host, claim) {
        Some(Progress::NotBegun) => !for_agent,
        Some(Progress::Booting(_)) if for_agent && Heard::of(host, claim).has(Word::Installed) => false,
        Some(Progress::Booting(booting)) => !booting.is_over(now, limit),
        Some(Progress::Seen) | None => false,
    }
}

/// Whether a host's image is given out under this claim, and its machine's calls are heard: for as long as it is held,
/// because what runs may read from its medium at any time.
#[must_use]
pub fn image_is_open(host: &PhysicalHost, claim: &str) -> bool {
    runs_for(host) == Some(claim)
}

/// What the capabilities of a host's machine follow from: its claim, or the errand that the agent is on.
#[must_use]
pub fn runs_for(host: &PhysicalHost) -> Option<&str> {
    claim_of(host).or_else(|| Errand::id_of(host))
}

/// When the machine of a host was turned on last under this claim, or on this errand, if it boots for it.
#[must_use]
pub fn turned_on(host: &PhysicalHost, id: &str) -> Option<Timestamp> {
    let errand = || Errand::of(host).filter(|errand| errand.id == id)?.armed;
    booting(host, id).or_else(errand).map(|booting| booting.since)
}

/// The claim whose machine a host runs. A pause does not take a running machine's medium away, nor does a reference that
/// is lost, which its consumer puts back; a move does.
#[must_use]
pub fn claim_of(host: &PhysicalHost) -> Option<&str> {
    match Hold::of(host) {
        Hold::Held { claim } => Some(claim),
        Hold::OnHold if !left_alone(host) && !is_released(host) && host.spec.consumer_ref.is_some() => {
            host.spec.claim_id.as_deref()
        }
        Hold::Kept(Kept::ReferenceLost) => host.spec.claim_id.as_deref(),
        Hold::Kept(Kept::ConsumerMissing | Kept::ClaimLost | Kept::NoClaimId)
        | Hold::OnHold
        | Hold::Free
        | Hold::Leaving
        | Hold::Cleaned => None,
    }
}

/// Whether a host waits for its consumer to say again that it holds it. Nothing secret is given out meanwhile, and nobody
/// is told for good that there is nothing.
#[must_use]
pub fn waits_for_reference(host: &PhysicalHost, claim: &str) -> bool {
    matches!(Hold::of(host), Hold::Kept(Kept::ReferenceLost)) && host.spec.claim_id.as_deref() == Some(claim)
}

/// Whether a host's machine boots for this claim, and only a pause is in the way of what it asks for. Nothing secret is given
/// out meanwhile, and it is not told for good that there is nothing: it may go on when the pause ends. Who has waited for
/// too long by then would get nothing either way.
#[must_use]
pub fn waits_for_pause(host: &PhysicalHost, claim: &str, now: Timestamp, limit: Duration) -> bool {
    paused(host) && standing_boot(host, claim).is_some_and(|booting| !booting.is_over(now, limit))
}

/// The mark of a machine that was turned on for this claim, also while its host is paused, or waits for its reference: what
/// it says meanwhile counts when that is over. A claim that is over, and one that went away with its host, have none.
#[must_use]
pub fn standing_boot(host: &PhysicalHost, claim: &str) -> Option<Booting> {
    match Progress::of(host, claim) {
        Progress::Booting(booting) => Some(booting).filter(|_| claim_of(host) == Some(claim)),
        Progress::NotBegun | Progress::Seen => None,
    }
}

/// The mark of a machine that boots for this claim, where its host is not left as it is.
#[must_use]
pub fn booting(host: &PhysicalHost, claim: &str) -> Option<Booting> {
    match held(host, claim) {
        Some(Progress::Booting(booting)) => Some(booting),
        Some(Progress::NotBegun | Progress::Seen) | None => None,
    }
}

fn held(host: &PhysicalHost, claim: &str) -> Option<Progress> {
    match Hold::of(host) {
        Hold::Held { claim: holder } if holder == claim => Some(Progress::of(host, claim)),
        Hold::Held { .. } | Hold::Free | Hold::Kept(_) | Hold::Leaving | Hold::Cleaned | Hold::OnHold => None,
    }
}

#[cfg(test)]
mod tests {
    use beskar7_api::annotations::{BOOTING, DELETE_FOR_MOVE, HEARD, PAUSED, PROVISIONED, RELEASE};
    use serde_json::json;

    use super::*;
    use crate::host::samples::{at, held as held_spec, host, with_annotations};

    const LIMIT: Duration = Duration::from_secs(3600);

    #[test]
    fn what_is_given_out_follows_the_claim() {
        // (what stands on the host, second): configuration, volume, image
        for (marks, second, claim, expected) in [
            (vec![], 0, "c", [false, true, true]),
            (vec![(BOOTING, "c 100")], 100, "c", [true, true, true]),
            (vec![(BOOTING, "c 100 on try-2 configuration")], 3699, "c", [true, true, true]),
            (vec![(BOOTING, "c 100 on")], 3700, "c", [false, false, true]),
            // It is not clean of the last one.
            (vec![(BOOTING, "old 100")], 100, "c", [false, false, false]),
            (vec![(PROVISIONED, "c")], 100, "c", [false, false, true]),
            (vec![(PROVISIONED, "c"), (BOOTING, "c 100")], 100, "c", [false, false, true]),
            (vec![(BOOTING, "c 100")], 100, "old", [false, false, false]),
            (vec![(BOOTING, "c 100"), (RELEASE, "c")], 100, "c", [false, false, false]),
            // Paused: nothing new is begun, and nothing is taken from what runs.
            (vec![(BOOTING, "c 100"), (PAUSED, "")], 100, "c", [false, false, true]),
            (vec![(RELEASE, "c"), (PAUSED, "")], 100, "c", [false, false, false]),
            (vec![(BOOTING, "c 100"), (DELETE_FOR_MOVE, "")], 100, "c", [false, false, false]),
        ] {
            let host = with_annotations(host(held_spec(), json!(null)), &marks);
            let found = [
                configuration_is_open(&host, claim, at(second), LIMIT),
                volume_is_open(&host, claim, at(second), LIMIT),
                image_is_open(&host, claim),
            ];
            assert_eq!(found, expected, "{marks:?} {second} {claim}");
        }
        // Somebody's `kubectl replace` took the reference: nothing secret, and nothing taken from what runs.
        for (spec, marks, image) in [
            (json!({"claimID": "c"}), vec![(BOOTING, "c 100")], true),
            (json!({"claimID": "c"}), vec![(PROVISIONED, "c")], true),
            (json!({"claimID": "c"}), vec![(BOOTING, "c 100"), (RELEASE, "c")], false),
            (json!({"claimID": "other"}), vec![(BOOTING, "c 100")], false),
            (json!({}), vec![(BOOTING, "c 100")], false),
        ] {
            let host = with_annotations(host(spec.clone(), json!({"claimID": "c"})), &marks);
            let found = [
                configuration_is_open(&host, "c", at(100), LIMIT),
                volume_is_open(&host, "c", at(100), LIMIT),
                image_is_open(&host, "c"),
            ];
            assert_eq!(found, [false, false, image], "{spec} {marks:?}");
            assert_eq!(waits_for_reference(&host, "c"), image, "{spec} {marks:?}");
        }
        let free = host(json!({}), json!(null));
        assert!(!image_is_open(&free, "c") && !volume_is_open(&free, "c", at(0), LIMIT));
    }

    #[test]
    fn a_machine_that_boots_waits_for_the_end_of_a_pause_and_is_given_nothing_before() {
        let begun = (BOOTING, "c 100 on");
        for (marks, second, claim, expected) in [
            (vec![begun, (PAUSED, "")], 200, "c", true),
            (vec![begun, (PAUSED, "")], 3699, "c", true),
            // It would be too late without the pause as well.
            (vec![begun, (PAUSED, "")], 3700, "c", false),
            // Nothing is in its way.
            (vec![begun], 200, "c", false),
            // Another claim's machine, or another claim.
            (vec![(BOOTING, "old 100 on"), (PAUSED, "")], 200, "c", false),
            (vec![(BOOTING, "old 100 on"), (PAUSED, "")], 200, "old", false),
            (vec![begun, (PAUSED, "")], 200, "old", false),
            // It was not begun, or its boot was seen.
            (vec![(PAUSED, "")], 200, "c", false),
            (vec![(PROVISIONED, "c"), (PAUSED, "")], 200, "c", false),
            (vec![begun, (PROVISIONED, "c"), (PAUSED, "")], 200, "c", false),
            // Its claim is over, here or wherever it was moved to.
            (vec![begun, (RELEASE, "c"), (PAUSED, "")], 200, "c", false),
            (vec![begun, (DELETE_FOR_MOVE, "")], 200, "c", false),
            (vec![begun, (DELETE_FOR_MOVE, ""), (PAUSED, "")], 200, "c", false),
        ] {
            let held = with_annotations(host(held_spec(), json!(null)), &marks);
            let waits = waits_for_pause(&held, claim, at(second), LIMIT);
            assert_eq!(waits, expected, "{marks:?} {second} {claim}");
            let opens =
                [configuration_is_open, volume_is_open].map(|open| open(&held, claim, at(second), LIMIT));
            assert!(!waits || opens == [false, false], "{marks:?} {second} {claim}");
            assert!(!waits || standing_boot(&held, claim).is_some(), "{marks:?} {second} {claim}");
        }
        let nobodys = with_annotations(host(json!({"claimID": "c"}), json!(null)), &[begun, (PAUSED, "")]);
        assert!(!waits_for_pause(&nobodys, "c", at(200), LIMIT), "nobody holds it");
    }

    #[test]
    fn how_a_configuration_reaches_its_machine() {
        let way = |boot: serde_json::Value| way(&serde_json::from_value(boot).unwrap());
        assert_eq!(way(json!({"kernelArgs": ["a=b"]})), None);
        assert_eq!(way(json!({"kernelArgs": ["a=b", "c={{configURL}}/ignition"]})), Some(Way::Url));
        assert_eq!(way(json!({"configVolume": "cidata"})), Some(Way::Volume(ConfigVolume::Cidata)));
        assert_eq!(way(json!({"configVolume": "config-2"})), Some(Way::Volume(ConfigVolume::Config2)));
        let installed = json!({"configVolume": "cidata", "install": {"image": "http://x/y.qcow2"}});
        assert_eq!(way(installed), Some(Way::Partition(ConfigVolume::Cidata)));
        assert_eq!(way(json!({"install": {"image": "http://x/y.qcow2"}})), None);
    }

    #[test]
    fn the_agent_reads_a_volume_while_it_installs() {
        for (marks, expected) in [
            (vec![], false),
            (vec![(BOOTING, "c 100 on installed")], true),
            (vec![(BOOTING, "c 100 on installed"), (HEARD, "c installed=150")], false),
            (vec![(PROVISIONED, "c")], false),
        ] {
            let mut spec = held_spec();
            spec["boot"] = json!({"configVolume": "cidata", "install": {"image": "http://x/y.qcow2"}});
            let host = with_annotations(host(spec, json!(null)), &marks);
            assert_eq!(volume_is_open(&host, "c", at(200), LIMIT), expected, "{marks:?}");
        }
    }

    #[test]
    fn a_parameter_is_as_long_as_its_url_will_be() {
        let on = Delivery::On { url_length: 10, agent: AgentBoot::Network };
        assert_eq!(on.as_long("a={{configURL}}/x").len(), 14);
        assert_eq!(on.as_long("b={{agentURL}}").len(), 13, "with its slash");
        assert_eq!((on.agent(), Delivery::Off.agent()), (AgentBoot::Network, AgentBoot::None));
    }
}

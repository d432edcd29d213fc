//! What a policy says of itself: how many hosts it opens, how many of them are held under it, and whether what it says
//! can be read.

use beskar7_api::{
    HostDeployPolicy, HostDeployPolicyStatus, PhysicalHost, annotations,
    conditions::{self, policy},
    labels,
};
use jiff::Timestamp;

use super::Policy;
use crate::{
    conditions::{Finding, Truth, set},
    untouched::untouched,
};

/// What a host counts for with a policy.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Counted {
    opened: bool,
    held: bool,
}

impl Counted {
    fn with(policy: &HostDeployPolicy, host: &PhysicalHost) -> Self {
        let (of, metadata) = (&policy.metadata, &host.metadata);
        if metadata.namespace != of.namespace {
            return Self::default();
        }
        let under = metadata.annotations.as_ref().and_then(|all| all.get(annotations::POLICY));
        Self {
            opened: metadata.deletion_timestamp.is_none() && !host.spec.externally_provisioned,
            // The annotation stays until the host is clean.
            held: host.spec.consumer_ref.is_some() && under.is_some() && under == of.name.as_ref(),
        }
    }
}

/// The status of a policy, by all hosts that are known, and by whether the labels of namespaces are.
#[must_use]
pub fn standing<'h>(
    policy: &HostDeployPolicy,
    hosts: impl IntoIterator<Item = &'h PhysicalHost>,
    knows_labels: bool,
    now: Timestamp,
) -> HostDeployPolicyStatus {
    let (mut opened, mut held) = (0_i32, 0_i32);
    for counted in hosts.into_iter().map(|host| Counted::with(policy, host)) {
        opened = opened.saturating_add(i32::from(counted.opened));
        held = held.saturating_add(i32::from(counted.held));
    }
    let generation = policy.metadata.generation;
    let mut conditions = policy.status.as_ref().map(|status| status.conditions.clone()).unwrap_or_default();
    set(&mut conditions, conditions::READY, &usable(&Policy::new(policy), knows_labels), generation, now);
    HostDeployPolicyStatus {
        claims: Some(held),
        hosts: Some(opened),
        conditions,
        observed_generation: generation,
    }
}

fn usable(policy: &Policy, knows_labels: bool) -> Finding {
    match policy.unreadable() {
        None if policy.goes_by_labels() && !knows_labels => Finding {
            truth: Truth::False,
            reason: policy::LABELS_NOT_KNOWN,
            message: "Nobody gets a host by it, and nobody loses one: a manager that is started with --namespace knows no \
                      labels of namespaces. Use names or nameMatches in place of hasLabels"
                .to_owned(),
        },
        None => Finding { truth: Truth::True, reason: policy::POLICY_READ, message: String::new() },
        Some(why) => Finding {
            truth: Truth::False,
            reason: policy::EXPRESSION_NOT_USABLE,
            message: format!("It allows nobody: {why}"),
        },
    }
}

/// Whether what a policy says of itself may change because a host came, changed or went. Most changes of a host are
/// none of its holder.
#[must_use]
pub fn concerned_by_host(
    policy: &HostDeployPolicy,
    before: Option<&PhysicalHost>,
    after: Option<&PhysicalHost>,
) -> bool {
    let counted =
        |host: Option<&PhysicalHost>| host.map(|host| Counted::with(policy, host)).unwrap_or_default();
    counted(before) != counted(after)
}

/// Whether nothing is to be written to a policy: clusterctl moves it, somebody paused it, it goes, or another manager
/// looks after it. `filter` is the value that the label of those has which are looked after here; nothing, where all
/// are.
#[must_use]
pub fn left_alone(policy: &HostDeployPolicy, filter: Option<&str>) -> bool {
    let label = || policy.metadata.labels.as_ref()?.get(labels::WATCH_FILTER).map(String::as_str);
    untouched(&policy.metadata) || filter.is_some_and(|ours| label() != Some(ours))
}

#[cfg(test)]
#[path = "standing_tests.rs"]
mod tests;

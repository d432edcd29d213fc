//! Which Node of the workload cluster a machine became: by the providerID that its kubelet was given, else by the UUID
//! of its board. Nothing is guessed: whatever is not one Node and one host is refused, with the way to set the providerID
//! by hand.
//!
//! Not here: asking the workload cluster, and writing to it. What a Node is to be labelled with is
//! [`super::node_labels`].

use std::collections::{BTreeMap, BTreeSet};

use beskar7_api::conditions::machine as reasons;
use jiff::Timestamp;

use crate::conditions::{Finding, Truth};

/// What somebody says the UUID of a board is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SystemId {
    /// Nothing.
    Untold,
    /// Something that many boards have, or that is no UUID.
    Filler(String),
    /// A real one, in the spelling that both byte orders have in common.
    Real(String),
}

/// A Node, as far as it matters here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// Another Node of the same name has another.
    pub uid: String,
    /// When it was made.
    pub created: Option<Timestamp>,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// Its providerID, if it has one.
    pub provider_id: Option<String>,
    /// Its board.
    pub system: SystemId,
    /// Those of its labels that could come from a host, and those that we set.
    pub labels: BTreeMap<String, String>,
    /// Which of them we set.
    pub ours: BTreeSet<String>,
    /// Which of them others set.
    pub theirs: BTreeSet<String>,
}

/// Why a workload cluster can't be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    /// Its kubeconfig's Secret, `<namespace>/<name>`, does not exist.
    NoKubeconfig(String),
    /// Its kubeconfig can't be used.
    BadKubeconfig {
        /// The Secret, `<namespace>/<name>`.
        secret: String,
        /// What is wrong with it. Never what stands in it.
        why: String,
    },
    /// It does not answer, or refuses.
    Unreachable(String),
}

/// The machine whose Node is looked for.
#[derive(Debug, Clone, Copy)]
pub struct Sought<'a> {
    /// The identity that its Node must carry.
    pub provider_id: &'a str,
    /// The board of its host, as its BMC tells it.
    pub system: &'a SystemId,
    /// Since when its host boots for it, while that was not seen otherwise.
    pub booting_since: Option<Timestamp>,
    /// No Node of this machine can be older.
    pub born: Option<Timestamp>,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Link<'a> {
    /// This Node carries the providerID.
    Linked(&'a Node),
    /// This Node is the machine's by its UUID: it is to be given the providerID.
    Found(&'a Node),
    /// None, for this reason.
    None(Refusal),
}

/// Why no Node is linked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// None is there yet.
    NotThere,
    /// The BMC tells no UUID.
    NoUuid,
    /// The UUID is one of many boards.
    Filler(String),
    /// These Nodes could be it.
    SeveralNodes(Vec<String>),
    /// These other hosts of the cluster have the same UUID.
    SeveralHosts {
        /// The Node that matches.
        node: String,
        /// The others, `<namespace>/<name>`.
        hosts: Vec<String>,
    },
    /// The Node that matches carries another providerID.
    AnotherProviderId {
        /// The Node.
        node: String,
        /// What it carries.
        provider_id: String,
    },
    /// The Node that matches is older than the machine's boot.
    OfEarlierBoot(String),
    /// The Node that matches is being deleted.
    Deleting(String),
}

impl Sought<'_> {
    /// Finds the machine's Node. `twins` names the other hosts of the cluster with the same UUID; it is asked only when
    /// a Node was found by it.
    #[must_use]
    pub fn among<'n>(&self, nodes: &'n [Node], twins: impl FnOnce() -> Vec<String>) -> Link<'n> {
        let carrying: Vec<&Node> = nodes.iter().filter(|node| self.is_carried_by(node)).collect();
        if !carrying.is_empty() {
            return match alive(&carrying) {
                Ok(node) if self.booting_since.is_some_and(|since| is_older(node, since)) => {
                    Link::None(Refusal::OfEarlierBoot(node.name.clone()))
                }
                Ok(node) => Link::Linked(node),
                Err(refusal) => Link::None(refusal),
            };
        }
        let uuid = match self.system {
            SystemId::Untold => return Link::None(Refusal::NoUuid),
            SystemId::Filler(uuid) => return Link::None(Refusal::Filler(uuid.clone())),
            SystemId::Real(uuid) => uuid,
        };
        let same = |node: &&Node| matches!(&node.system, SystemId::Real(told) if told == uuid);
        let matching: Vec<&Node> = nodes.iter().filter(same).collect();
        if matching.is_empty() {
            return Link::None(Refusal::NotThere);
        }
        match alive(&matching) {
            Ok(node) => self.judge(node, twins),
            Err(refusal) => Link::None(refusal),
        }
    }

    fn is_carried_by(&self, node: &Node) -> bool {
        node.provider_id.as_deref() == Some(self.provider_id)
    }

    /// Whether the one Node that matches by UUID may be given the providerID.
    fn judge<'n>(&self, node: &'n Node, twins: impl FnOnce() -> Vec<String>) -> Link<'n> {
        if let Some(provider_id) = &node.provider_id {
            let (node, provider_id) = (node.name.clone(), provider_id.clone());
            return Link::None(Refusal::AnotherProviderId { node, provider_id });
        }
        if self.booting_since.or(self.born).is_some_and(|since| is_older(node, since)) {
            return Link::None(Refusal::OfEarlierBoot(node.name.clone()));
        }
        match twins() {
            hosts if hosts.is_empty() => Link::Found(node),
            hosts => Link::None(Refusal::SeveralHosts { node: node.name.clone(), hosts }),
        }
    }

    /// Whether what was found shows that the machine has booted: a Node that is there since the boot began. What is not
    /// known to be younger is not.
    #[must_use]
    pub fn is_proof(&self, link: &Link<'_>) -> bool {
        let (Link::Linked(node) | Link::Found(node)) = link else { return false };
        let younger = |since| node.created.is_some_and(|created| created >= since);
        self.booting_since.is_some_and(younger)
    }
}

/// The one of these that is not being deleted.
fn alive<'n>(nodes: &[&'n Node]) -> Result<&'n Node, Refusal> {
    let alive: Vec<&'n Node> = nodes.iter().copied().filter(|node| !node.deleting).collect();
    let name = |node: &&Node| node.name.clone();
    match (alive.as_slice(), nodes.first()) {
        ([node], _) => Ok(node),
        ([], Some(node)) => Err(Refusal::Deleting(name(node))),
        ([], None) => Err(Refusal::NotThere),
        ([_, _, ..], _) => Err(Refusal::SeveralNodes(alive.iter().map(name).collect())),
    }
}

fn is_older(node: &Node, since: Timestamp) -> bool {
    node.created.is_some_and(|created| created < since)
}

/// How people set a providerID where we can't.
fn by_flag(provider_id: &str) -> String {
    format!(
        "set it by kubelet flag: nodeRegistration.kubeletExtraArgs name provider-id, value \
         {{{{ ds.meta_data.provider_id }}}} (here: --provider-id={provider_id})"
    )
}

impl Link<'_> {
    /// In the words of the condition NodeLinked. `failed` is why the providerID could not be written when it was tried
    /// last.
    #[must_use]
    pub fn finding(&self, provider_id: &str, failed: Option<&str>) -> Finding {
        let not = |reason, message| Finding { truth: Truth::False, reason, message };
        match self {
            Self::Linked(node) => {
                let message = format!("Node {}", node.name);
                Finding { truth: Truth::True, reason: reasons::LINKED, message }
            }
            Self::Found(node) => match failed {
                None => not(reasons::LINKING_NODE, format!("Node {} was found by its UUID", node.name)),
                Some(why) => not(
                    reasons::NODE_LINK_FAILED,
                    format!("Node {} was found by its UUID, but can't be written: {why}", node.name),
                ),
            },
            Self::None(refusal) => not(refusal.reason(), refusal.message(provider_id)),
        }
    }

    /// Whether a Node is there and only people can say what it is: until they do, the machine is not ready.
    #[must_use]
    pub fn needs_people(&self) -> bool {
        match self {
            Self::Linked(_) | Self::Found(_) => false,
            Self::None(refusal) => match refusal {
                Refusal::SeveralNodes(_)
                | Refusal::SeveralHosts { .. }
                | Refusal::AnotherProviderId { .. }
                | Refusal::OfEarlierBoot(_) => true,
                Refusal::NotThere | Refusal::NoUuid | Refusal::Filler(_) | Refusal::Deleting(_) => false,
            },
        }
    }
}

impl Refusal {
    fn reason(&self) -> &'static str {
        match self {
            Self::NotThere => reasons::WAITING_FOR_NODE,
            Self::NoUuid => reasons::UUID_UNKNOWN,
            Self::Filler(_) => reasons::UUID_NOT_UNIQUE,
            Self::SeveralNodes(_) => reasons::SEVERAL_NODES_MATCH,
            Self::SeveralHosts { .. } => reasons::SEVERAL_HOSTS_MATCH,
            Self::AnotherProviderId { .. } => reasons::NODE_HAS_ANOTHER_PROVIDER_ID,
            Self::OfEarlierBoot(_) => reasons::NODE_OF_EARLIER_BOOT,
            Self::Deleting(_) => reasons::NODE_BEING_DELETED,
        }
    }

    fn message(&self, provider_id: &str) -> String {
        let how = by_flag(provider_id);
        match self {
            Self::NotThere => {
                format!("No Node carries {provider_id}, and none has the UUID of its host yet")
            }
            Self::NoUuid => format!(
                "No Node carries {provider_id}, and its host tells no UUID by which one could be found: {how}"
            ),
            Self::Filler(uuid) => format!(
                "No Node carries {provider_id}, and the UUID of its host, {uuid}, is one that many machines have: {how}"
            ),
            Self::SeveralNodes(nodes) => {
                format!(
                    "Several Nodes could be it: {}. Delete those that are not, or {how}",
                    nodes.join(", ")
                )
            }
            Self::SeveralHosts { node, hosts } => format!(
                "Node {node} has the UUID of its host, but so have other hosts of the cluster: {}. So {how}",
                hosts.join(", ")
            ),
            Self::AnotherProviderId { node, provider_id: other } => format!(
                "Node {node} has the UUID of its host, but carries the providerID {other}, which can't be changed: \
                 delete that Node and restart its kubelet, without the flag that set it, or {how}"
            ),
            Self::OfEarlierBoot(node) => format!(
                "Node {node} was there before this machine was started, so it is taken for one of an earlier life: \
                 delete it; a kubelet that still runs makes it anew when it is restarted"
            ),
            Self::Deleting(node) => format!("Node {node} is being deleted"),
        }
    }
}

impl Trouble {
    /// In the words of the condition NodeLinked.
    #[must_use]
    pub fn finding(&self) -> Finding {
        let (reason, message) = match self {
            Self::NoKubeconfig(secret) => (
                reasons::KUBECONFIG_NOT_FOUND,
                format!("The Secret {secret} with the kubeconfig of the workload cluster does not exist yet"),
            ),
            Self::BadKubeconfig { secret, why } => (
                reasons::KUBECONFIG_NOT_USABLE,
                format!("The kubeconfig in the Secret {secret} can't be used: {why}"),
            ),
            Self::Unreachable(why) => (
                reasons::WORKLOAD_CLUSTER_UNREACHABLE,
                format!("The workload cluster can't be asked for its Nodes: {why}"),
            ),
        };
        Finding { truth: Truth::Unknown, reason, message }
    }
}

#[cfg(test)]
#[path = "node_link_tests.rs"]
pub(crate) mod tests;

//! Which namespaces may have the hosts of another one, and on what terms.
//!
//! The conditions of a policy must all hold; of several policies one is enough. Where there is none, nobody may.

mod standing;

use std::{collections::BTreeMap, sync::Arc};

use beskar7_api::{
    HostDeployPolicy,
    boot::Cleaning,
    host_deploy_policy::{LabelCondition, NamespaceConditions, OnRevoke},
};
use regex::Regex;

pub use self::standing::{concerned_by_host, left_alone, standing};

/// What a compiled expression may take: an expression that needs more is no name's.
const MOST_MEMORY: usize = 1 << 20;

/// A namespace that asks for hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asking<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its labels.
    pub labels: Option<&'a BTreeMap<String, String>>,
}

/// One policy, ready to be asked very often.
#[derive(Debug, Clone)]
pub struct Policy {
    name: Arc<str>,
    who: Who,
    on_revoke: OnRevoke,
    minimum_cleaning: Cleaning,
}

#[derive(Debug, Clone)]
enum Who {
    /// Those for whom all of this holds.
    Conditions { names: Vec<String>, name_matches: Option<Regex>, has_labels: Vec<LabelCondition> },
    /// Nobody: what it says can't be read, for this reason.
    Nobody(String),
}

/// Whether somebody may have the host that it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tenure {
    /// It may.
    Allowed,
    /// No policy lets it any more, and the one that did lets it keep what it has.
    Tolerated,
    /// Nobody can tell: a policy that may let it goes by labels, and those are not known. It keeps what it has.
    Unknown,
    /// No policy lets it any more, and the one that did takes back what it has.
    Revoked,
}

/// On what terms somebody may have a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terms {
    /// The policy that allows it: the first one by name.
    pub policy: Arc<str>,
    /// The least cleaning behind it: the most that a policy which allows it asks for.
    pub minimum_cleaning: Cleaning,
}

impl Policy {
    /// What an object says.
    #[must_use]
    pub fn new(policy: &HostDeployPolicy) -> Self {
        Self {
            name: policy.metadata.name.as_deref().unwrap_or_default().into(),
            who: Who::new(&policy.spec.hostclaim_namespaces),
            on_revoke: policy.spec.on_revoke,
            minimum_cleaning: policy.spec.minimum_cleaning,
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Why it allows nobody, where what it says can't be read.
    #[must_use]
    pub fn unreadable(&self) -> Option<&str> {
        match &self.who {
            Who::Nobody(why) => Some(why),
            Who::Conditions { .. } => None,
        }
    }

    /// Whether it lets this namespace have hosts.
    #[must_use]
    pub fn allows(&self, asking: &Asking<'_>) -> bool {
        self.who.is_called(asking.name) && self.who.labels().iter().all(|label| has(asking, label))
    }

    /// Whether it goes by labels.
    #[must_use]
    pub fn goes_by_labels(&self) -> bool {
        !self.who.labels().is_empty()
    }

    /// Whether nobody can tell if it lets the namespace of this name have hosts who does not know its labels.
    #[must_use]
    pub fn needs_labels_of(&self, name: &str) -> bool {
        self.goes_by_labels() && self.who.is_called(name)
    }
}

impl Who {
    fn new(conditions: &NamespaceConditions) -> Self {
        let NamespaceConditions { names, name_matches, has_labels } = conditions;
        match name_matches.as_deref().map(whole).transpose() {
            Ok(name_matches) => {
                Self::Conditions { names: names.clone(), name_matches, has_labels: has_labels.clone() }
            }
            Err(error) => Self::Nobody(format!("nameMatches can't be used: {error}")),
        }
    }

    /// Whether a namespace of this name is meant, as far as its name goes.
    fn is_called(&self, name: &str) -> bool {
        match self {
            Self::Nobody(_) => false,
            Self::Conditions { names, name_matches, has_labels: _ } => {
                (names.is_empty() || names.iter().any(|meant| meant == name))
                    && name_matches.as_ref().is_none_or(|expression| expression.is_match(name))
            }
        }
    }

    fn labels(&self) -> &[LabelCondition] {
        match self {
            Self::Nobody(_) => &[],
            Self::Conditions { has_labels, .. } => has_labels,
        }
    }
}

/// An expression that is about the whole name.
fn whole(expression: &str) -> Result<Regex, regex::Error> {
    // By itself first: brackets that it does not close must not close ours.
    regex::RegexBuilder::new(expression).size_limit(MOST_MEMORY).build()?;
    regex::RegexBuilder::new(&format!("^(?:{expression})$")).size_limit(MOST_MEMORY).build()
}

fn has(asking: &Asking<'_>, wanted: &LabelCondition) -> bool {
    let found = asking.labels.and_then(|labels| labels.get(&wanted.name));
    found.is_some_and(|found| wanted.value.as_ref().is_none_or(|value| value == found))
}

/// On what terms the policies of one namespace let another one have hosts there; nothing, where none does.
#[must_use]
pub fn terms<'p>(policies: impl IntoIterator<Item = &'p Policy>, asking: &Asking<'_>) -> Option<Terms> {
    let mut allowing: Vec<&Policy> = policies.into_iter().filter(|policy| policy.allows(asking)).collect();
    allowing.sort_by(|a, b| a.name.cmp(&b.name));
    let minimum_cleaning = allowing.iter().map(|policy| policy.minimum_cleaning).max()?;
    let policy = allowing.first()?.name.clone();
    Some(Terms { policy, minimum_cleaning })
}

/// Where somebody stands whom no policy allows to have its host any more. `under` is the policy that it was taken under.
/// What is gone can't ask for anything. `unlabelled` is the name of a namespace whose labels nobody knows: nothing is taken
/// from it that a policy may still allow.
#[must_use]
pub fn not_allowed_any_more<'p>(
    policies: impl IntoIterator<Item = &'p Policy>,
    under: Option<&str>,
    unlabelled: Option<&str>,
) -> Tenure {
    let mut revokes = false;
    for policy in policies {
        if unlabelled.is_some_and(|name| policy.needs_labels_of(name)) {
            return Tenure::Unknown;
        }
        revokes |= Some(policy.name()) == under && policy.on_revoke == OnRevoke::Release;
    }
    if revokes { Tenure::Revoked } else { Tenure::Tolerated }
}

#[cfg(test)]
#[path = "policy_tests.rs"]
mod tests;

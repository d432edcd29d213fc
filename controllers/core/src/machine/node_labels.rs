//! Which labels of a host its Node gets: those with a chosen prefix, unless somebody else has given the Node another
//! value.

use std::collections::BTreeMap;

use super::node_link::Node;

/// What becomes of a Node's labels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Labels {
    /// All that are to be ours.
    pub wanted: BTreeMap<String, String>,
    /// Those that others gave another value: they are left as they are.
    pub contested: Vec<String>,
    /// Whether something is to be written.
    pub changed: bool,
}

impl Labels {
    /// What follows from the labels of a host for its Node.
    #[must_use]
    pub fn of(host: Option<&BTreeMap<String, String>>, prefixes: &[String], node: &Node) -> Self {
        let chosen = |label: &str| prefixes.iter().any(|prefix| label.starts_with(prefix.as_str()));
        let mut wanted = BTreeMap::new();
        let mut contested = Vec::new();
        for (label, value) in host.into_iter().flatten().filter(|(label, _)| chosen(label)) {
            let same = node.labels.get(label) == Some(value);
            if node.theirs.contains(label) && !same {
                contested.push(label.clone());
            } else {
                wanted.insert(label.clone(), value.clone());
            }
        }
        let is_set = |(label, value): (&String, &String)| {
            node.ours.contains(label) && node.labels.get(label) == Some(value)
        };
        let changed = wanted.len() != node.ours.len() || !wanted.iter().all(is_set);
        Self { wanted, contested, changed }
    }

    /// For people: which labels are left to others.
    #[must_use]
    pub fn told(&self) -> Option<String> {
        (!self.contested.is_empty()).then(|| {
            format!(
                "labels of its host that others gave the Node another value are left to them: {}",
                self.contested.join(", ")
            )
        })
    }
}

#[cfg(test)]
#[path = "node_labels_tests.rs"]
mod tests;

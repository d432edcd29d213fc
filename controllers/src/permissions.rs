//! What the manager needs to be allowed, in one table. The roles in `config/rbac` grant this and no more.

use std::fmt;

use beskar7_api::{GROUP, cluster_api};

use crate::options::Options;

/// Where a permission is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Where {
    /// In every namespace that is watched: with `--namespace` that one, else all of them.
    Watched,
    /// In the manager's own namespace, where its Lease and its boot server's key are.
    Own,
    /// On a kind that has no namespace.
    Cluster,
}

/// One thing to be allowed.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Need {
    /// API group; empty for core.
    pub group: &'static str,
    /// Plural name of the kind.
    pub resource: &'static str,
    /// Part of it, if only that.
    pub subresource: Option<&'static str>,
    /// What is done with it.
    pub verb: &'static str,
    /// Where.
    pub place: Where,
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.verb, self.resource)?;
        if let Some(subresource) = self.subresource {
            write!(f, "/{subresource}")?;
        }
        if !self.group.is_empty() {
            write!(f, " ({})", self.group)?;
        }
        Ok(())
    }
}

/// A line of the table.
struct Line {
    group: &'static str,
    resource: &'static str,
    subresource: Option<&'static str>,
    verbs: &'static [&'static str],
    place: Where,
    only_if: fn(&Options) -> bool,
}

const READ: &[&str] = &["get", "list", "watch"];
const READ_AND_PATCH: &[&str] = &["get", "list", "watch", "patch"];
const MAKE: &[&str] = &["create", "update", "delete"];
const ALWAYS: fn(&Options) -> bool = |_| true;
/// What only controllers do, and not a boot server by itself.
const CONTROLLING: fn(&Options) -> bool = |options| !options.boot.boot_only;

const TABLE: &[Line] = &[
    Line {
        group: GROUP,
        resource: "physicalhosts",
        subresource: None,
        verbs: READ_AND_PATCH,
        place: Where::Watched,
        only_if: ALWAYS,
    },
    Line {
        group: GROUP,
        resource: "physicalhosts",
        subresource: Some("status"),
        verbs: &["patch"],
        place: Where::Watched,
        only_if: CONTROLLING,
    },
    Line {
        group: GROUP,
        resource: "beskar7machines",
        subresource: None,
        verbs: READ,
        place: Where::Watched,
        only_if: ALWAYS,
    },
    Line {
        group: GROUP,
        resource: "beskar7machines",
        subresource: None,
        verbs: &["patch"],
        place: Where::Watched,
        only_if: CONTROLLING,
    },
    Line {
        group: GROUP,
        resource: "beskar7machines",
        subresource: Some("status"),
        verbs: &["patch"],
        place: Where::Watched,
        only_if: CONTROLLING,
    },
    Line {
        group: GROUP,
        resource: "beskar7clusters",
        subresource: None,
        verbs: READ,
        place: Where::Watched,
        only_if: ALWAYS,
    },
    Line {
        group: GROUP,
        resource: "beskar7clusters",
        subresource: None,
        verbs: &["patch"],
        place: Where::Watched,
        only_if: CONTROLLING,
    },
    Line {
        group: GROUP,
        resource: "beskar7clusters",
        subresource: Some("status"),
        verbs: &["patch"],
        place: Where::Watched,
        only_if: CONTROLLING,
    },
    Line {
        group: cluster_api::GROUP,
        resource: "clusters",
        subresource: None,
        verbs: READ,
        place: Where::Watched,
        only_if: ALWAYS,
    },
    Line {
        group: cluster_api::GROUP,
        resource: "machines",
        subresource: None,
        verbs: READ,
        place: Where::Watched,
        only_if: ALWAYS,
    },
    // How many machines a control plane wants, and which hosts will do for them.
    Line {
        group: "controlplane.cluster.x-k8s.io",
        resource: "kubeadmcontrolplanes",
        subresource: None,
        verbs: &["get"],
        place: Where::Watched,
        only_if: CONTROLLING,
    },
    Line {
        group: GROUP,
        resource: "beskar7machinetemplates",
        subresource: None,
        verbs: READ,
        place: Where::Watched,
        only_if: CONTROLLING,
    },
    Line {
        group: GROUP,
        resource: "beskar7machinetemplates",
        subresource: Some("status"),
        verbs: &["patch"],
        place: Where::Watched,
        only_if: CONTROLLING,
    },
    Line {
        group: GROUP,
        resource: "hostclaims",
        subresource: None,
        verbs: READ,
        place: Where::Watched,
        only_if: ALWAYS,
    },
    Line {
        group: GROUP,
        resource: "hostclaims",
        subresource: None,
        verbs: &["patch"],
        place: Where::Watched,
        only_if: CONTROLLING,
    },
    Line {
        group: GROUP,
        resource: "hostclaims",
        subresource: Some("status"),
        verbs: &["patch"],
        place: Where::Watched,
        only_if: CONTROLLING,
    },
    // Who may have whose hosts.
    Line {
        group: GROUP,
        resource: "hostdeploypolicies",
        subresource: None,
        verbs: READ,
        place: Where::Watched,
        only_if: CONTROLLING,
    },
    Line {
        group: GROUP,
        resource: "hostdeploypolicies",
        subresource: Some("status"),
        verbs: &["patch"],
        place: Where::Watched,
        only_if: CONTROLLING,
    },
    Line {
        group: "",
        resource: "namespaces",
        subresource: None,
        verbs: READ,
        place: Where::Cluster,
        only_if: |options| options.watch_namespace().is_none() && CONTROLLING(options),
    },
    // Made for a claim whose machine boots from the network, and removed behind it.
    Line {
        group: GROUP,
        resource: "hostbootconfigurations",
        subresource: None,
        verbs: READ,
        place: Where::Watched,
        only_if: ALWAYS,
    },
    Line {
        group: GROUP,
        resource: "hostbootconfigurations",
        subresource: None,
        verbs: MAKE,
        place: Where::Watched,
        only_if: CONTROLLING,
    },
    Line {
        group: GROUP,
        resource: "hostbootconfigurations",
        subresource: Some("status"),
        verbs: &["patch"],
        place: Where::Watched,
        only_if: CONTROLLING,
    },
    Line {
        group: GROUP,
        resource: "dhcpreservations",
        subresource: None,
        verbs: READ,
        place: Where::Watched,
        only_if: ALWAYS,
    },
    Line {
        group: GROUP,
        resource: "dhcpreservations",
        subresource: None,
        verbs: MAKE,
        place: Where::Watched,
        only_if: CONTROLLING,
    },
    Line {
        group: GROUP,
        resource: "dhcpreservations",
        subresource: Some("status"),
        verbs: &["patch"],
        place: Where::Watched,
        only_if: ALWAYS,
    },
    // Applied on the server: made where it is not there.
    Line {
        group: GROUP,
        resource: "hardwaredata",
        subresource: None,
        verbs: &["create", "patch"],
        place: Where::Watched,
        only_if: CONTROLLING,
    },
    // By name only: nobody needs to list what others keep secret.
    Line {
        group: "",
        resource: "secrets",
        subresource: None,
        verbs: &["get"],
        place: Where::Watched,
        only_if: ALWAYS,
    },
    // The boot server's key, made where there is none.
    Line {
        group: "",
        resource: "secrets",
        subresource: None,
        verbs: &["get", "create"],
        place: Where::Own,
        only_if: |options| options.boot_url().is_some(),
    },
    Line {
        group: "events.k8s.io",
        resource: "events",
        subresource: None,
        verbs: &["create", "patch"],
        place: Where::Watched,
        only_if: ALWAYS,
    },
    Line {
        group: "coordination.k8s.io",
        resource: "leases",
        subresource: None,
        verbs: &["get", "create", "update"],
        place: Where::Own,
        only_if: |options| options.leader.leader_elect,
    },
    Line {
        group: "authentication.k8s.io",
        resource: "tokenreviews",
        subresource: None,
        verbs: &["create"],
        place: Where::Cluster,
        only_if: Options::diagnostics_guarded,
    },
    Line {
        group: "authorization.k8s.io",
        resource: "subjectaccessreviews",
        subresource: None,
        verbs: &["create"],
        place: Where::Cluster,
        only_if: Options::diagnostics_guarded,
    },
];

/// What a manager with these options needs.
#[must_use]
pub fn required(options: &Options) -> Vec<Need> {
    TABLE
        .iter()
        .filter(|line| (line.only_if)(options))
        .flat_map(|line| {
            line.verbs.iter().map(|verb| Need {
                group: line.group,
                resource: line.resource,
                subresource: line.subresource,
                verb,
                place: line.place,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needs(arguments: &[&str]) -> Vec<String> {
        let all = std::iter::once("manager").chain(arguments.iter().copied()).map(Into::into);
        required(&Options::read(all).unwrap()).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn only_what_is_used_is_needed() {
        let least = needs(&["--insecure-diagnostics"]);
        assert!(least.contains(&"get secrets".to_owned()), "{least:?}");
        assert!(least.contains(&"patch physicalhosts/status (infrastructure.cluster.x-k8s.io)".to_owned()));
        assert!(!least.iter().any(|need| need.contains("leases") || need.contains("reviews")), "{least:?}");

        let all = needs(&["--leader-elect"]);
        assert!(all.contains(&"update leases (coordination.k8s.io)".to_owned()), "{all:?}");
        assert!(all.contains(&"create tokenreviews (authentication.k8s.io)".to_owned()), "{all:?}");
    }

    #[test]
    fn secrets_are_never_listed() {
        let all = needs(&["--leader-elect"]);
        let secrets: Vec<_> = all.iter().filter(|need| need.contains("secrets")).collect();
        assert_eq!(secrets, ["get secrets"]);
        let serving = needs(&["--boot-url=http://b", "--insecure-diagnostics"]);
        let secrets: Vec<_> = serving.iter().filter(|need| need.contains("secrets")).collect();
        assert_eq!(secrets, ["get secrets", "get secrets", "create secrets"], "the key is our own");
    }
}

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
    /// In the namespace that discovered machines are written into.
    Discovery,
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

/// Something with a whole kind.
const fn line(
    (group, resource): (&'static str, &'static str),
    verbs: &'static [&'static str],
    place: Where,
    only_if: fn(&Options) -> bool,
) -> Line {
    Line { group, resource, subresource: None, verbs, place, only_if }
}

/// Something with a kind of ours.
const fn ours(resource: &'static str, verbs: &'static [&'static str], only_if: fn(&Options) -> bool) -> Line {
    line((GROUP, resource), verbs, Where::Watched, only_if)
}

/// Writing the status of a kind of ours.
const fn status_of(resource: &'static str, only_if: fn(&Options) -> bool) -> Line {
    Line { subresource: Some("status"), ..ours(resource, &["patch"], only_if) }
}

const TABLE: &[Line] = &[
    ours("physicalhosts", READ_AND_PATCH, ALWAYS),
    status_of("physicalhosts", CONTROLLING),
    ours("beskar7machines", READ, ALWAYS),
    ours("beskar7machines", &["patch"], CONTROLLING),
    status_of("beskar7machines", CONTROLLING),
    ours("beskar7clusters", READ, ALWAYS),
    ours("beskar7clusters", &["patch"], CONTROLLING),
    status_of("beskar7clusters", CONTROLLING),
    line((cluster_api::GROUP, "clusters"), READ, Where::Watched, ALWAYS),
    line((cluster_api::GROUP, "machines"), READ, Where::Watched, ALWAYS),
    // How many machines a control plane wants, and which hosts will do for them.
    line(("controlplane.cluster.x-k8s.io", "kubeadmcontrolplanes"), &["get"], Where::Watched, CONTROLLING),
    ours("beskar7machinetemplates", READ, CONTROLLING),
    status_of("beskar7machinetemplates", CONTROLLING),
    ours("hostclaims", READ, ALWAYS),
    ours("hostclaims", &["patch"], CONTROLLING),
    status_of("hostclaims", CONTROLLING),
    // Who may have whose hosts.
    ours("hostdeploypolicies", READ, CONTROLLING),
    status_of("hostdeploypolicies", CONTROLLING),
    line(("", "namespaces"), READ, Where::Cluster, |options| {
        options.watch_namespace().is_none() && CONTROLLING(options)
    }),
    // Made for a claim whose machine boots from the network, and removed behind it.
    ours("hostbootconfigurations", READ, ALWAYS),
    ours("hostbootconfigurations", MAKE, CONTROLLING),
    status_of("hostbootconfigurations", CONTROLLING),
    ours("dhcpreservations", READ, ALWAYS),
    ours("dhcpreservations", MAKE, CONTROLLING),
    status_of("dhcpreservations", ALWAYS),
    // Applied on the server: made where it is not there. What the agent saw of a machine is read again.
    ours("hardwaredata", &["get", "create", "patch"], ALWAYS),
    // Machines that nobody knew.
    line((GROUP, "physicalhosts"), &["create"], Where::Discovery, |options| {
        options.discovery_namespace().is_some()
    }),
    // By name only: nobody needs to list what others keep secret.
    line(("", "secrets"), &["get"], Where::Watched, ALWAYS),
    // The boot server's key, made where there is none.
    line(("", "secrets"), &["get", "create"], Where::Own, |options| options.boot_url().is_some()),
    line(("events.k8s.io", "events"), &["create", "patch"], Where::Watched, ALWAYS),
    line(("coordination.k8s.io", "leases"), &["get", "create", "update"], Where::Own, |options| {
        options.leader.leader_elect
    }),
    line(
        ("authentication.k8s.io", "tokenreviews"),
        &["create"],
        Where::Cluster,
        Options::diagnostics_guarded,
    ),
    line(
        ("authorization.k8s.io", "subjectaccessreviews"),
        &["create"],
        Where::Cluster,
        Options::diagnostics_guarded,
    ),
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
    fn hosts_are_made_only_where_machines_are_discovered() {
        let serving = ["--boot-url=http://b", "--dhcp=proxy", "--dhcp-interfaces=eth1", "--ipxe-dir=/i"];
        let agent = ["--agent-kernel=http://x/k", "--agent-initramfs=http://x/i"];
        let create = "create physicalhosts (infrastructure.cluster.x-k8s.io)".to_owned();
        let mut arguments: Vec<&str> = serving.into_iter().chain(agent).collect();
        assert!(!needs(&arguments).contains(&create));
        arguments.push("--discovery-namespace=racks");
        assert!(needs(&arguments).contains(&create));
        arguments.push("--boot-only");
        assert!(needs(&arguments).contains(&create), "the ones that answer DHCP find them");
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

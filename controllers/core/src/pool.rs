//! Where the hosts of a cluster and of its machines are.

use std::collections::BTreeSet;

use beskar7_api::{
    cluster::HostPool,
    selector::{HostSelector, LabelSelector},
};

/// Where hosts are wanted from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place<'a> {
    /// The namespace; nothing, where pool and selector name two.
    pub namespace: Option<&'a str>,
    /// The labels of the pool.
    pub labels: Option<&'a LabelSelector>,
}

impl<'a> Place<'a> {
    /// In the pool of a cluster, and where a selector says; else in one's own namespace.
    #[must_use]
    pub fn of(own: &'a str, pool: Option<&'a HostPool>, selector: Option<&'a HostSelector>) -> Self {
        let pooled = pool.and_then(|pool| pool.namespace.as_deref());
        let selected = selector.and_then(|selector| selector.in_namespace.as_deref());
        let namespace = match (pooled, selected) {
            (Some(pooled), Some(selected)) => (pooled == selected).then_some(pooled),
            (Some(one), None) | (None, Some(one)) => Some(one),
            (None, None) => Some(own),
        };
        Self { namespace, labels: pool.and_then(|pool| pool.selector.as_ref()) }
    }

    /// The namespaces whose hosts may be had: one's own always, others where a policy opens them.
    #[must_use]
    pub fn reachable(&self, own: &str, open: &BTreeSet<String>) -> BTreeSet<String> {
        let may = |there: &&str| *there == own || open.contains(*there);
        self.namespace.filter(may).map(str::to_owned).into_iter().collect()
    }
}

/// Why nothing can be had there, for people.
#[must_use]
pub fn closed(place: &Place<'_>, own: &str) -> String {
    match place.namespace {
        Some(there) => format!(
            "No HostDeployPolicy in namespace {there} lets namespace {own} have its hosts: the platform team writes one \
             there"
        ),
        None => "hostPool.namespace and hostSelector.inNamespace name two namespaces: leave one of them out"
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn hosts_are_wanted_from_one_namespace_and_had_where_it_is_open() {
        let open = BTreeSet::from(["racks".to_owned()]);
        for (pool, selector, wanted, had) in [
            (json!({}), json!({}), Some("metal"), true),
            (json!({"namespace": "metal"}), json!({"inNamespace": "metal"}), Some("metal"), true),
            (json!({"namespace": "racks"}), json!({}), Some("racks"), true),
            (json!({}), json!({"inNamespace": "racks"}), Some("racks"), true),
            (json!({"namespace": "other"}), json!({}), Some("other"), false),
            (json!({"namespace": "racks"}), json!({"inNamespace": "metal"}), None, false),
        ] {
            let parsed: HostPool = serde_json::from_value(pool.clone()).unwrap();
            let of: HostSelector = serde_json::from_value(selector.clone()).unwrap();
            let place = Place::of("metal", Some(&parsed), Some(&of));
            assert_eq!(place.namespace, wanted, "{pool} {selector}");
            let reached = place.reachable("metal", &open);
            assert_eq!(
                reached.iter().map(String::as_str).collect::<Vec<_>>(),
                wanted.filter(|_| had).into_iter().collect::<Vec<_>>()
            );
        }
    }

    #[test]
    fn what_is_closed_says_who_can_open_it() {
        let place = |namespace| Place { namespace, labels: None };
        assert!(closed(&place(Some("racks")), "a").contains("HostDeployPolicy in namespace racks"));
        assert!(closed(&place(None), "a").contains("name two namespaces"));
    }
}

//! Who may have whose hosts, by the HostDeployPolicies as they were last seen.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex, PoisonError},
};

use beskar7_api::{HostDeployPolicy, PhysicalHost, annotations};
use beskar7_core::policy::{self, Asking, Policy, Tenure, Terms};
use k8s_openapi::api::core::v1::Namespace;
use kube::ResourceExt as _;

use crate::watch::{Cache, Key, key};

/// Answers who may have whose hosts; cheap to clone.
#[derive(Debug, Clone)]
pub struct Tenancy {
    policies: Cache<HostDeployPolicy>,
    namespaces: Option<Cache<Namespace>>,
    /// Policies that were read, by the version that they had then: an expression is not compiled for every question.
    read: Arc<Mutex<HashMap<Key, Read>>>,
}

/// A policy, and the version that it was read at.
#[derive(Debug)]
struct Read {
    version: String,
    policy: Arc<Policy>,
}

impl Tenancy {
    /// By what these caches have.
    #[must_use]
    pub fn new(policies: Cache<HostDeployPolicy>, namespaces: Cache<Namespace>) -> Self {
        Self { policies, namespaces: Some(namespaces), read: Arc::default() }
    }

    /// The same where namespaces are not watched, and their labels not known.
    #[must_use]
    pub fn without_labels(policies: Cache<HostDeployPolicy>) -> Self {
        Self { policies, namespaces: None, read: Arc::default() }
    }

    /// Waits until the caches were filled once.
    pub async fn filled(&self) {
        self.policies.filled().await;
        if let Some(namespaces) = &self.namespaces {
            namespaces.filled().await;
        }
    }

    /// The namespaces whose policies let this one have hosts.
    #[must_use]
    pub fn open_to(&self, asking: &str) -> BTreeSet<String> {
        let namespace = self.namespace(asking);
        let asking = as_asking(asking, namespace.as_deref());
        let allowing = self.all().into_iter().filter(|(_, policy)| policy.allows(&asking));
        allowing.map(|((namespace, _), _)| namespace).collect()
    }

    /// Of the one namespace that hosts are wanted from, whether it lets another one have them: itself, or nothing. Cheap
    /// where that is one's own.
    #[must_use]
    pub fn opened(&self, hosts_in: Option<&str>, asking: &str) -> BTreeSet<String> {
        let elsewhere = hosts_in.filter(|there| *there != asking);
        elsewhere.filter(|there| self.terms(there, asking).is_some()).map(str::to_owned).into_iter().collect()
    }

    /// On what terms a namespace may have the hosts of another; nothing, where it may not.
    #[must_use]
    pub fn terms(&self, hosts_in: &str, asking: &str) -> Option<Terms> {
        let namespace = self.namespace(asking);
        let asking = as_asking(asking, namespace.as_deref());
        let policies = self.of(hosts_in);
        policy::terms(policies.iter().map(AsRef::as_ref), &asking)
    }

    /// Whether the labels of namespaces are known.
    #[must_use]
    pub fn knows_labels(&self) -> bool {
        self.namespaces.is_some()
    }

    /// Whether it is for labels that are not known that nobody can tell whether this namespace may have hosts.
    #[must_use]
    pub fn misses_labels_of(&self, asking: &str) -> bool {
        !self.knows_labels() && self.all().iter().any(|(_, policy)| policy.needs_labels_of(asking))
    }

    /// Whether a namespace may have the host that somebody there has. `open` are the namespaces whose hosts it may have.
    #[must_use]
    pub fn tenure(&self, host: &PhysicalHost, asking: &str, open: &BTreeSet<String>) -> Tenure {
        let there = host.metadata.namespace.as_deref().unwrap_or_default();
        if open.contains(there) {
            return Tenure::Allowed;
        }
        let under = host.annotations().get(annotations::POLICY).map(String::as_str);
        let policies = self.of(there);
        // On its way to another management cluster a namespace loses its labels, and its hosts come with it.
        if there == asking
            && self.knows_labels()
            && policies.iter().any(|policy| policy.needs_labels_of(asking))
        {
            return Tenure::Tolerated;
        }
        let unlabelled = (!self.knows_labels()).then_some(asking);
        policy::not_allowed_any_more(policies.iter().map(AsRef::as_ref), under, unlabelled)
    }

    fn namespace(&self, namespace: &str) -> Option<Arc<Namespace>> {
        self.namespaces.as_ref()?.get(&(String::new(), namespace.to_owned()))
    }

    fn of(&self, namespace: &str) -> Vec<Arc<Policy>> {
        let all = self.all().into_iter().filter(|((there, _), _)| there == namespace);
        all.map(|(_, policy)| policy).collect()
    }

    fn all(&self) -> Vec<(Key, Arc<Policy>)> {
        let objects = self.policies.all();
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if read.len() > objects.len() {
            let there: BTreeSet<Key> = objects.iter().map(|policy| key(policy.as_ref())).collect();
            read.retain(|key, _| there.contains(key));
        }
        let known = |object: &Arc<HostDeployPolicy>| {
            let (key, version) = (key(object.as_ref()), object.resource_version().unwrap_or_default());
            match read.get(&key) {
                Some(then) if then.version == version => (key, then.policy.clone()),
                Some(_) | None => {
                    let policy = Arc::new(Policy::new(object));
                    read.insert(key.clone(), Read { version, policy: policy.clone() });
                    (key, policy)
                }
            }
        };
        objects.iter().map(known).collect()
    }
}

fn as_asking<'a>(name: &'a str, namespace: Option<&'a Namespace>) -> Asking<'a> {
    Asking { name, labels: namespace.and_then(|found| found.metadata.labels.as_ref()) }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn policy(namespace: &str, name: &str, version: &str, spec: Value) -> HostDeployPolicy {
        serde_json::from_value(json!({
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "HostDeployPolicy",
            "metadata": {"name": name, "namespace": namespace, "resourceVersion": version}, "spec": spec,
        }))
        .unwrap()
    }

    fn namespace(name: &str, labels: Value) -> Namespace {
        serde_json::from_value(json!({"metadata": {"name": name, "labels": labels}})).unwrap()
    }

    fn taken(namespace: &str, under: &str) -> PhysicalHost {
        serde_json::from_value(json!({
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "PhysicalHost",
            "metadata": {"name": "h", "namespace": namespace, "annotations": {annotations::POLICY: under}},
            "spec": {"redfishConnection": {"address": "https://b", "credentialsSecretRef": "s"}},
        }))
        .unwrap()
    }

    fn tenancy(policies: Vec<HostDeployPolicy>) -> Tenancy {
        let namespaces = vec![namespace("a", json!({"tier": "gold"})), namespace("b", json!({}))];
        Tenancy::new(Cache::of(policies), Cache::of(namespaces))
    }

    #[test]
    fn a_namespace_is_open_to_those_whom_its_policies_name_by_what_they_are_labelled() {
        let gold = json!({"hostclaimNamespaces": {"hasLabels": [{"name": "tier", "value": "gold"}]}});
        let tenancy = tenancy(vec![
            policy("racks", "gold", "1", gold),
            policy("lab", "all", "2", json!({"hostclaimNamespaces": {}, "onRevoke": "Release"})),
        ]);
        let open = |asking| tenancy.open_to(asking).into_iter().collect::<Vec<_>>().join(" ");
        assert_eq!((open("a"), open("b"), open("unknown")), ("lab racks".into(), "lab".into(), "lab".into()));
        assert_eq!(&*tenancy.terms("racks", "a").unwrap().policy, "gold");
        assert_eq!(tenancy.terms("racks", "b"), None);
        let opened = |there, asking| tenancy.opened(there, asking).into_iter().collect::<Vec<_>>();
        assert_eq!(opened(Some("racks"), "a"), ["racks"]);
        assert!(opened(Some("racks"), "b").is_empty() && opened(None, "a").is_empty());
        assert!(opened(Some("lab"), "lab").is_empty(), "one's own is no other");
        assert_eq!(tenancy.terms("elsewhere", "a"), None);
        let none = BTreeSet::new();
        assert_eq!(tenancy.tenure(&taken("lab", "all"), "a", &tenancy.open_to("a")), Tenure::Allowed);
        assert_eq!(tenancy.tenure(&taken("lab", "all"), "a", &none), Tenure::Revoked);
        assert_eq!(
            tenancy.tenure(&taken("racks", "all"), "a", &none),
            Tenure::Tolerated,
            "a policy of another namespace"
        );
    }

    #[test]
    fn where_namespaces_are_not_watched_their_labels_give_no_host_and_take_none() {
        let gold = json!({"hostclaimNamespaces": {"hasLabels": [{"name": "tier", "value": "gold"}]}, "onRevoke": "Release"});
        let all = || vec![policy("racks", "gold", "1", gold.clone())];
        for (namespaces, open, tenure, misses) in [
            (Some(vec![namespace("racks", json!({"tier": "gold"}))]), true, Tenure::Allowed, false),
            (Some(vec![namespace("racks", json!({}))]), false, Tenure::Tolerated, false),
            (Some(Vec::new()), false, Tenure::Tolerated, false),
            (None, false, Tenure::Unknown, true),
        ] {
            let tenancy = match namespaces {
                Some(namespaces) => Tenancy::new(Cache::of(all()), Cache::of(namespaces)),
                None => Tenancy::without_labels(Cache::of(all())),
            };
            let opened = tenancy.open_to("racks");
            assert_eq!(!opened.is_empty(), open);
            assert_eq!(tenancy.tenure(&taken("racks", "gold"), "racks", &opened), tenure);
            let others = tenancy.tenure(&taken("racks", "gold"), "tenant", &BTreeSet::new());
            let known = tenancy.knows_labels();
            assert_eq!(
                others,
                if known { Tenure::Revoked } else { Tenure::Unknown },
                "nobody moves another's hosts"
            );
            assert_eq!(tenancy.misses_labels_of("racks"), misses);
        }
    }

    #[test]
    fn a_policy_that_changed_is_read_again_and_one_that_went_is_forgotten() {
        let for_a = json!({"hostclaimNamespaces": {"names": ["a"]}});
        let before =
            tenancy(vec![policy("racks", "p", "1", for_a.clone()), policy("racks", "q", "1", for_a)]);
        assert!(before.terms("racks", "a").is_some());
        let for_b = json!({"hostclaimNamespaces": {"names": ["b"]}});
        let after = Tenancy { policies: Cache::of(vec![policy("racks", "p", "2", for_b)]), ..before };
        assert_eq!(after.terms("racks", "a"), None);
        assert!(after.terms("racks", "b").is_some());
        assert_eq!(after.read.lock().unwrap().len(), 1);
    }
}

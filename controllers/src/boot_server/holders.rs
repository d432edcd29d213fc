//! Which capability belongs to which host. It is kept current by what changes about hosts; only hosts that are held have
//! any.

use std::{
    collections::HashMap,
    ops::Deref,
    sync::{
        Arc, PoisonError, RwLock, RwLockReadGuard,
        atomic::{AtomicBool, Ordering},
    },
};

use beskar7_api::PhysicalHost;
use beskar7_boot::capability::{Capability, Purpose};
use beskar7_core::delivery;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio_util::sync::CancellationToken;

use super::Links;
use crate::{
    caches::Caches,
    watch::{Cache, Key, key},
};

/// A host, and the claim that it is held under.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Held {
    pub(super) host: Key,
    pub(super) claim: String,
}

/// Whom a capability belongs to. All of a claim's capabilities share its names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Holder {
    pub(super) purpose: Purpose,
    held: Arc<Held>,
}

impl Deref for Holder {
    type Target = Held;

    fn deref(&self) -> &Held {
        &self.held
    }
}

/// All capabilities that are good for something; cheap to clone.
#[derive(Clone)]
pub(super) struct Holders {
    links: Links,
    hosts: Cache<PhysicalHost>,
    known: Arc<RwLock<Known>>,
    /// Whether all hosts were looked at once.
    complete: Arc<AtomicBool>,
}

#[derive(Default)]
struct Known {
    holders: HashMap<Capability, Arc<Holder>>,
    of_host: HashMap<Key, (Arc<Held>, [Capability; 4])>,
}

impl Holders {
    pub(super) fn new(links: Links, caches: &Caches) -> Self {
        Self { links, hosts: caches.hosts.clone(), known: Arc::default(), complete: Arc::default() }
    }

    /// Keeps them current until `stop`.
    pub(super) async fn follow(self, mut changes: UnboundedReceiver<Key>, stop: CancellationToken) {
        let following = async {
            self.hosts.filled().await;
            self.hosts.all().iter().for_each(|host| self.saw(&key(host.as_ref())));
            self.complete.store(true, Ordering::Release);
            while let Some(host) = changes.recv().await {
                self.saw(&host);
            }
        };
        stop.run_until_cancelled(following).await;
    }

    /// Whether who is not known is nobody. Before that a right capability would be refused for good.
    pub(super) fn is_complete(&self) -> bool {
        self.complete.load(Ordering::Acquire)
    }

    /// Whom a capability belongs to, and his host as it was last seen.
    pub(super) fn get(&self, capability: &Capability) -> Option<(Arc<Holder>, Arc<PhysicalHost>)> {
        let holder = self.read().holders.get(capability).cloned()?;
        let host = self.hosts.get(&holder.host)?;
        delivery::image_is_open(&host, &holder.claim).then_some((holder, host))
    }

    fn read(&self) -> RwLockReadGuard<'_, Known> {
        self.known.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn saw(&self, key: &Key) {
        let host = self.hosts.get(key);
        let claim = host.as_deref().and_then(delivery::runs_for);
        if self.read().of_host.get(key).map(|(known, _)| known.claim.as_str()) == claim {
            return;
        }
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, old)) = known.of_host.remove(key) {
            for capability in old {
                // A host that was renamed took its claim, and its capabilities, with it.
                if known.holders.get(&capability).is_some_and(|holder| holder.host == *key) {
                    known.holders.remove(&capability);
                }
            }
        }
        let Some(claim) = claim else { return };
        let all = Purpose::OF_HOSTS.map(|purpose| (purpose, self.links.capability(purpose, claim)));
        let held = Arc::new(Held { host: key.clone(), claim: claim.to_owned() });
        for (purpose, capability) in all {
            known.holders.insert(capability, Arc::new(Holder { purpose, held: held.clone() }));
        }
        known.of_host.insert(key.clone(), (held, all.map(|(_, capability)| capability)));
    }
}

#[cfg(test)]
mod tests {
    use beskar7_boot::capability::Key as BootKey;
    use serde_json::{Value, json};

    use super::*;

    fn host(name: &str, spec: Value) -> PhysicalHost {
        let mut whole =
            json!({"redfishConnection": {"address": "https://10.0.0.1", "credentialsSecretRef": "b"}});
        whole.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
        serde_json::from_value(json!({
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "PhysicalHost",
            "metadata": {"name": name, "namespace": "metal"}, "spec": whole,
        }))
        .unwrap()
    }

    fn held(claim: &str) -> Value {
        json!({"claimID": claim, "consumerRef": {"kind": "Beskar7Machine", "namespace": "metal", "name": "m"}})
    }

    #[test]
    fn a_capability_is_good_for_as_long_as_its_claim_is_held() {
        let links = Links::new("http://b", BootKey::new(&[1; 32]).unwrap());
        let of = |claim: &str| links.capability(Purpose::Media, claim);
        let key = ("metal".to_owned(), "h".to_owned());
        let known = Arc::<RwLock<Known>>::default();
        let seen = |spec: Value| {
            let hosts = Cache::of(vec![host("h", spec), host("other", held("theirs"))]);
            let complete = Arc::default();
            let holders = Holders { links: links.clone(), hosts, known: known.clone(), complete };
            holders.saw(&key);
            holders
        };
        let holders = seen(held("c1"));
        let (holder, _) = holders.get(&of("c1")).unwrap();
        assert_eq!((holder.purpose, holder.claim.as_str()), (Purpose::Media, "c1"));
        assert_eq!(holders.read().holders.len(), 4);
        // Taken by another one: what was is over.
        let holders = seen(held("c2"));
        assert!(holders.get(&of("c1")).is_none() && holders.get(&of("c2")).is_some());
        let holders = seen(json!({}));
        assert!(holders.get(&of("c2")).is_none() && holders.read().holders.is_empty());
        assert!(holders.read().of_host.is_empty());
    }
}

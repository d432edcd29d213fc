//! Whether the one who holds a host exists.

use beskar7_api::{Beskar7Machine, HostClaim, PhysicalHost, annotations};
use beskar7_core::claim::Intent;
use kube::{Api, Client, ResourceExt as _};

use crate::{
    causes::causes,
    claim::Claimant,
    watch::{Cache, Key, Watched},
};

/// Looks for those who hold hosts.
pub(super) struct Consumers {
    client: Client,
    machines: Cache<Beskar7Machine>,
    claims: Cache<HostClaim>,
}

impl Consumers {
    pub(super) fn new(client: Client, machines: Cache<Beskar7Machine>, claims: Cache<HostClaim>) -> Self {
        Self { client, machines, claims }
    }

    /// Whether the one who holds a host exists; nothing where it is of a kind that nobody looks for, or can't be looked
    /// for.
    pub(super) async fn exists(&self, host: &PhysicalHost) -> Option<bool> {
        let reference = host.spec.consumer_ref.as_ref()?;
        let claim = host.spec.claim_id.as_deref()?;
        let key = (reference.namespace.clone()?, reference.name.clone()?);
        let uid = reference.uid.as_deref();
        match reference.kind.as_deref()? {
            Beskar7Machine::KIND => self.is_among(&self.machines, &key, uid, claim).await,
            HostClaim::KIND => self.is_among(&self.claims, &key, uid, claim).await,
            _ => None,
        }
    }

    /// What the cache does not show is asked for: it may be filtered, or of another namespace.
    async fn is_among<K: Claimant + Watched>(
        &self,
        cache: &Cache<K>,
        key: &Key,
        uid: Option<&str>,
        claim: &str,
    ) -> Option<bool> {
        if cache.get(key).is_some_and(|object| holds(object.as_ref(), uid, claim)) {
            return Some(true);
        }
        let (namespace, name) = key;
        match Api::<K>::namespaced(self.client.clone(), namespace).get_opt(name).await {
            Ok(found) => Some(found.is_some_and(|object| holds(&object, uid, claim))),
            Err(error) => {
                tracing::warn!(
                    error = causes(&error),
                    namespace,
                    name,
                    "a host's consumer can't be looked for"
                );
                None
            }
        }
    }
}

/// Whether this very object holds the claim: another one of the same name does not.
fn holds<K: Claimant>(object: &K, uid: Option<&str>, claim: &str) -> bool {
    let intent = object.annotations().get(annotations::CLAIM).and_then(|text| Intent::parse(text));
    let intends = intent.is_some_and(|intent| intent.claim_id.as_str() == claim);
    intends || (uid.is_some() && object.uid().as_deref() == uid)
}

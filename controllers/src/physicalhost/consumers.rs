//! Whether the one who holds a host exists.

use beskar7_api::{Beskar7Machine, PhysicalHost, annotations};
use beskar7_core::claim::Intent;
use kube::{Api, Client, ResourceExt as _};

use crate::{causes::causes, watch::Cache};

/// Looks for those who hold hosts.
pub(super) struct Consumers {
    client: Client,
    machines: Cache<Beskar7Machine>,
}

impl Consumers {
    pub(super) fn new(client: Client, machines: Cache<Beskar7Machine>) -> Self {
        Self { client, machines }
    }

    /// Whether the one who holds a host exists; nothing where it is of a kind that nobody looks for, or can't be looked
    /// for. What the cache does not show is asked for: it may be filtered, or of another namespace.
    pub(super) async fn exists(&self, host: &PhysicalHost) -> Option<bool> {
        let reference = host.spec.consumer_ref.as_ref()?;
        let claim = host.spec.claim_id.as_deref()?;
        let (Some("Beskar7Machine"), Some(namespace), Some(name)) =
            (reference.kind.as_deref(), reference.namespace.as_ref(), reference.name.as_ref())
        else {
            return None;
        };
        let uid = reference.uid.as_deref();
        let cached = self.machines.get(&(namespace.clone(), name.clone()));
        if cached.is_some_and(|machine| holds(&machine, uid, claim)) {
            return Some(true);
        }
        let machines: Api<Beskar7Machine> = Api::namespaced(self.client.clone(), namespace);
        match machines.get_opt(name).await {
            Ok(found) => Some(found.is_some_and(|machine| holds(&machine, uid, claim))),
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
fn holds(machine: &Beskar7Machine, uid: Option<&str>, claim: &str) -> bool {
    let intent = machine.annotations().get(annotations::CLAIM).and_then(|text| Intent::parse(text));
    let intends = intent.is_some_and(|intent| intent.claim_id.as_str() == claim);
    intends || (uid.is_some() && machine.uid().as_deref() == uid)
}

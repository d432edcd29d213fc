//! A kind that holds hosts, as the claim engine looks at it.

use beskar7_api::{GROUP, PhysicalHost, VERSION, annotations};
use beskar7_core::claim::{
    Consumer, Identity, Intent,
    moving::{self, Block},
};
use kube::ResourceExt as _;

use super::ConsumerId;
use crate::{
    watch::{Key, key},
    write::Writable,
};

/// API group and version of our kinds.
const API_VERSION: &str = "infrastructure.cluster.x-k8s.io/v1beta1";

/// A kind that holds hosts.
pub(crate) trait Claimant: Writable + Send + Sync + 'static {
    /// Its name.
    const KIND: &'static str;
    /// Our finalizer on it.
    const FINALIZER: &'static str;

    /// Whether its machine has been running: then it never takes another host.
    fn is_settled(&self) -> bool;
}

/// An object as the claim engine looks at it.
pub(crate) fn consumer<K: Claimant>(object: &K, on_hold: bool) -> Consumer<'_> {
    debug_assert_eq!(API_VERSION, format!("{GROUP}/{VERSION}"));
    let metadata = object.meta();
    let annotation = |name: &str| metadata.annotations.as_ref().and_then(|all| all.get(name));
    Consumer {
        identity: Identity {
            api_version: API_VERSION,
            kind: K::KIND,
            namespace: metadata.namespace.as_deref().unwrap_or_default(),
            name: metadata.name.as_deref().unwrap_or_default(),
            uid: metadata.uid.as_deref().unwrap_or_default(),
        },
        intent: annotation(annotations::CLAIM).map(String::as_str),
        finalizer: object.finalizers().iter().any(|name| name == K::FINALIZER),
        deleting: metadata.deletion_timestamp.is_some(),
        on_hold,
        settled: object.is_settled(),
        forced: annotation(annotations::FORCE_RELEASE).is_some(),
    }
}

/// An object, as the register knows it.
pub(crate) fn id<K: Claimant>(object: &K) -> ConsumerId {
    ConsumerId { kind: K::KIND, key: key(object) }
}

/// What an object intends, where that can be read.
pub(crate) fn intent<K: Claimant>(object: &K) -> Option<Intent> {
    Intent::parse(object.annotations().get(annotations::CLAIM)?)
}

/// What becomes of the annotation that keeps an object from being moved, with this intent or none.
pub(super) fn block<K: Claimant>(object: &K, intent: Option<&Intent>) -> Block {
    let own = object.meta().namespace.as_deref().unwrap_or_default();
    moving::block(own, intent, object.annotations().get(annotations::BLOCK_MOVE).map(String::as_str))
}

/// The host that an object's intent names.
pub(crate) fn intended_host<K: Claimant>(object: &K) -> Option<Key> {
    intent(object).map(|intent| (intent.namespace, intent.host))
}

/// The object of this kind that a host names as its consumer, if it names one.
pub(crate) fn held_by<K: Claimant>(host: &PhysicalHost) -> Option<Key> {
    let reference = host.spec.consumer_ref.as_ref().filter(|named| named.kind.as_deref() == Some(K::KIND))?;
    Some((reference.namespace.clone()?, reference.name.clone()?))
}

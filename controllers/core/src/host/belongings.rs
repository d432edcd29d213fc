//! What is made for a host because of a claim: it belongs to the host, and bears the claim's ID. What does not is somebody
//! else's, whatever its name, and is never touched.

use beskar7_api::{GROUP, PhysicalHost, VERSION, labels};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

const KIND: &str = "PhysicalHost";

/// By which something belongs to a host.
#[must_use]
pub fn owner(host: &PhysicalHost) -> OwnerReference {
    OwnerReference {
        api_version: format!("{GROUP}/{VERSION}"),
        kind: KIND.to_owned(),
        name: host.metadata.name.clone().unwrap_or_default(),
        uid: host.metadata.uid.clone().unwrap_or_default(),
        ..OwnerReference::default()
    }
}

/// Whether something was made for this very host, for whichever claim.
#[must_use]
pub fn is_hosts(object: &ObjectMeta, host: &PhysicalHost) -> bool {
    let owners = object.owner_references.as_deref().unwrap_or_default();
    let is_owned =
        owners.iter().any(|owner| owner.kind == KIND && Some(&owner.uid) == host.metadata.uid.as_ref());
    is_owned && claim_of(object).is_some()
}

/// Whether something was made for this host and this claim.
#[must_use]
pub fn belongs_to(object: &ObjectMeta, host: &PhysicalHost, claim: &str) -> bool {
    is_hosts(object, host) && claim_of(object) == Some(claim)
}

fn claim_of(object: &ObjectMeta) -> Option<&str> {
    object.labels.as_ref()?.get(labels::CLAIM_ID).map(String::as_str)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::host::samples::{held, host};

    #[test]
    fn what_was_made_for_another_claim_or_host_is_not_this_ones() {
        let mut own = host(held(), json!(null));
        own.metadata.uid = Some("u".to_owned());
        let meta = |uid: &str, claim: &str| {
            serde_json::from_value::<ObjectMeta>(json!({
                "labels": {labels::CLAIM_ID: claim},
                "ownerReferences": [{"apiVersion": "v1", "kind": "PhysicalHost", "name": "h", "uid": uid}],
            }))
            .unwrap()
        };
        assert!(belongs_to(&meta("u", "c"), &own, "c"));
        assert!(!belongs_to(&meta("u", "old"), &own, "c"));
        assert!(!belongs_to(&meta("older", "c"), &own, "c"));
        assert!(!belongs_to(&ObjectMeta::default(), &own, "c"));
        assert!(is_hosts(&meta("u", "old"), &own) && !is_hosts(&meta("older", "c"), &own));
    }
}

//! Writes to objects. Each names the version that it was decided on, so that a stale view loses; a lost race is a normal
//! outcome, not an error.

use kube::{
    Api, Client, Resource, ResourceExt as _,
    api::{DeleteParams, Patch, PatchParams, Preconditions},
    core::NamespaceResourceScope,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};

/// What became of a write.
#[derive(Debug)]
pub enum Written<K> {
    /// The object is this now.
    To(Box<K>),
    /// The object changed or went meanwhile: what was decided is of the past.
    Stale,
}

/// A kind that can be written.
pub trait Writable:
    Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + std::fmt::Debug + DeserializeOwned
{
}
impl<K> Writable for K where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + std::fmt::Debug
        + DeserializeOwned
{
}

/// Merges `change` into the object, if it is still the one that was looked at.
///
/// # Errors
/// The API server did not do it, for another reason than that.
pub async fn merge<K: Writable>(
    client: &Client,
    object: &K,
    change: Value,
) -> Result<Written<K>, kube::Error> {
    let change = at_version(object, change);
    outcome(
        api(client, object).patch(&object.name_any(), &PatchParams::default(), &Patch::Merge(&change)).await,
    )
}

/// Merges `change` into the object's status, if it is still the one that was looked at.
///
/// # Errors
/// The API server did not do it, for another reason than that.
pub async fn merge_status<K: Writable>(
    client: &Client,
    object: &K,
    change: Map<String, Value>,
) -> Result<Written<K>, kube::Error> {
    let change = at_version(object, json!({ "status": change }));
    let params = PatchParams::default();
    outcome(api(client, object).patch_status(&object.name_any(), &params, &Patch::Merge(&change)).await)
}

/// Deletes this very object, and with a version only that one. One that is gone already is deleted.
///
/// # Errors
/// The API server did not do it.
pub async fn delete<K>(objects: &Api<K>, object: &K, version: Option<String>) -> Result<(), kube::Error>
where
    K: Resource + Clone + std::fmt::Debug + DeserializeOwned,
{
    let this_one = Preconditions { uid: object.uid(), resource_version: version };
    let only_this = DeleteParams { preconditions: Some(this_one), ..DeleteParams::default() };
    match objects.delete(&object.name_any(), &only_this).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(refusal)) if refusal.is_not_found() => Ok(()),
        Err(error) => Err(error),
    }
}

fn api<K: Writable>(client: &Client, object: &K) -> Api<K> {
    Api::namespaced(client.clone(), &object.namespace().unwrap_or_default())
}

fn at_version(object: &impl Resource, mut change: Value) -> Value {
    if let Some(change) = change.as_object_mut() {
        let metadata = change.entry("metadata").or_insert_with(|| json!({}));
        if let Some(metadata) = metadata.as_object_mut() {
            metadata.insert("resourceVersion".to_owned(), json!(object.meta().resource_version));
        }
    }
    change
}

fn outcome<K>(answer: Result<K, kube::Error>) -> Result<Written<K>, kube::Error> {
    match answer {
        Ok(object) => Ok(Written::To(Box::new(object))),
        Err(kube::Error::Api(refusal)) if refusal.is_conflict() || refusal.is_not_found() => {
            Ok(Written::Stale)
        }
        Err(error) => Err(error),
    }
}

/// The fields of a status that differ, as a merge patch; nothing when none does.
///
/// # Errors
/// It can't be written as JSON.
pub fn changes<S: Serialize>(
    before: Option<&S>,
    after: &S,
) -> Result<Option<Map<String, Value>>, serde_json::Error> {
    let before = match before {
        Some(before) => object(serde_json::to_value(before)?),
        None => Map::new(),
    };
    let after = object(serde_json::to_value(after)?);
    let mut changed = Map::new();
    for (key, value) in &after {
        if before.get(key) != Some(value) {
            changed.insert(key.clone(), value.clone());
        }
    }
    for key in before.keys().filter(|key| !after.contains_key(*key)) {
        changed.insert(key.clone(), Value::Null);
    }
    Ok((!changed.is_empty()).then_some(changed))
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use beskar7_api::PhysicalHostStatus;

    use super::*;

    fn status(json: Value) -> PhysicalHostStatus {
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn a_patch_holds_what_changed_and_no_more() {
        let full =
            || json!({"ready": false, "state": "Enrolling", "errorMessage": "x", "observedGeneration": 1});
        for (before, after, expected) in [
            (Some(full()), full(), None),
            (None, json!({"state": "Enrolling"}), Some(json!({"ready": false, "state": "Enrolling"}))),
            (
                Some(full()),
                json!({"state": "Enrolling", "observedGeneration": 2}),
                Some(json!({"errorMessage": null, "observedGeneration": 2})),
            ),
            (Some(json!({})), json!({"ready": true}), Some(json!({"ready": true}))),
        ] {
            let before = before.map(status);
            let changed = changes(before.as_ref(), &status(after.clone())).unwrap();
            assert_eq!(changed.map(Value::Object), expected, "{after}");
        }
    }

    #[test]
    fn every_write_names_its_version() {
        let mut host = beskar7_api::PhysicalHost::new("h", beskar7_api::PhysicalHostSpec::default());
        host.metadata.resource_version = Some("7".to_owned());
        for change in [json!({}), json!({"metadata": {"labels": {}}}), json!({"spec": {}})] {
            assert_eq!(at_version(&host, change)["metadata"]["resourceVersion"], "7");
        }
    }
}

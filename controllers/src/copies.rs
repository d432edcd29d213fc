//! A tenant's configuration, copied from its namespace to where its host is: there it is given out, and there it ends with
//! the claim.
//!
//! A copy bears the claim's ID and belongs to the PhysicalHost: no owner reference crosses namespaces. A Secret of the
//! same name that does not is somebody else's, and is never touched. Secrets are read by name and not watched.

use std::collections::BTreeMap;

use beskar7_api::{HostClaim, PhysicalHost, conditions::claim as reasons, labels};
use beskar7_core::{
    host::belongings::{belongs_to, is_hosts, owner},
    hostclaim::{Part, Source, Synced, sources},
};
use k8s_openapi::{ByteString, api::core::v1::Secret};
use kube::{
    Api, Client, Resource as _, ResourceExt as _,
    api::{Patch, PatchParams, PostParams},
    core::Status,
};
use serde_json::{Value, json};

use crate::write;

/// The ClusterRole that lets us write Secrets, where the platform team has bound it.
const ROLE: &str = "beskar7-pool-role";

/// How large metadata may be.
const MOST_META_DATA: usize = 64 * 1024;

/// What a machine is told of itself beside what we tell it.
pub(crate) type MetaData = BTreeMap<String, Value>;

/// Reads and writes copies.
#[derive(Clone)]
pub(crate) struct Copies {
    client: Client,
}

impl Copies {
    pub(crate) fn new(client: Client) -> Self {
        Self { client }
    }

    fn secrets(&self, namespace: Option<&str>) -> Api<Secret> {
        Api::namespaced(self.client.clone(), namespace.unwrap_or_default())
    }

    /// Makes the copies for a claim on a host what its Secrets are now.
    pub(crate) async fn synchronize(
        &self,
        claim: &HostClaim,
        host: &PhysicalHost,
        claim_id: &str,
    ) -> Result<Synced, kube::Error> {
        let sources = match sources(claim) {
            Ok(sources) => sources,
            Err(refused) => return Ok(refused),
        };
        let there = self.secrets(claim.metadata.namespace.as_deref());
        for source in sources {
            let data = match read_source(&there, &source).await? {
                Ok(data) => data,
                Err(unusable) => return Ok(unusable),
            };
            let copied = self.copy(source.part, &data, host, claim_id).await?;
            if copied != Synced::Yes {
                return Ok(copied);
            }
        }
        Ok(Synced::Yes)
    }

    async fn copy(
        &self,
        part: Part,
        data: &ByteString,
        host: &PhysicalHost,
        claim_id: &str,
    ) -> Result<Synced, kube::Error> {
        let (secrets, name) = (self.secrets(host.metadata.namespace.as_deref()), part.copy(&host.name_any()));
        let wanted = wanted(part, data, host, claim_id)?;
        let written = match secrets.get_opt(&name).await? {
            None => secrets.create(&PostParams::default(), &wanted).await,
            Some(found) if !is_hosts(found.meta(), host) => return Ok(foreign(host, &name)),
            Some(found) if bears(&found, claim_id) && holds(&found, part, data) => return Ok(Synced::Yes),
            Some(found) => {
                let change = json!({
                    "metadata": {"resourceVersion": found.metadata.resource_version, "labels": wanted.metadata.labels},
                    "data": wanted.data,
                });
                secrets.patch(&name, &PatchParams::default(), &Patch::Merge(&change)).await
            }
        };
        unless_refused(host, written)
    }

    /// Removes what a claim does not name any more.
    pub(crate) async fn remove_surplus(
        &self,
        host: &PhysicalHost,
        parts: &[Part],
    ) -> Result<Synced, kube::Error> {
        unless_refused(host, self.remove(host, parts).await)
    }

    /// Removes copies on a host. What is not ours stays.
    pub(crate) async fn remove(&self, host: &PhysicalHost, parts: &[Part]) -> Result<(), kube::Error> {
        let secrets = self.secrets(host.metadata.namespace.as_deref());
        for part in parts {
            let name = part.copy(&host.name_any());
            let Some(found) = secrets.get_opt(&name).await?.filter(|found| is_hosts(found.meta(), host))
            else {
                continue;
            };
            let version = found.resource_version();
            write::delete(&secrets, &found, version).await?;
        }
        Ok(())
    }

    /// What was copied for a claim; nothing, where that is not there.
    pub(crate) async fn read(
        &self,
        host: &PhysicalHost,
        claim_id: &str,
        part: Part,
    ) -> Result<Option<Vec<u8>>, kube::Error> {
        let secrets = self.secrets(host.metadata.namespace.as_deref());
        let found = secrets.get_opt(&part.copy(&host.name_any())).await?;
        let ours = found.filter(|found| belongs_to(found.meta(), host, claim_id));
        Ok(ours.and_then(|copy| copy.data?.remove(part.key())).map(|data| data.0))
    }
}

async fn read_source(
    secrets: &Api<Secret>,
    source: &Source<'_>,
) -> Result<Result<ByteString, Synced>, kube::Error> {
    let Source { part, name, field } = source;
    let Some(secret) = secrets.get_opt(name).await? else {
        let message = format!("There is no Secret {name}, which {field} names: create it");
        return Ok(Err(Synced::no(reasons::SECRET_NOT_FOUND, message)));
    };
    // In the hosts' own namespace, another tenant's configuration would be within reach.
    if secret.labels().contains_key(labels::CLAIM_ID) {
        let message =
            format!("The Secret {name}, which {field} names, was copied there for a claim: name its source");
        return Ok(Err(Synced::no(reasons::SECRET_NOT_ALLOWED, message)));
    }
    let mut data = secret.data.unwrap_or_default();
    let found = part.keys().iter().find_map(|key| data.remove(*key)).filter(|data| !data.0.is_empty());
    Ok(match found {
        None => {
            let keys = part.keys().join(" or ");
            let message = format!("The Secret {name}, which {field} names, has nothing under {keys}");
            Err(Synced::no(reasons::SECRET_NOT_USABLE, message))
        }
        Some(data) if *part == Part::MetaData && meta_data(&data.0).is_none() => {
            let message = format!(
                "The Secret {name}, which {field} names, does not hold a YAML or JSON mapping of names to values, of up to 64 kB and without aliases"
            );
            Err(Synced::no(reasons::SECRET_NOT_USABLE, message))
        }
        Some(data) => Ok(data),
    })
}

/// A tenant's metadata; nothing, where it can't be read. It is a tenant's: what would grow beyond its size is refused.
pub(crate) fn meta_data(text: &[u8]) -> Option<MetaData> {
    if text.len() > MOST_META_DATA {
        return None;
    }
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_aliases: 0, max_total_scalar_bytes: MOST_META_DATA, max_depth: 16 },
    };
    serde_saphyr::from_slice_with_options(text, options).ok()
}

fn wanted(part: Part, data: &ByteString, host: &PhysicalHost, claim_id: &str) -> Result<Secret, kube::Error> {
    let secret = json!({
        "metadata": {
            "name": part.copy(&host.name_any()), "namespace": host.metadata.namespace,
            "labels": {labels::CLAIM_ID: claim_id}, "ownerReferences": [owner(host)],
        },
        "type": "Opaque", "data": {part.key(): data},
    });
    serde_json::from_value(secret).map_err(kube::Error::SerdeError)
}

/// What a write came to. A refusal is the tenant's to know; that somebody was faster is not: it is looked at again.
fn unless_refused<T>(host: &PhysicalHost, written: Result<T, kube::Error>) -> Result<Synced, kube::Error> {
    match written {
        Ok(_) => Ok(Synced::Yes),
        Err(kube::Error::Api(refusal)) if !refusal.is_conflict() && !refusal.is_already_exists() => {
            Ok(refused(host, &refusal))
        }
        Err(error) => Err(error),
    }
}

fn holds(secret: &Secret, part: Part, data: &ByteString) -> bool {
    secret.data.as_ref().and_then(|found| found.get(part.key())) == Some(data)
}

fn bears(secret: &Secret, claim_id: &str) -> bool {
    secret.labels().get(labels::CLAIM_ID).is_some_and(|found| found == claim_id)
}

fn foreign(host: &PhysicalHost, name: &str) -> Synced {
    let namespace = host.namespace().unwrap_or_default();
    let message = format!(
        "In namespace {namespace} there is a Secret {name} that was not made for a claim, and is left alone: ask the \
         platform team to rename it"
    );
    Synced::no(reasons::SECRET_NOT_COPIED, message)
}

/// In words that hold nothing of what was to be written.
fn refused(host: &PhysicalHost, refusal: &Status) -> Synced {
    let namespace = host.namespace().unwrap_or_default();
    let message = if refusal.is_forbidden() {
        format!(
            "The manager may not write Secrets in namespace {namespace}: the platform team binds the ClusterRole {ROLE} to \
             it there"
        )
    } else {
        format!(
            "Secrets in namespace {namespace} can't be written ({} {}): ask the platform team",
            refusal.code, refusal.reason
        )
    };
    Synced::no(reasons::SECRET_NOT_COPIED, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host() -> PhysicalHost {
        serde_json::from_value(json!({
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "PhysicalHost",
            "metadata": {"name": "bm-01", "namespace": "infrahost", "uid": "u"},
            "spec": {"redfishConnection": {"address": "https://b", "credentialsSecretRef": "s"}},
        }))
        .unwrap()
    }

    #[test]
    fn a_copy_is_known_by_its_owner_and_its_label() {
        let host = host();
        let copy = wanted(Part::UserData, &ByteString(b"x".to_vec()), &host, "id").unwrap();
        assert_eq!(
            (copy.name_any().as_str(), copy.namespace().as_deref()),
            ("bm-01-userdata", Some("infrahost"))
        );
        assert!(is_hosts(copy.meta(), &host) && bears(&copy, "id") && !bears(&copy, "another"));
        let mut unlabelled = copy.clone();
        unlabelled.metadata.labels = None;
        let mut unowned = copy.clone();
        unowned.metadata.owner_references = None;
        let mut of_another = copy;
        of_another.metadata.owner_references.as_mut().unwrap()[0].uid = "older".to_owned();
        for (foreign, which) in [(unlabelled, "label"), (unowned, "owner"), (of_another, "uid")] {
            assert!(!is_hosts(foreign.meta(), &host), "{which}");
        }
    }

    #[test]
    fn metadata_is_a_mapping() {
        let read = |text: &str| meta_data(text.as_bytes());
        assert_eq!(read("a: b\nc: {d: 1}").unwrap()["c"]["d"], 1);
        assert_eq!(read("{\"a\": true}").unwrap()["a"], true);
        let large = format!("a: {}", "b".repeat(MOST_META_DATA));
        for text in ["a", "- a", "a: [", "1", "a: &x b\nc: *x", &large] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}

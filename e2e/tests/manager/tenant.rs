//! A tenant: a namespace with claims, without hosts.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use beskar7_api::{HostClaim, HostDeployPolicy, PhysicalHost, physical_host::PowerState};
use beskar7_e2e::control_plane::ControlPlane;
use beskar7_e2e::manager::{NAMESPACE, SERVICE_ACCOUNT};
use beskar7_e2e::objects;
use beskar7_e2e::wait::{self, Seen};
use k8s_openapi::api::core::v1::Secret;
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::discovery::{Discovery, Scope, verbs};
use kube::{Api, Client};
use serde_json::{Value, json};

use super::setup::{LIMIT, PASSWORD};

/// A tenant's namespace.
pub struct Tenant {
    client: Client,
    pub namespace: String,
}

impl Tenant {
    pub async fn make(client: &Client, namespace: &str) -> Result<Self> {
        objects::make_namespace(client, namespace).await?;
        Ok(Self { client: client.clone(), namespace: namespace.to_owned() })
    }

    pub fn claims(&self) -> Api<HostClaim> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    pub fn secrets(&self) -> Api<Secret> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// A Secret, made or changed.
    pub async fn keep(&self, name: &str, key: &str, text: &str) -> Result<()> {
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": {key: text}});
        let apply = PatchParams::apply("tenant").force();
        self.secrets().patch(name, &apply, &Patch::Apply(&secret)).await?;
        Ok(())
    }

    pub async fn claim(&self, name: &str, spec: &Value) -> Result<()> {
        let claim = json!({
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "HostClaim",
            "metadata": {"name": name}, "spec": spec,
        });
        self.claims().create(&PostParams::default(), &serde_json::from_value(claim)?).await?;
        Ok(())
    }

    pub async fn patch(&self, name: &str, patch: &Value) -> Result<()> {
        self.claims().patch(name, &PatchParams::default(), &Patch::Merge(patch)).await?;
        Ok(())
    }

    pub async fn until(&self, name: &str, what: &str, so: impl Fn(&HostClaim) -> bool) -> Result<HostClaim> {
        let claims = &self.claims();
        let so = &so;
        let found = wait::until(format!("{name} to be {what}"), LIMIT * 2, || async move {
            let claim = claims.get(name).await?;
            Ok(if so(&claim) {
                Seen::Done(claim)
            } else {
                Seen::NotYet(format!("{:?} {:?}", claim.metadata.annotations, claim.status))
            })
        });
        Ok(found.await?)
    }

    /// Waits until a condition has this status and reason, and returns the message.
    pub async fn until_told(&self, name: &str, type_: &str, status: &str, reason: &str) -> Result<String> {
        let says =
            |claim: &HostClaim| told(claim, type_).is_some_and(|told| told.0 == status && told.1 == reason);
        let claim = self.until(name, &format!("{type_}={status} ({reason})"), says).await?;
        Ok(told(&claim, type_).map(|told| told.2).unwrap_or_default())
    }

    /// Waits until a claim that waits for a host says this, word for word. What is said first may be of a moment at which not
    /// every policy and host was known.
    pub async fn until_waiting(&self, name: &str, message: &str) -> Result<()> {
        let says = |claim: &HostClaim| {
            told(claim, "Association").is_some_and(|told| told.1 == "NoMatchingHost" && told.2 == message)
        };
        self.until(name, &format!("waiting: {message}"), says).await.map(drop)
    }

    pub async fn delete(&self, name: &str) -> Result<()> {
        self.begin_to_delete(name).await?;
        self.until_gone(name).await
    }

    pub async fn begin_to_delete(&self, name: &str) -> Result<()> {
        self.claims().delete(name, &DeleteParams::default()).await?;
        Ok(())
    }

    pub async fn until_gone(&self, name: &str) -> Result<()> {
        let claims = &self.claims();
        wait::until_true(format!("{name} to be gone"), LIMIT * 2, || async move {
            Ok(match claims.get_opt(name).await? {
                None => Ok(()),
                Some(claim) => Err(format!("{:?}", claim.status)),
            })
        })
        .await?;
        Ok(())
    }
}

/// The platform team lets the manager write Secrets beside hosts.
pub async fn bind_pool_role(plane: &ControlPlane, namespace: &str) -> Result<()> {
    let account = format!("--serviceaccount={NAMESPACE}:{SERVICE_ACCOUNT}");
    let role = "--clusterrole=beskar7-pool-role";
    plane.kubectl(&["-n", namespace, "create", "rolebinding", "pool", role, &account]).await?.success()?;
    Ok(())
}

/// Status, reason and message of a condition.
pub fn told(claim: &HostClaim, type_: &str) -> Option<(String, String, String)> {
    let found = claim.status.as_ref()?.conditions.iter().find(|condition| condition.type_ == type_)?;
    Some((found.status.clone(), found.reason.clone(), found.message.clone()))
}

/// A policy named `policy` in a namespace of hosts.
pub async fn open_to(client: &Client, namespace: &str, spec: &Value) -> Result<()> {
    let policies: Api<HostDeployPolicy> = Api::namespaced(client.clone(), namespace);
    let policy = json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "HostDeployPolicy",
        "metadata": {"name": "policy"}, "spec": spec,
    });
    let apply = PatchParams::apply("platform").force();
    policies.patch("policy", &apply, &Patch::Apply(&policy)).await?;
    Ok(())
}

pub fn powered(host: &PhysicalHost) -> Option<PowerState> {
    host.status.as_ref()?.observed_power_state
}

/// What there is of a kind. The API server first has to read what nobody has asked it for before, and says so.
async fn listed(all: &Api<DynamicObject>, kind: &str) -> Result<Vec<DynamicObject>> {
    let found = wait::until(format!("a list of {kind}"), LIMIT, || async {
        match all.list(&ListParams::default()).await {
            Ok(found) => Ok(Seen::Done(found.items)),
            Err(kube::Error::Api(told)) if told.code == 429 => Ok(Seen::NotYet(told.message.clone())),
            Err(error) => Err(error.into()),
        }
    });
    Ok(found.await?)
}

/// Every object in a tenant's namespace, of whatever kind, as text.
async fn everything(tenant: &Tenant) -> Result<String> {
    let (mut text, mut kinds) = (String::new(), BTreeSet::new());
    for group in Discovery::new(tenant.client.clone()).run_aggregated().await?.groups() {
        for (kind, can) in group.recommended_resources() {
            if can.scope != Scope::Namespaced || !can.supports_operation(verbs::LIST) {
                continue;
            }
            let all: Api<DynamicObject> =
                Api::namespaced_with(tenant.client.clone(), &tenant.namespace, &kind);
            let mut found = listed(&all, &kind.kind).await?;
            // The API server's own CA, which stands in every namespace.
            found.retain(|object| object.metadata.name.as_deref() != Some("kube-root-ca.crt"));
            text.push_str(&serde_json::to_string(&found)?);
            kinds.insert(kind.kind);
        }
    }
    for expected in ["HostClaim", "Event", "Secret", "ConfigMap", "PhysicalHost", "HostBootConfiguration"] {
        ensure!(kinds.contains(expected), "{expected} was not looked at, but {kinds:?}");
    }
    Ok(text)
}

/// Nothing that a tenant can read in its namespace may hold any of these, nor any of `more`.
pub async fn nothing_of_others(tenant: &Tenant, more: &[&str]) -> Result<()> {
    let text = everything(tenant).await?;
    for secret in ["127.7", "127.8", "root", PASSWORD, "\"bmc\"", "redfish"].iter().chain(more) {
        ensure!(!text.contains(secret), "{secret} is in {text}");
    }
    Ok(())
}

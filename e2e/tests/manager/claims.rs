//! Tenants' claims: a machine from a pool in another namespace, by name or by label, on and off, and given back.

use std::net::Ipv4Addr;

use anyhow::{Result, ensure};
use beskar7_api::{HostClaim, HostDeployPolicy, HostState, PhysicalHost, physical_host::PowerState};
use beskar7_e2e::objects;
use beskar7_e2e::wait::{self, Seen};
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use super::place::Place;
use super::setup::{LIMIT, merge};

/// A tenant's namespace.
pub struct Tenant<'a> {
    place: &'a Place,
    namespace: &'static str,
}

impl<'a> Tenant<'a> {
    pub async fn make(place: &'a Place, namespace: &'static str) -> Result<Self> {
        objects::make_namespace(place.client(), namespace).await?;
        Ok(Self { place, namespace })
    }

    fn claims(&self) -> Api<HostClaim> {
        Api::namespaced(self.place.client().clone(), self.namespace)
    }

    pub async fn claim(&self, name: &str, spec: &Value) -> Result<()> {
        let claim = json!({
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "HostClaim",
            "metadata": {"name": name}, "spec": spec,
        });
        self.claims().create(&PostParams::default(), &serde_json::from_value(claim)?).await?;
        Ok(())
    }

    async fn patch(&self, name: &str, patch: &Value) -> Result<()> {
        self.claims().patch(name, &PatchParams::default(), &Patch::Merge(patch)).await?;
        Ok(())
    }

    async fn until(&self, name: &str, what: &str, so: impl Fn(&HostClaim) -> bool) -> Result<HostClaim> {
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

    pub async fn delete(&self, name: &str) -> Result<()> {
        self.claims().delete(name, &DeleteParams::default()).await?;
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

/// Status, reason and message of a condition.
fn told(claim: &HostClaim, type_: &str) -> Option<(String, String, String)> {
    let found = claim.status.as_ref()?.conditions.iter().find(|condition| condition.type_ == type_)?;
    Some((found.status.clone(), found.reason.clone(), found.message.clone()))
}

/// A policy named `policy` beside the hosts.
pub async fn open_to(place: &Place, conditions: &Value) -> Result<()> {
    let policies: Api<HostDeployPolicy> = Api::namespaced(place.client().clone(), place.namespace());
    let policy = json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "HostDeployPolicy",
        "metadata": {"name": "policy"}, "spec": {"hostclaimNamespaces": conditions},
    });
    policies.create(&PostParams::default(), &serde_json::from_value(policy)?).await?;
    Ok(())
}

fn powered(host: &PhysicalHost) -> Option<PowerState> {
    host.status.as_ref()?.observed_power_state
}

/// Nothing that a tenant can read in its namespace may hold any of these.
async fn nothing_of_the_bmc(tenant: &Tenant<'_>) -> Result<()> {
    let mut text =
        serde_json::to_string(&tenant.claims().list(&kube::api::ListParams::default()).await?.items)?;
    let events: Api<k8s_openapi::api::events::v1::Event> =
        Api::namespaced(tenant.place.client().clone(), tenant.namespace);
    text.push_str(&serde_json::to_string(&events.list(&kube::api::ListParams::default()).await?.items)?);
    for secret in ["127.74.", "root", super::setup::PASSWORD, "\"bmc\""] {
        ensure!(!text.contains(secret), "{secret} is in {text}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_is_associated_provisioned_stopped_started_and_deleted() -> Result<()> {
    let labels = |_| json!({"metadata": {"labels": {"infra-kind": "medium"}}});
    let place = Place::take("claims-infrahost", Ipv4Addr::new(127, 74, 0, 1), 1, labels).await?;
    let tenant = Tenant::make(&place, "claims-cluster-ns").await?;
    place.until_state(0, HostState::Available).await?;
    let selector = json!({"matchLabels": {"infra-kind": "medium"}});
    let image = json!({"url": place.image});
    tenant.claim("mine", &json!({"hostSelector": selector, "image": image, "online": false})).await?;
    let why = tenant.until_told("mine", "Association", "False", "NotAuthorized").await?;
    ensure!(why.contains("lets namespace claims-cluster-ns have hosts"), "{why}");

    // The policy is what was missing.
    open_to(&place, &json!({})).await?;
    tenant.until_told("mine", "Association", "True", "HostAssociated").await?;
    tenant.until_told("mine", "Synchronization", "True", "ConfigurationSynced").await?;
    tenant.until_told("mine", "Provisioned", "False", "available").await?;
    let summary = tenant.until_told("mine", "Ready", "False", "IssuesReported").await?;
    ensure!(summary == "* Provisioned: available", "{summary}");
    let status = tenant.claims().get("mine").await?.status.unwrap_or_default();
    let host = place.host(0).await?;
    let named = status.hardware_data.as_ref();
    ensure!(named.map(|named| named.name.as_str()) == host.metadata.name.as_deref(), "{named:?}");
    ensure!(named.and_then(|named| named.namespace.as_deref()) == Some(place.namespace()), "{named:?}");
    ensure!(status.host_uid == host.metadata.uid && status.hardware.is_some(), "{status:?}");
    place.until_state(0, HostState::Claimed).await?;
    ensure!(powered(&place.host(0).await?) == Some(PowerState::Off), "nothing runs before it is wanted");

    tenant.patch("mine", &json!({"spec": {"online": true}})).await?;
    tenant.until_told("mine", "Provisioned", "True", "provisioned").await?;
    let ready = tenant.until_told("mine", "Ready", "True", "InfoReported").await?;
    ensure!(ready.is_empty(), "{ready}");
    let on = |claim: &HostClaim| claim.status.as_ref().and_then(|status| status.powered_on);
    tenant.until("mine", "powered on", |claim| on(claim) == Some(true)).await?;

    // Another image is said, and not done.
    tenant.patch("mine", &json!({"spec": {"image": {"url": "http://elsewhere.example/other.iso"}}})).await?;
    tenant.until_told("mine", "Provisioned", "False", "ImageChanged").await?;
    ensure!(place.host(0).await?.spec.boot_iso_source.as_ref() == Some(&place.image));
    tenant.patch("mine", &json!({"spec": {"image": image}})).await?;
    tenant.until_told("mine", "Provisioned", "True", "provisioned").await?;

    // Off and on again, without another installation.
    tenant.patch("mine", &json!({"spec": {"online": false}})).await?;
    place.until_host(0, "off", |host| powered(host) == Some(PowerState::Off)).await?;
    tenant.until("mine", "powered off", |claim| on(claim) == Some(false)).await?;
    tenant.until_told("mine", "Provisioned", "True", "provisioned").await?;
    tenant.patch("mine", &json!({"spec": {"online": true}})).await?;
    place.until_host(0, "on", |host| powered(host) == Some(PowerState::On)).await?;
    place.until_state(0, HostState::Provisioned).await?;
    nothing_of_the_bmc(&tenant).await?;

    tenant.delete("mine").await?;
    let free = place.until_state(0, HostState::Available).await?;
    ensure!(free.spec.consumer_ref.is_none() && free.spec.online.is_none(), "{:?}", free.spec);
    ensure!(powered(&free) == Some(PowerState::Off));
    place.leave().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_does_not_exist_and_one_that_is_forbidden_look_alike() -> Result<()> {
    let place = Place::take("claims-forbidden", Ipv4Addr::new(127, 74, 1, 1), 1, |_| json!({})).await?;
    let (tenant, other) = (Tenant::make(&place, "claims-a").await?, Tenant::make(&place, "claims-b").await?);
    let host = place.until_state(0, HostState::Available).await?;
    let name = host.metadata.name.clone().unwrap_or_default();
    open_to(&place, &json!({"names": ["claims-b"]})).await?;
    let by_name = |name: &str| json!({"hostRef": {"name": name, "namespace": place.namespace()}});
    tenant.claim("forbidden", &by_name(&name)).await?;
    tenant.claim("absent", &by_name("no-such-host")).await?;
    let [forbidden, absent] = [
        tenant.until_told("forbidden", "Association", "False", "NoMatchingHost").await?,
        tenant.until_told("absent", "Association", "False", "NoMatchingHost").await?,
    ];
    ensure!(forbidden.replace(&name, "X") == absent.replace("no-such-host", "X"), "{forbidden} / {absent}");

    // Who may have it gets it, and what this version can't do with it is said.
    let mut spec = by_name(&name);
    merge(
        &mut spec,
        &json!({"image": {"url": "http://images.example/os.qcow2"}, "online": true,
        "userData": {"name": "my-userdata"}}),
    );
    other.claim("mine", &spec).await?;
    other.until_told("mine", "Association", "True", "HostAssociated").await?;
    other.until_told("mine", "Provisioned", "False", "ImageNotSupported").await?;
    other.until_told("mine", "Synchronization", "False", "ConfigurationNotSupported").await?;
    nothing_of_the_bmc(&other).await?;

    // Two claims, one host: the second waits, and is woken when the first lets go.
    other.claim("next", &by_name(&name)).await?;
    let waits = other.until_told("next", "Association", "False", "NoMatchingHost").await?;
    ensure!(waits.contains("1 claimed"), "{waits}");
    other.delete("mine").await?;
    other.until_told("next", "Association", "True", "HostAssociated").await?;
    other.delete("next").await?;
    place.until_state(0, HostState::Available).await?;
    place.leave().await
}

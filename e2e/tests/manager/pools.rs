//! Machines on hosts of another namespace, as far as the policies there allow it.

use std::net::Ipv4Addr;

use anyhow::{Result, ensure};
use beskar7_api::{
    Beskar7Cluster, Beskar7Machine, GROUP, HostDeployPolicy, HostState, PhysicalHost, annotations,
    cluster_api,
};
use beskar7_e2e::{objects, wait};
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use super::owners::{CLUSTER, phase_of, told, until_gone_of, until_machine_of};
use super::place::Place;
use super::setup::LIMIT;
use super::tenant::open_to;

/// The Beskar7Cluster of a tenant's cluster.
const OURS: &str = "ours";
const ASSOCIATED: &str = "PhysicalHostAssociated";

/// A namespace whose clusters have no hosts of their own.
struct Tenant<'a>(&'a Place, &'static str);

impl Tenant<'_> {
    async fn make(&self) -> Result<()> {
        objects::make_namespace(self.0.client(), self.1).await?;
        objects::make_cluster(self.0.client(), self.1).await
    }

    fn machines(&self) -> Api<Beskar7Machine> {
        Api::namespaced(self.0.client().clone(), self.1)
    }

    async fn make_machine(&self, name: &str) -> Result<()> {
        let selector = json!({"spec": {"hostSelector": {"inNamespace": self.0.namespace()}}});
        self.make_machine_with(name, &selector).await
    }

    async fn make_machine_with(&self, name: &str, more: &Value) -> Result<()> {
        let owner = objects::make_owner_machine(self.0.client(), self.1, name, &json!({})).await?;
        objects::make_machine(self.0.client(), self.1, &owner, &self.0.image, more).await
    }

    /// The hosts of its cluster are in another namespace.
    async fn make_infrastructure(&self) -> Result<()> {
        let clusters: Api<cluster_api::Cluster> = Api::namespaced(self.0.client().clone(), self.1);
        let names = json!({"spec": {"infrastructureRef": {"apiGroup": GROUP, "kind": "Beskar7Cluster", "name": OURS}}});
        let owner = clusters.patch(CLUSTER, &PatchParams::default(), &Patch::Merge(names)).await?;
        let ours = json!({
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "Beskar7Cluster",
            "metadata": {"name": OURS, "ownerReferences": [{"apiVersion": "cluster.x-k8s.io/v1beta2",
                "kind": "Cluster", "name": CLUSTER, "uid": owner.metadata.uid, "controller": true}]},
            "spec": {
                "controlPlaneEndpoint": {"host": "10.0.0.100", "port": 6443},
                "hostPool": {"namespace": self.0.namespace()},
            },
        });
        self.infrastructure().create(&PostParams::default(), &serde_json::from_value(ours)?).await?;
        Ok(())
    }

    fn infrastructure(&self) -> Api<Beskar7Cluster> {
        Api::namespaced(self.0.client().clone(), self.1)
    }

    /// Waits until its cluster says this of itself.
    async fn until_ready(&self, status: &str, reason: &str) -> Result<()> {
        let clusters = &self.infrastructure();
        wait::until_true(format!("its cluster to be Ready={status} ({reason})"), LIMIT, || async move {
            let found = clusters.get(OURS).await?.status.unwrap_or_default().conditions;
            let is_so =
                found.iter().any(|one| one.type_ == "Ready" && one.status == status && one.reason == reason);
            Ok(if is_so { Ok(()) } else { Err(format!("{found:?}")) })
        })
        .await?;
        Ok(())
    }

    async fn until(
        &self,
        name: &str,
        what: &str,
        so: impl Fn(&Beskar7Machine) -> bool,
    ) -> Result<Beskar7Machine> {
        until_machine_of(&self.machines(), name, what, so).await
    }

    /// Waits until a machine says this of its host.
    async fn until_told(&self, name: &str, status: &str, reason: &str, part: &str) -> Result<()> {
        let says = |machine: &Beskar7Machine| {
            told(machine, ASSOCIATED)
                .is_some_and(|told| told.0 == status && told.1 == reason && told.2.contains(part))
        };
        self.until(name, &format!("{reason} ({part})"), says).await.map(drop)
    }

    async fn annotate(&self, name: &str, annotations: &Value) -> Result<()> {
        let patch = json!({"metadata": {"annotations": annotations}});
        self.machines().patch(name, &PatchParams::default(), &Patch::Merge(patch)).await?;
        Ok(())
    }

    async fn label(&self, labels: &Value) -> Result<()> {
        let namespaces: Api<Namespace> = Api::all(self.0.client().clone());
        let patch = json!({"metadata": {"labels": labels}});
        namespaces.patch(self.1, &PatchParams::default(), &Patch::Merge(patch)).await?;
        Ok(())
    }
}

fn policies(place: &Place) -> Api<HostDeployPolicy> {
    Api::namespaced(place.client().clone(), place.namespace())
}

async fn patch_policy(place: &Place, name: &str, spec: &Value) -> Result<()> {
    let patch = json!({ "spec": spec });
    policies(place).patch(name, &PatchParams::default(), &Patch::Merge(patch)).await?;
    Ok(())
}

fn is_held_from(host: &PhysicalHost, tenant: &str) -> bool {
    let reference = host.spec.consumer_ref.as_ref();
    reference.and_then(|reference| reference.namespace.as_deref()) == Some(tenant)
}

/// Whether `clusterctl move` is to leave a machine where it is.
fn is_kept_here(machine: &Beskar7Machine) -> bool {
    machine.annotations().contains_key(annotations::BLOCK_MOVE)
}

/// The hosts that a tenant has.
async fn had(Tenant(place, tenant): &Tenant<'_>) -> Result<Vec<PhysicalHost>> {
    Ok(place
        .hosts()
        .list(&kube::api::ListParams::default())
        .await?
        .items
        .into_iter()
        .filter(|host| is_held_from(host, tenant))
        .collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn machines_take_hosts_of_another_namespace_as_long_as_a_policy_there_lets_them() -> Result<()> {
    let place = Place::take("pools", Ipv4Addr::new(127, 73, 0, 1), 2, |_| json!({})).await?;
    let tenant = Tenant(&place, "pools-tenant");
    tenant.make().await?;
    for number in 0..2 {
        place.until_state(number, HostState::Available).await?;
    }

    // No policy, no host; nor with one that is for others.
    tenant.make_machine("m").await?;
    let closed = "No HostDeployPolicy in namespace pools lets namespace pools-tenant";
    tenant.until_told("m", "False", "WaitingForPhysicalHost", closed).await?;
    let policy = json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "HostDeployPolicy",
        "metadata": {"name": "gold"},
        "spec": {"hostclaimNamespaces": {"nameMatches": "pools-.*", "hasLabels": [{"name": "tier", "value": "gold"}]}},
    });
    policies(&place).create(&PostParams::default(), &serde_json::from_value(policy)?).await?;
    ensure!(had(&tenant).await?.is_empty(), "its label is missing");

    // The label of a namespace is what was missing: nothing else wakes the machine.
    tenant.label(&json!({"tier": "gold"})).await?;
    tenant.until("m", "Provisioned", |machine| phase_of(machine) == "Provisioned").await?;
    let hosts = had(&tenant).await?;
    let [host] = hosts.as_slice() else { anyhow::bail!("one host, not {}", hosts.len()) };
    ensure!(host.annotations().get(annotations::POLICY).map(String::as_str) == Some("gold"));
    ensure!(
        told(&tenant.machines().get("m").await?, ASSOCIATED)
            .is_some_and(|told| told.1 == "PhysicalHostBound")
    );
    // Its host would not move with it, so it does not move; nor does it lack that for long.
    tenant.until("m", "kept from being moved", is_kept_here).await?;
    tenant.annotate("m", &json!({annotations::BLOCK_MOVE: null})).await?;
    tenant.until("m", "kept from being moved again", is_kept_here).await?;

    // A policy that is tightened takes nothing back unless it says so, and gives nothing more.
    let version = host.resource_version();
    patch_policy(&place, "gold", &json!({"hostclaimNamespaces": {"names": ["somebody-else"]}})).await?;
    tenant.until_told("m", "True", "NotAuthorized", "no HostDeployPolicy in namespace pools lets").await?;
    tenant.make_machine("n").await?;
    tenant.until_told("n", "False", "WaitingForPhysicalHost", closed).await?;
    let hosts = had(&tenant).await?;
    ensure!(
        hosts.len() == 1 && hosts.iter().all(|host| host.resource_version() == version),
        "it is left alone"
    );

    // Loosened again, it wakes who waits.
    patch_policy(&place, "gold", &json!({"hostclaimNamespaces": {"names": null}, "onRevoke": "Release"}))
        .await?;
    tenant.until_told("m", "True", "PhysicalHostBound", "").await?;
    tenant.until("n", "Provisioned", |machine| phase_of(machine) == "Provisioned").await?;
    ensure!(had(&tenant).await?.len() == 2);

    // One that takes back does so by the label that goes, too; what a tenant can write on its machines keeps no host.
    let marks = [("m", annotations::DELETE_FOR_MOVE), ("n", annotations::PAUSED)];
    for (name, mark) in marks {
        tenant.annotate(name, &json!({mark: ""})).await?;
    }
    tenant.label(&json!({"tier": null})).await?;
    for number in 0..2 {
        let free = place.until_state(number, HostState::Available).await?;
        ensure!(free.spec.consumer_ref.is_none() && free.spec.claim_id.is_none(), "{:?}", free.spec);
    }
    for (name, mark) in marks {
        tenant.annotate(name, &json!({mark: null})).await?;
        tenant.until(name, "Failed", |machine| phase_of(machine) == "Failed").await?;
        tenant.until(name, "free to be moved", |machine| !is_kept_here(machine)).await?;
        tenant.machines().delete(name, &DeleteParams::default()).await?;
        until_gone_of(&tenant.machines(), name).await?;
    }
    place.leave().await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_pool_of_a_cluster_may_be_in_another_namespace_where_a_policy_opens_it() -> Result<()> {
    let place = Place::take("pools-cluster", Ipv4Addr::new(127, 73, 1, 1), 1, |_| json!({})).await?;
    let tenant = Tenant(&place, "pools-cluster-tenant");
    tenant.make().await?;
    tenant.make_infrastructure().await?;
    place.until_state(0, HostState::Available).await?;

    // Where its hosts are is the cluster's to say, and not each machine's.
    tenant.make_machine_with("m", &json!({})).await?;
    let closed = "No HostDeployPolicy in namespace pools-cluster lets namespace pools-cluster-tenant";
    tenant.until_told("m", "False", "WaitingForPhysicalHost", closed).await?;
    tenant.until_ready("False", "HostPoolNotAllowed").await?;
    ensure!(had(&tenant).await?.is_empty(), "no policy, no host");

    let names = json!({"hostclaimNamespaces": {"names": ["pools-cluster-tenant"]}});
    open_to(place.client(), place.namespace(), &names).await?;
    tenant.until_ready("True", "EndpointGiven").await?;
    tenant.until("m", "Provisioned", |machine| phase_of(machine) == "Provisioned").await?;
    ensure!(had(&tenant).await?.len() == 1);

    tenant.machines().delete("m", &DeleteParams::default()).await?;
    until_gone_of(&tenant.machines(), "m").await?;
    let free = place.until_state(0, HostState::Available).await?;
    ensure!(free.spec.consumer_ref.is_none(), "{:?}", free.spec);
    place.leave().await
}

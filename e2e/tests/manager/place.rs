//! A namespace of the shared control plane, with hosts whose BMCs are simulated and a Cluster whose infrastructure is
//! ready: what a test needs of hosts and machines that hurts no other test.

use std::net::Ipv4Addr;

use anyhow::Result;
use beskar7_api::{Beskar7Machine, HostState, PhysicalHost, cluster_api};
use beskar7_e2e::objects;
use beskar7_redfish_sim::faults::{Armed, Fault};
use beskar7_redfish_sim::profiles;
use kube::api::{DeleteParams, Patch, PatchParams};
use kube::{Api, Client};
use serde_json::{Value, json};

use super::bmcs::Bmcs;
use super::images;
use super::owners::{phase_of, until_gone_of, until_machine_of};
use super::setup::*;
use super::shared::Shared;
use super::site::name;

/// Where one test's machines meet its hosts.
pub struct Place {
    shared: Shared,
    pub bmcs: Bmcs,
    pub image: String,
}

impl Place {
    /// With as many hosts, whose BMCs are at `first` and after it and have no bad habits; `more` is merged into each.
    pub async fn take(
        namespace: &'static str,
        first: Ipv4Addr,
        count: usize,
        more: impl Fn(usize) -> Value,
    ) -> Result<Self> {
        let shared = Shared::join(namespace).await?;
        let bmcs = Bmcs::start(first, count, profiles::plain()).await?;
        let place = Self { shared, bmcs, image: format!("{}/node.iso", images::serve().await?) };
        place.make_secret("bmc", PASSWORD).await?;
        objects::make_cluster(place.client(), namespace).await?;
        for number in 0..count {
            let mut host = json!({"spec": {"redfishConnection": {"address": place.bmcs.url(number)}}});
            merge(&mut host, &more(number));
            make_host(place.client(), namespace, &name(number), &host).await?;
        }
        Ok(place)
    }

    pub fn client(&self) -> &Client {
        &self.shared.client
    }

    pub fn namespace(&self) -> &'static str {
        self.shared.namespace
    }

    /// A Secret with this password for a BMC.
    pub async fn make_secret(&self, name: &str, password: &str) -> Result<()> {
        let data = json!({"username": "root", "password": password});
        objects::make_secret(self.client(), self.namespace(), name, &data).await
    }

    pub fn hosts(&self) -> Api<PhysicalHost> {
        hosts(self.client(), self.namespace())
    }

    pub async fn host(&self, number: usize) -> Result<PhysicalHost> {
        Ok(self.hosts().get(&name(number)).await?)
    }

    pub async fn patch_host(&self, number: usize, patch: &Value) -> Result<()> {
        self.hosts().patch(&name(number), &PatchParams::default(), &Patch::Merge(patch)).await?;
        Ok(())
    }

    pub async fn until_host(
        &self,
        number: usize,
        what: &str,
        so: impl Fn(&PhysicalHost) -> bool,
    ) -> Result<PhysicalHost> {
        until_host(&self.hosts(), &name(number), what, so).await
    }

    pub async fn until_state(&self, number: usize, state: HostState) -> Result<PhysicalHost> {
        self.until_host(number, &format!("{state:?}"), |host| state_of(host) == Some(state)).await
    }

    /// Waits until a host's condition has this status and reason.
    pub async fn until_told(
        &self,
        number: usize,
        type_: &str,
        status: &str,
        reason: &str,
    ) -> Result<PhysicalHost> {
        let so = |host: &PhysicalHost| {
            condition(host, type_).is_some_and(|told| told.status == status && told.reason == reason)
        };
        self.until_host(number, &format!("{type_}={status} ({reason})"), so).await
    }

    /// Claims a host as a consumer does it that is no Beskar7Machine; `more` says what it wants of it.
    pub async fn claim(&self, number: usize, claim: &str, more: &Value) -> Result<()> {
        let consumer = json!({"kind": "ByHand", "namespace": self.namespace(), "name": "somebody"});
        let mut patch = json!({"spec": {"consumerRef": consumer, "claimID": claim}});
        merge(&mut patch, &json!({ "spec": more }));
        self.patch_host(number, &patch).await
    }

    /// From now on the BMC refuses to change the power. A machine that is off is made ready to boot, its host is
    /// Provisioning, and there it stays.
    pub fn cannot_be_turned_on(&self, number: usize) -> Result<()> {
        let fault = Armed::always(Fault::Unauthorized).at("ComputerSystem.Reset");
        self.bmcs.with(number, |bmc| bmc.faults.arm(fault))
    }

    pub fn machines(&self) -> Api<Beskar7Machine> {
        Api::namespaced(self.client().clone(), self.namespace())
    }

    pub fn owner_machines(&self) -> Api<cluster_api::Machine> {
        Api::namespaced(self.client().clone(), self.namespace())
    }

    /// A Machine and its Beskar7Machine, which boots the image; `more` changes the latter.
    pub async fn make_machine(&self, name: &str, more: &Value) -> Result<()> {
        let owner = objects::make_owner_machine(self.client(), self.namespace(), name, &json!({})).await?;
        objects::make_machine(self.client(), self.namespace(), &owner, &self.image, more).await
    }

    pub async fn patch_machine(&self, name: &str, patch: &Value) -> Result<()> {
        self.machines().patch(name, &PatchParams::default(), &Patch::Merge(patch)).await?;
        Ok(())
    }

    pub async fn until_machine(
        &self,
        name: &str,
        what: &str,
        so: impl Fn(&Beskar7Machine) -> bool,
    ) -> Result<Beskar7Machine> {
        until_machine_of(&self.machines(), name, what, so).await
    }

    pub async fn until_phase(&self, name: &str, phase: &str) -> Result<Beskar7Machine> {
        self.until_machine(name, phase, |machine| phase_of(machine) == phase).await
    }

    /// Deletes a Machine and its Beskar7Machine, and waits until the latter is gone.
    pub async fn delete_machine(&self, name: &str) -> Result<()> {
        self.owner_machines().delete(name, &DeleteParams::default()).await?;
        // The collector may have come first.
        self.machines().delete(name, &DeleteParams::default()).await.ok();
        until_gone_of(&self.machines(), name).await
    }

    pub async fn leave(self) -> Result<()> {
        self.shared.leave().await
    }
}

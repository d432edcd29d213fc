//! Servers to try things out with: simulated BMCs, the machines behind them, and a PhysicalHost for each.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use beskar7_api::{HostState, PhysicalHost, labels};
use beskar7_redfish_sim::fleet::{Fleet, FleetConfig};
use beskar7_redfish_sim::host::Host;
use k8s_openapi::api::core::v1::{Namespace, Secret};
use kube::Api;
use kube::api::{ListParams, PostParams};
use serde_json::{Value, json};

use crate::control_plane::ControlPlane;
use crate::wait;

/// The Secret with the credentials of all BMCs.
const SECRET: &str = "bmc";
const ENROL_LIMIT: Duration = Duration::from_secs(120);

/// A running fleet and its hosts; it ends when this is dropped.
#[derive(Debug)]
pub struct Racks {
    namespace: String,
    fleet: Arc<Fleet>,
    /// By the names of their PhysicalHosts.
    addresses: BTreeMap<String, Ipv4Addr>,
}

impl Racks {
    /// Starts the BMCs and writes their hosts and their Secret. The first host of each make is called after it, the
    /// next ones are numbered; they stand in two racks in turn.
    pub async fn start(plane: &ControlPlane, namespace: &str, config: FleetConfig) -> Result<Self> {
        let credentials = config.credentials.clone();
        let fleet = Fleet::start(config).await.context("starting the simulated BMCs")?;
        let client = plane.client().await?;
        let namespaces = Api::<Namespace>::all(client.clone());
        if namespaces.get_opt(namespace).await?.is_none() {
            let made = object(json!({"metadata": {"name": namespace}}))?;
            namespaces.create(&PostParams::default(), &made).await.context("a namespace for hosts")?;
        }
        let data = json!({"username": credentials.username, "password": credentials.password});
        // clusterctl takes a Secret along that has this label.
        let moves = json!({"clusterctl.cluster.x-k8s.io/move": ""});
        let secret = object(json!({"metadata": {"name": SECRET, "labels": moves}, "stringData": data}))?;
        let secrets = Api::<Secret>::namespaced(client.clone(), namespace);
        secrets.create(&PostParams::default(), &secret).await.context("the BMCs' Secret")?;

        let hosts = Api::<PhysicalHost>::namespaced(client, namespace);
        let addresses = named(&fleet);
        for (number, (address, name)) in addresses.iter().enumerate() {
            let zone = if number % 2 == 0 { "rack-1" } else { "rack-2" };
            let host = object(json!({
                "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1",
                "kind": "PhysicalHost",
                "metadata": {"name": name, "labels": {labels::ZONE: zone}},
                "spec": {"redfishConnection": {"address": fleet.url(*address), "credentialsSecretRef": SECRET}},
            }))?;
            hosts.create(&PostParams::default(), &host).await.with_context(|| format!("host {name}"))?;
        }
        let addresses = addresses.into_iter().map(|(address, name)| (name, address)).collect();
        Ok(Self { namespace: namespace.to_owned(), fleet, addresses })
    }

    /// Waits until every host can be claimed.
    pub async fn available(&self, plane: &ControlPlane) -> Result<()> {
        let hosts: Api<PhysicalHost> = Api::namespaced(plane.client().await?, &self.namespace);
        let hosts = &hosts;
        wait::until_true("every host to be Available", ENROL_LIMIT, || async move {
            let all = hosts.list(&ListParams::default()).await?.items;
            let state = |host: &PhysicalHost| host.status.as_ref().and_then(|status| status.state);
            let ready = all.iter().filter(|host| state(host) == Some(HostState::Available)).count();
            Ok(if ready == all.len() { Ok(()) } else { Err(format!("{ready} of {}", all.len())) })
        })
        .await?;
        Ok(())
    }

    /// The names of the hosts.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.addresses.keys().map(String::as_str)
    }

    /// The BMC of a host.
    pub fn bmc(&self, host: &str) -> Result<Arc<Host>> {
        let address = self.addresses.get(host).with_context(|| format!("no host {host}"))?;
        self.fleet.host(*address).with_context(|| format!("no BMC at {address}"))
    }
}

/// The BMCs in the order of their addresses, with the names of their hosts.
fn named(fleet: &Fleet) -> Vec<(Ipv4Addr, String)> {
    let mut of_make: BTreeMap<&str, u32> = BTreeMap::new();
    let bmcs = fleet.hosts().into_iter();
    bmcs.map(|(address, host)| {
        let make = host.with(|bmc, _| bmc.profile.name);
        let number = of_make.entry(make).and_modify(|number| *number += 1).or_insert(1);
        (address, if *number == 1 { make.to_owned() } else { format!("{make}-{number}") })
    })
    .collect()
}

fn object<T: serde::de::DeserializeOwned>(json: Value) -> Result<T> {
    serde_json::from_value(json).context("an object of the racks")
}

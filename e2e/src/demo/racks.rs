//! The servers of the demo: one simulated BMC of each make, with the machine behind it, enrolled as PhysicalHosts.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use beskar7_api::{HostState, PhysicalHost};
use beskar7_redfish_sim::bmc::Credentials;
use beskar7_redfish_sim::fleet::{Fleet, FleetConfig};
use beskar7_redfish_sim::profiles;
use k8s_openapi::api::core::v1::{Namespace, Secret};
use kube::Api;
use kube::api::{ListParams, PostParams};
use serde_json::{Value, json};

use crate::control_plane::ControlPlane;
use crate::wait;

/// Where the hosts are.
pub(super) const NAMESPACE: &str = "metal";
/// The first BMC; the others follow.
const FIRST: Ipv4Addr = Ipv4Addr::new(127, 20, 0, 1);
/// A tenth of the times that real machines take.
const PACE: f64 = 0.1;
const ENROL_LIMIT: Duration = Duration::from_secs(60);

/// The running fleet; it ends when this is dropped.
#[derive(Debug)]
pub(super) struct Racks {
    _fleet: Arc<Fleet>,
}

impl Racks {
    /// Starts the BMCs and writes their hosts and their Secret.
    pub(super) async fn start(plane: &ControlPlane) -> Result<Self> {
        let credentials = Credentials { username: "admin".to_owned(), password: "demo".to_owned() };
        let config = FleetConfig {
            count: profiles::ALL.len(),
            profiles: profiles::ALL.to_vec(),
            first: FIRST,
            pace: PACE,
            credentials: credentials.clone(),
            ..FleetConfig::default()
        };
        let fleet = Fleet::start(config).await.context("starting the simulated BMCs")?;
        let client = plane.client().await?;
        let namespace: Namespace = object(json!({"metadata": {"name": NAMESPACE}}))?;
        Api::all(client.clone())
            .create(&PostParams::default(), &namespace)
            .await
            .context("a namespace for hosts")?;
        let data = json!({"username": credentials.username, "password": credentials.password});
        let secret: Secret = object(json!({"metadata": {"name": "bmc"}, "stringData": data}))?;
        let secrets: Api<Secret> = Api::namespaced(client.clone(), NAMESPACE);
        secrets.create(&PostParams::default(), &secret).await.context("the BMCs' Secret")?;
        let hosts: Api<PhysicalHost> = Api::namespaced(client, NAMESPACE);
        for (number, profile) in profiles::ALL.iter().enumerate() {
            let address = Ipv4Addr::from(u32::from(FIRST).saturating_add(u32::try_from(number)?));
            let zone = if number % 2 == 0 { "rack-1" } else { "rack-2" };
            let host: PhysicalHost = object(json!({
                "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1",
                "kind": "PhysicalHost",
                "metadata": {"name": profile.name, "labels": {"topology.kubernetes.io/zone": zone}},
                "spec": {"redfishConnection": {"address": fleet.url(address), "credentialsSecretRef": "bmc"}},
            }))?;
            hosts
                .create(&PostParams::default(), &host)
                .await
                .with_context(|| format!("host {}", profile.name))?;
        }
        Ok(Self { _fleet: fleet })
    }

    /// Waits until every host can be claimed.
    pub(super) async fn available(&self, plane: &ControlPlane) -> Result<()> {
        let hosts: Api<PhysicalHost> = Api::namespaced(plane.client().await?, NAMESPACE);
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
}

fn object<T: serde::de::DeserializeOwned>(json: Value) -> Result<T> {
    serde_json::from_value(json).context("an object of the demo")
}

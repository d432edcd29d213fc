//! What the real kubeadm bootstrap provider writes reaches the machine that it is for byte by byte: cloud-config with its
//! jinja template, and Ignition.

use std::net::Ipv4Addr;

use anyhow::{Context, Result, ensure};
use beskar7_api::HostState;
use beskar7_e2e::ports::Port;
use beskar7_e2e::racks::Racks;
use beskar7_e2e::sample::{Configuration, SampleCluster};
use beskar7_e2e::wait::{self, Seen};
use beskar7_e2e::workload::{Installer, Workload};
use beskar7_redfish_sim::fleet::FleetConfig;
use k8s_openapi::api::core::v1::Secret;
use kube::api::ListParams;
use kube::{Api, ResourceExt};

use super::images;
use super::management::Management;
use super::stack::{LIMIT, NAMESPACE};

#[tokio::test(flavor = "multi_thread")]
async fn what_kubeadm_needs_is_delivered_byte_for_byte() -> Result<()> {
    let management = Management::start().await?;
    let workload = Workload::new(&management.plane).await?;
    // Nothing runs on these machines: what they would read is read here. There are two in each zone.
    let fleet =
        FleetConfig { count: 4, first: Ipv4Addr::new(127, 73, 0, 1), pace: 0.02, ..FleetConfig::default() };
    let racks = Racks::start(&management.plane, NAMESPACE, fleet).await?;
    racks.available(&management.plane).await?;
    let image = format!("{}/node.iso", images::serve().await?);
    for (name, format, family, arguments) in [
        ("cloud", "cloud-config", "other", r#"["b7.config={{configURL}}/user-data"]"#),
        ("core", "ignition", "flatcar", "[]"),
    ] {
        let endpoint = Port::reserve()?;
        let sample = SampleCluster {
            name,
            namespace: NAMESPACE,
            control_plane: 1,
            workers: 0,
            port: Some(endpoint.number()),
            image: &image,
            configuration: Configuration::Delivered,
            flavor: "",
            variables: &[
                ("BESKAR7_BOOTSTRAP_FORMAT", format),
                ("BESKAR7_OS_FAMILY", family),
                ("BESKAR7_KERNEL_ARGS", arguments),
            ],
        };
        sample.apply(&management.plane, &management.cluster_api, &workload).await?;
        let (machine, host) = booting(&management, name).await.with_context(|| format!("booting {name}"))?;
        let delivered = read(&racks, &host).await.with_context(|| format!("what {name} reads"))?;
        let written = bootstrap_data(&management, &machine).await?;
        let (came, wanted) = (delivered.len(), written.len());
        ensure!(delivered.as_bytes() == written, "{name}: {came} bytes are not the {wanted} of the Secret");
        ensure!(delivered.contains("ds.meta_data.provider_id"), "{name}: somebody filled its template in");
        let begins = if format == "ignition" { "{\"ignition\"" } else { "## template: jinja\n#cloud-config" };
        ensure!(delivered.starts_with(begins), "{name}: it does not begin with {begins:?}");
    }
    drop(racks);
    workload.stop().await?;
    management.stop().await
}

/// The Machine of a cluster and the host that was turned on for it.
async fn booting(management: &Management, cluster: &str) -> Result<(String, String)> {
    let hosts = Api::<beskar7_api::PhysicalHost>::namespaced(management.client.clone(), NAMESPACE);
    let found = wait::until(format!("a host that boots for {cluster}"), LIMIT, || async {
        management.check()?;
        let all = hosts.list(&ListParams::default()).await?.items;
        let state = |host: &beskar7_api::PhysicalHost| host.status.as_ref().and_then(|status| status.state);
        let its = all.iter().find_map(|host| {
            let consumer = host.spec.consumer_ref.as_ref()?.name.clone()?;
            let boots = state(host) == Some(HostState::Provisioning) && consumer.starts_with(cluster);
            boots.then(|| (consumer, host.name_any()))
        });
        let told =
            || all.iter().map(|host| format!("{} {:?}", host.name_any(), state(host))).collect::<Vec<_>>();
        Ok(its.map_or_else(|| Seen::NotYet(format!("{:?}", told())), Seen::Done))
    });
    Ok(found.await?)
}

/// What a machine reads from its medium, and from where that leads.
async fn read(racks: &Racks, host: &str) -> Result<String> {
    let images = racks
        .bmc(host)?
        .with(|bmc, _| bmc.machine.slots().iter().filter_map(|slot| slot.image.clone()).collect::<Vec<_>>());
    let installer = Installer::read(images.first().context("no medium")?).await?;
    installer.configuration.with_context(|| format!("{:?}", installer.parameters))
}

async fn bootstrap_data(management: &Management, machine: &str) -> Result<Vec<u8>> {
    let machine = management.get("machine", machine).await?;
    let name = machine["spec"]["bootstrap"]["dataSecretName"].as_str().context("no bootstrap data")?;
    let secret = Api::<Secret>::namespaced(management.client.clone(), NAMESPACE).get(name).await?;
    Ok(secret.data.and_then(|mut data| data.remove("value")).context("no value")?.0)
}

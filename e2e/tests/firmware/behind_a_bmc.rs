//! Real firmware behind a simulated BMC, driven over Redfish: by the client, and by the manager.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use beskar7_api::{Beskar7Machine, HostState, PhysicalHost};
use beskar7_e2e::installation;
use beskar7_e2e::isos::{Firmware, Isos, Layout};
use beskar7_e2e::manager::{self, Manager};
use beskar7_e2e::objects::{make_cluster, make_machine, make_owner_machine};
use beskar7_e2e::racks::Racks;
use beskar7_e2e::ranges::Ranges;
use beskar7_e2e::vm::{BehindBmc, HOST, Hardware, Vm};
use beskar7_e2e::wait::{self, Seen};
use beskar7_redfish::{
    Address, Bmc, BootMode, BootProgress, BootTarget, Credentials, HttpClients, Limits, Power, PowerLimits,
    Trust,
};
use beskar7_redfish_sim::fleet::{Fleet, FleetConfig};
use beskar7_redfish_sim::machine::log::Action;
use bytes::Bytes;
use kube::Api;
use kube::api::DeleteParams;
use serde_json::json;

use super::boot::LIMIT;
use super::desk::Desk;

/// BMCs that do in a tenth of the time what takes them long.
fn fleet(address: Ipv4Addr, vm: &Arc<Vm>) -> FleetConfig {
    FleetConfig {
        first: address,
        pace: 0.1,
        hardware: Some(BehindBmc::new(Arc::clone(vm))),
        ..FleetConfig::default()
    }
}

/// An image with its parameters in it, and where it is.
async fn image(isos: &Isos, ranges: &Ranges, desk: &Desk) -> Result<String> {
    let parameter = format!("b7.config={}", desk.configuration());
    let image = std::fs::read(isos.iso(Layout::Debian, &[&parameter]).await?)?;
    Ok(ranges.put(HOST, "node.iso", Arc::new(Bytes::from(image))))
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "long: make firmware"]
async fn a_redfish_client_starts_a_machine_from_its_virtual_medium() -> Result<()> {
    let test = "a_redfish_client_starts_a_machine_from_its_virtual_medium";
    let Some(isos) = Isos::shared(test)? else { return Ok(()) };
    let (desk, ranges) = (Desk::start().await?, Ranges::start().await?);
    let address = Ipv4Addr::new(127, 77, 0, 1);
    let hardware = Hardware::behind(address, Firmware::Bios);
    let uuid = hardware.uuid.clone();
    let vm = Arc::new(Vm::new(isos.installed(), hardware)?);
    let fleet = Fleet::start(fleet(address, &vm)).await?;
    let url = Address::parse(&fleet.url(address))?;
    let http = HttpClients::default().get(&Trust::Anything)?;
    let bmc = Bmc::new(http, url, Credentials::new("admin", "password"), Limits::default());

    let system = bmc.system(None).await?;
    ensure!(system.power() == Power::Off, "{system:?}");
    let image = image(&isos, &ranges, &desk).await?;
    bmc.insert(&system, image.as_str(), LIMIT).await?;
    let system = bmc.system(None).await?;
    bmc.boot_once(&system, &BootTarget::VirtualCd, BootMode::Uefi, LIMIT).await?;
    let system = bmc.system(None).await?;
    bmc.power_on(&system, power_limits()).await?;

    let call = desk.called(LIMIT).await?;
    ensure!(call.eq_ignore_ascii_case(&format!("uuid={uuid}")), "another machine called: {call}");
    let bmc = &bmc;
    wait::until_true("the BMC to say that a system runs", LIMIT, || async move {
        let progress = bmc.system(None).await?.boot_progress();
        Ok(if progress == Some(BootProgress::OsRunning) { Ok(()) } else { Err(format!("{progress:?}")) })
    })
    .await?;
    let system = bmc.system(None).await?;
    ensure!(system.override_enabled() == Some("Disabled"), "the override is not used up");

    bmc.power_off(&system, power_limits()).await?;
    wait::until_true("the machine to be off", LIMIT, || async {
        Ok(if vm.is_on().await { Err("it is on".to_owned()) } else { Ok(()) })
    })
    .await?;
    fleet.stop();
    Ok(())
}

fn power_limits() -> PowerLimits {
    PowerLimits { graceful: Duration::from_secs(5), seen: LIMIT, look: Duration::from_millis(200) }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "long: make firmware"]
async fn the_manager_provisions_a_machine_with_real_firmware_and_takes_it_back() -> Result<()> {
    let test = "the_manager_provisions_a_machine_with_real_firmware_and_takes_it_back";
    let Some(isos) = Isos::shared(test)? else { return Ok(()) };
    let (desk, ranges) = (Desk::start().await?, Ranges::start().await?);
    let address = Ipv4Addr::new(127, 77, 1, 1);
    let vm = Arc::new(Vm::new(isos.installed(), Hardware::behind(address, Firmware::Uefi))?);
    let plane = installation::installed().await?;
    let client = plane.client().await?;
    let racks = Racks::start(&plane, "default", fleet(address, &vm)).await?;
    let flags = ["--bmc-poll-interval=1s", "--boot-timeout=10m"].map(str::to_owned).to_vec();
    let options = manager::Options { leader_elect: false, flags, ..manager::Options::default() };
    let manager = Manager::start(&plane, &options).await?;
    racks.available(&plane).await?;

    let image = image(&isos, &ranges, &desk).await?;
    make_cluster(&client, "default").await?;
    let owner = make_owner_machine(&client, "default", "m", &json!({})).await?;
    make_machine(&client, "default", &owner, &image, &json!({})).await?;
    desk.called(LIMIT).await?;

    let hosts: Api<PhysicalHost> = Api::namespaced(client.clone(), "default");
    let name = racks.names().next().context("no host")?;
    let host = until_state(&hosts, name, HostState::Provisioned).await?;
    ensure!(host.spec.boot_iso_source.as_deref() == Some(image.as_str()), "{:?}", host.spec);
    let starts = racks.bmc(name)?.with(|bmc, _| {
        bmc.machine.log().entries().filter(|entry| matches!(entry.action, Action::PoweredOn)).count()
    });
    ensure!(starts == 1, "it was powered on {starts} times");

    let machines: Api<Beskar7Machine> = Api::namespaced(client, "default");
    machines.delete("m", &DeleteParams::default()).await?;
    until_state(&hosts, name, HostState::Available).await?;
    ensure!(!vm.is_on().await, "the host is free, and its machine runs");
    manager.stop().await?;
    plane.stop().await
}

/// The whole way: the manager presents the user's image with the parameters of this host in it, the BMC gives it to the
/// machine, firmware and boot loader start it, and what runs fetches its configuration and calls home.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "long: make firmware"]
async fn the_manager_configures_a_machine_that_boots_an_image_as_it_is() -> Result<()> {
    let test = "the_manager_configures_a_machine_that_boots_an_image_as_it_is";
    let Some(isos) = Isos::shared(test)? else { return Ok(()) };
    let ranges = Ranges::start().await?;
    let address = Ipv4Addr::new(127, 77, 2, 1);
    let vm = Arc::new(Vm::new(isos.installed(), Hardware::behind(address, Firmware::Uefi))?);
    let plane = installation::installed().await?;
    let client = plane.client().await?;
    let racks = Racks::start(&plane, "default", fleet(address, &vm)).await?;
    let flags = ["--bmc-poll-interval=1s", "--boot-timeout=10m"].map(str::to_owned).to_vec();
    let options = manager::Options {
        leader_elect: false,
        boot_server: true,
        boot_host: HOST.to_owned(),
        flags,
        ..manager::Options::default()
    };
    let manager = Manager::start(&plane, &options).await?;
    racks.available(&plane).await?;

    let image = Bytes::from(std::fs::read(isos.iso(Layout::Ubuntu, &[]).await?)?);
    let image = ranges.put("127.0.0.1", "ubuntu.iso", Arc::new(image));
    make_cluster(&client, "default").await?;
    let owner = make_owner_machine(&client, "default", "m", &json!({})).await?;
    let remote = json!({"spec": {"provisioningMode": "RemoteConfig", "osFamily": "ubuntu"}});
    make_machine(&client, "default", &owner, &image, &remote).await?;

    let hosts: Api<PhysicalHost> = Api::namespaced(client, "default");
    let name = racks.names().next().context("no host")?;
    let host = until_state(&hosts, name, HostState::Provisioned).await?;
    ensure!(host.spec.boot_iso_source.as_deref() == Some(image.as_str()), "{:?}", host.spec);
    let console = vm.console().await;
    console.until("called home", LIMIT).await?;
    let line = console.said("cmdline")?.context("no parameters")?;
    let seed = format!("ds=nocloud;s=http://{HOST}:");
    let (own, ours) = line.split_once(&seed).with_context(|| format!("{seed} is not in it"))?;
    ensure!(own.contains("autoinstall") && ours.trim_end().ends_with("---"), "not where Ubuntu expects it");
    ensure!(console.said("user-data sha256")?.is_some(), "{:?}", console.lines()?);
    manager.stop().await?;
    plane.stop().await
}

async fn until_state(hosts: &Api<PhysicalHost>, name: &str, wanted: HostState) -> Result<PhysicalHost> {
    let reached = wait::until(format!("{name} to be {wanted:?}"), LIMIT, || async move {
        let host = hosts.get(name).await?;
        let state = host.status.as_ref().and_then(|status| status.state);
        Ok(if state == Some(wanted) { Seen::Done(host) } else { Seen::NotYet(format!("{state:?}")) })
    });
    Ok(reached.await?)
}

//! A machine behind a simulated BMC whose one-time override is real: the network once, and the disk the next time.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use beskar7_boot::dhcp::{Loader, Mode};
use beskar7_boot::tftp::Ports;
use beskar7_e2e::isos::{Firmware, Isos};
use beskar7_e2e::lab::{Lab, alone};
use beskar7_e2e::vm::{BehindBmc, Hardware, Vm};
use beskar7_e2e::wait;
use beskar7_redfish::{
    Address, Bmc, BootMode, BootTarget, Credentials, HttpClients, Limits, PowerLimits, Trust,
};
use beskar7_redfish_sim::fleet::{Fleet, FleetConfig};

use super::boot::{IPXE, LIMIT, calls_home, disks, loaders, starts_from_disk};
use super::claim::Starts;
use super::register::reserved;
use super::servers::{self, Servers, Settings};

const ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 50);
const BMC: Ipv4Addr = Ipv4Addr::new(127, 77, 0, 1);

#[test]
#[ignore = "long: make network-boot"]
fn a_uefi_machine_boots_by_pxe_once_and_then_from_its_disk() -> Result<()> {
    let test = "a_uefi_machine_boots_by_pxe_once_and_then_from_its_disk";
    alone(module_path!(), test, async |lab| {
        let expected = [Loader::Pxe, IPXE, Loader::System];
        once(lab, test, (Firmware::Uefi, BootMode::Uefi), BootTarget::Pxe, &expected).await
    })
}

#[test]
#[ignore = "long: make network-boot"]
fn a_bios_machine_boots_by_pxe_once_and_then_from_its_disk() -> Result<()> {
    let test = "a_bios_machine_boots_by_pxe_once_and_then_from_its_disk";
    alone(module_path!(), test, async |lab| {
        let expected = [IPXE, Loader::System];
        once(lab, test, (Firmware::Bios, BootMode::Legacy), BootTarget::Pxe, &expected).await
    })
}

/// The URL is the override's: DHCP would tell another one.
#[test]
#[ignore = "long: make network-boot"]
fn a_uefi_machine_boots_by_http_once_and_then_from_its_disk() -> Result<()> {
    let test = "a_uefi_machine_boots_by_http_once_and_then_from_its_disk";
    alone(module_path!(), test, async |lab| {
        let target = BootTarget::UefiHttp(servers::loader_url(servers::OTHER_NAME));
        let expected = [Loader::Http, IPXE, Loader::System];
        once(lab, test, (Firmware::Uefi, BootMode::Uefi), target, &expected).await
    })
}

async fn once(
    lab: Lab,
    test: &str,
    (firmware, mode): (Firmware, BootMode),
    target: BootTarget,
    expected: &[Loader],
) -> Result<()> {
    let Some(isos) = Isos::shared(test)? else { return Ok(()) };
    let segment = lab.segment("near", Some(servers::ADDRESS)).await?;
    let line = lab.line(&segment).await?;
    let hardware = Hardware { line, disks: disks(&isos).await?, ..Hardware::behind(BMC, firmware) };
    let settings = Settings {
        mode: Mode::Reservations,
        addressing: Some(reserved(ADDRESS, None)),
        starts: Some(Starts::Kernel),
        ports: Ports::Each,
    };
    let servers = Servers::start(&lab, &isos, &segment, &hardware.mac, settings).await?;
    let vm = Arc::new(Vm::new(isos.installed(), hardware)?);
    let fleet = Fleet::start(fleet(&vm)).await?;
    let machine = fleet.host(BMC).context("no BMC")?;
    machine.with(|bmc, _| bmc.machine.install(Some("a system".to_owned())));
    let bmc = bmc(&fleet)?;

    let system = bmc.system(None).await?;
    bmc.boot_once(&system, &target, mode, LIMIT).await?;
    power_on(&bmc, &vm).await?;
    calls_home(&vm.console().await, &servers).await?;
    ensure!(loaders(&servers) == expected, "{:?}", servers.known.heard());
    let system = bmc.system(None).await?;
    ensure!(system.override_enabled() == Some("Disabled"), "the override is not used up");

    bmc.power_off(&system, power_limits()).await?;
    wait::until_true("the machine to be off", LIMIT, || async {
        Ok(if vm.is_on().await { Err("it is on".to_owned()) } else { Ok(()) })
    })
    .await?;
    let asked = servers.known.heard().len();
    power_on(&bmc, &vm).await?;
    starts_from_disk(&vm.console().await).await?;
    ensure!(servers.known.heard().len() == asked, "it tried the network again");
    fleet.stop();
    Ok(())
}

/// BMCs that do in a tenth of the time what takes them long.
fn fleet(vm: &Arc<Vm>) -> FleetConfig {
    let hardware = Some(BehindBmc::new(Arc::clone(vm)) as Arc<_>);
    FleetConfig { first: BMC, pace: 0.1, hardware, ..FleetConfig::default() }
}

fn bmc(fleet: &Fleet) -> Result<Bmc> {
    let url = Address::parse(&fleet.url(BMC))?;
    let http = HttpClients::default().get(&Trust::Anything)?;
    Ok(Bmc::new(http, url, Credentials::new("admin", "password"), Limits::default()))
}

/// Powers it on, and waits until power has reached the machine: before, its serial port is that of its last start.
async fn power_on(bmc: &Bmc, vm: &Vm) -> Result<()> {
    bmc.power_on(&bmc.system(None).await?, power_limits()).await?;
    wait::until_true("the machine to be on", LIMIT, || async {
        Ok(if vm.is_on().await { Ok(()) } else { Err("it is off".to_owned()) })
    })
    .await?;
    Ok(())
}

fn power_limits() -> PowerLimits {
    PowerLimits { graceful: Duration::from_secs(5), seen: LIMIT, look: Duration::from_millis(200) }
}

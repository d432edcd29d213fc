//! Machines on another segment: their requests come through a relay, and what they fetch through a router.

use std::net::Ipv4Addr;

use anyhow::{Result, ensure};
use beskar7_boot::dhcp::{Loader, Mode};
use beskar7_boot::tftp::Ports;
use beskar7_e2e::isos::{Firmware, Isos};
use beskar7_e2e::lab::{Lab, alone};
use beskar7_e2e::vm::{Hardware, Start};

use super::boot::{IPXE, boots, loaders};
use super::claim::Starts;
use super::register::reserved;
use super::servers::{self, Servers, Settings};

const ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 78, 0, 50);
const ROUTER: Ipv4Addr = Ipv4Addr::new(10, 78, 0, 1);

#[test]
#[ignore = "long: make network-boot"]
fn a_bios_machine_boots_through_a_relay() -> Result<()> {
    let test = "a_bios_machine_boots_through_a_relay";
    alone(module_path!(), test, async |lab| {
        boot(lab, test, (Firmware::Bios, Start::Pxe), &[IPXE, Loader::System]).await
    })
}

#[test]
#[ignore = "long: make network-boot"]
fn a_uefi_machine_boots_by_pxe_through_a_relay() -> Result<()> {
    let test = "a_uefi_machine_boots_by_pxe_through_a_relay";
    alone(module_path!(), test, async |lab| {
        boot(lab, test, (Firmware::Uefi, Start::Pxe), &[Loader::Pxe, IPXE, Loader::System]).await
    })
}

#[test]
#[ignore = "long: make network-boot"]
fn a_uefi_machine_boots_by_http_through_a_relay() -> Result<()> {
    let test = "a_uefi_machine_boots_by_http_through_a_relay";
    alone(module_path!(), test, async |lab| {
        boot(lab, test, (Firmware::Uefi, Start::Http), &[Loader::Http, IPXE, Loader::System]).await
    })
}

async fn boot(lab: Lab, test: &str, (firmware, start): (Firmware, Start), expected: &[Loader]) -> Result<()> {
    let Some(isos) = Isos::shared(test)? else { return Ok(()) };
    let near = lab.segment("near", Some(servers::ADDRESS)).await?;
    // This process has no address there: what comes from there comes through the relay.
    let far = lab.segment("far", None).await?;
    let router = lab.neighbour("router").await?;
    lab.join(&router, &near, servers::NEIGHBOUR).await?;
    lab.join(&router, &far, ROUTER).await?;
    lab.make_router(&router).await?;
    lab.route("10.78.0.0/24", servers::NEIGHBOUR).await?;
    let relay = lab.dhcp_relay(&router, ROUTER, servers::ADDRESS).await?;
    let hardware = Hardware { line: lab.line(&far).await?, ..Hardware::with(firmware) };
    let settings = Settings {
        mode: Mode::Reservations,
        addressing: Some(reserved(ADDRESS, Some(ROUTER))),
        starts: Some(Starts::Kernel),
        ports: Ports::Each,
    };
    let servers = Servers::start(&lab, &isos, &near, &hardware.mac, settings).await?;
    let address = boots(&isos, hardware, start, &servers).await?;
    relay.check()?;
    ensure!(loaders(&servers) == expected, "{:?}", servers.known.heard());
    ensure!(address == ADDRESS, "another address: {address}");
    Ok(())
}

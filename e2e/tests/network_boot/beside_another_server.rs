//! Machines that get their addresses from the site's own DHCP server: ours only says what to boot.

use std::net::Ipv4Addr;

use anyhow::{Result, ensure};
use beskar7_boot::dhcp::{Loader, Mode};
use beskar7_boot::tftp::Ports;
use beskar7_e2e::isos::{Firmware, Isos};
use beskar7_e2e::lab::{Lab, alone};
use beskar7_e2e::vm::{Hardware, Start};

use super::boot::{IPXE, boots, loaders};
use super::claim::Starts;
use super::servers::{self, Servers, Settings};

/// What the site's server gives out.
const FIRST: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 100);
const LAST: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 150);

#[test]
fn a_bios_machine_boots_with_an_address_of_the_sites_own_server() -> Result<()> {
    let test = "a_bios_machine_boots_with_an_address_of_the_sites_own_server";
    alone(module_path!(), test, async |lab| {
        boot(lab, test, (Firmware::Bios, Start::Pxe), &[IPXE, Loader::System]).await
    })
}

#[test]
#[ignore = "long: make network-boot"]
fn a_uefi_machine_boots_by_pxe_with_an_address_of_the_sites_own_server() -> Result<()> {
    let test = "a_uefi_machine_boots_by_pxe_with_an_address_of_the_sites_own_server";
    alone(module_path!(), test, async |lab| {
        boot(lab, test, (Firmware::Uefi, Start::Pxe), &[Loader::Pxe, IPXE, Loader::System]).await
    })
}

#[test]
#[ignore = "long: make network-boot"]
fn a_uefi_machine_boots_by_http_with_an_address_of_the_sites_own_server() -> Result<()> {
    let test = "a_uefi_machine_boots_by_http_with_an_address_of_the_sites_own_server";
    alone(module_path!(), test, async |lab| {
        boot(lab, test, (Firmware::Uefi, Start::Http), &[Loader::Http, IPXE, Loader::System]).await
    })
}

async fn boot(lab: Lab, test: &str, (firmware, start): (Firmware, Start), expected: &[Loader]) -> Result<()> {
    let Some(isos) = Isos::shared(test)? else { return Ok(()) };
    let segment = lab.segment("near", Some(servers::ADDRESS)).await?;
    let site = lab.neighbour("site").await?;
    lab.join(&site, &segment, servers::NEIGHBOUR).await?;
    let dhcp = lab.site_dhcp(&site, &segment, FIRST..=LAST).await?;
    let hardware = Hardware { line: lab.line(&segment).await?, ..Hardware::with(firmware) };
    let settings =
        Settings { mode: Mode::Proxy, addressing: None, starts: Some(Starts::Kernel), ports: Ports::Each };
    let servers = Servers::start(&lab, &isos, &segment, &hardware.mac, settings).await?;
    let address = boots(&isos, hardware, start, &servers).await?;
    dhcp.check()?;
    ensure!(loaders(&servers) == expected, "{:?}", servers.known.heard());
    ensure!(servers.known.heard().iter().all(|heard| heard.given.is_none()), "an address was given");
    ensure!((FIRST..=LAST).contains(&address), "not the site's server's: {address}");
    Ok(())
}

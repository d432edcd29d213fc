//! Machines whose addresses we give.

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

const ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 50);

#[test]
fn a_uefi_machine_boots_by_pxe_with_the_address_that_is_reserved_for_it() -> Result<()> {
    let test = "a_uefi_machine_boots_by_pxe_with_the_address_that_is_reserved_for_it";
    alone(module_path!(), test, async |lab| {
        boot(lab, test, Way::of(Firmware::Uefi, Start::Pxe), &[Loader::Pxe, IPXE, Loader::System]).await
    })
}

/// Where something stands between that knows no other port.
#[test]
#[ignore = "long: make network-boot"]
fn a_uefi_machine_boots_by_pxe_from_a_single_port() -> Result<()> {
    let test = "a_uefi_machine_boots_by_pxe_from_a_single_port";
    alone(module_path!(), test, async |lab| {
        let way = Way { ports: Ports::Single, ..Way::of(Firmware::Uefi, Start::Pxe) };
        boot(lab, test, way, &[Loader::Pxe, IPXE, Loader::System]).await
    })
}

#[test]
#[ignore = "long: make network-boot"]
fn a_uefi_machine_boots_by_http_with_the_address_that_is_reserved_for_it() -> Result<()> {
    let test = "a_uefi_machine_boots_by_http_with_the_address_that_is_reserved_for_it";
    alone(module_path!(), test, async |lab| {
        boot(lab, test, Way::of(Firmware::Uefi, Start::Http), &[Loader::Http, IPXE, Loader::System]).await
    })
}

/// Without any iPXE.
#[test]
#[ignore = "long: make network-boot"]
fn a_uefi_machine_boots_a_program_by_http() -> Result<()> {
    let test = "a_uefi_machine_boots_a_program_by_http";
    alone(module_path!(), test, async |lab| {
        let way = Way { starts: Starts::Program, ..Way::of(Firmware::Uefi, Start::Http) };
        boot(lab, test, way, &[Loader::Http, Loader::System]).await
    })
}

/// iPXE is in the card's ROM.
#[test]
#[ignore = "long: make network-boot"]
fn a_bios_machine_boots_with_the_address_that_is_reserved_for_it() -> Result<()> {
    let test = "a_bios_machine_boots_with_the_address_that_is_reserved_for_it";
    alone(module_path!(), test, async |lab| {
        boot(lab, test, Way::of(Firmware::Bios, Start::Pxe), &[IPXE, Loader::System]).await
    })
}

/// As one does that was burnt into a card long ago: it goes on with the one that we have, which is not told to go on with
/// itself again.
#[test]
#[ignore = "long: make network-boot"]
fn a_bios_machine_goes_on_with_another_ipxe() -> Result<()> {
    let test = "a_bios_machine_goes_on_with_another_ipxe";
    alone(module_path!(), test, async |lab| {
        let way = Way { starts: Starts::KernelByAnotherIpxe, ..Way::of(Firmware::Bios, Start::Pxe) };
        boot(lab, test, way, &[IPXE, Loader::System]).await
    })
}

/// One way to boot.
struct Way {
    firmware: Firmware,
    start: Start,
    ports: Ports,
    starts: Starts,
}

impl Way {
    fn of(firmware: Firmware, start: Start) -> Self {
        Self { firmware, start, ports: Ports::Each, starts: Starts::Kernel }
    }
}

async fn boot(lab: Lab, test: &str, way: Way, expected: &[Loader]) -> Result<()> {
    let Some(isos) = Isos::shared(test)? else { return Ok(()) };
    let Way { firmware, start, ports, starts } = way;
    let segment = lab.segment("near", Some(servers::ADDRESS)).await?;
    let hardware = Hardware { line: lab.line(&segment).await?, ..Hardware::with(firmware) };
    let addressing = Some(reserved(ADDRESS, None));
    let settings = Settings { mode: Mode::Reservations, addressing, starts: Some(starts), ports };
    let servers = Servers::start(&lab, &isos, &segment, &hardware.mac, settings).await?;
    let address = boots(&isos, hardware, start, &servers).await?;
    ensure!(loaders(&servers) == expected, "{:?}", servers.known.heard());
    let fetched: &[&str] = match (expected.first(), starts) {
        (Some(Loader::Pxe), _) => &["snponly.efi"],
        (_, Starts::KernelByAnotherIpxe) => &["undionly.kpxe"],
        (_, Starts::Kernel | Starts::Program | Starts::Disk) => &[],
    };
    ensure!(servers.sent.files() == fetched, "by TFTP: {:?}", servers.sent.files());
    ensure!(address == ADDRESS, "another address: {address}");
    Ok(())
}

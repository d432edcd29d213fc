//! Machines that try the network first, and have nothing to boot there: they must start from their disks, whatever their
//! firmware asks.

use std::net::Ipv4Addr;
use std::time::Instant;

use anyhow::{Result, ensure};
use beskar7_boot::dhcp::{Loader, Mode};
use beskar7_boot::tftp::Ports;
use beskar7_e2e::isos::{Firmware, Isos};
use beskar7_e2e::lab::{Lab, alone};
use beskar7_e2e::vm::{Hardware, Start, Vm};

use super::boot::{IPXE, disks, loaders, starts_from_disk};
use super::claim::Starts;
use super::register::reserved;
use super::servers::{self, Servers, Settings};

const ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 50);

/// What a machine that shall not boot from the network meets there.
#[derive(Debug, Clone, Copy)]
enum Meets {
    /// An address, and nothing to boot.
    AnAddress,
    /// An iPXE that is told to go on.
    AScript,
    /// Nobody who knows it.
    Nobody,
}

#[test]
#[ignore = "long: make network-boot"]
fn a_bios_machine_with_nothing_to_boot_starts_from_its_disk() -> Result<()> {
    let test = "a_bios_machine_with_nothing_to_boot_starts_from_its_disk";
    alone(module_path!(), test, async |lab| boot(lab, test, Firmware::Bios, Meets::AnAddress, &[IPXE]).await)
}

/// It asks for more than a minute, by PXE and then by HTTP, before it believes it.
#[test]
#[ignore = "long: make network-boot"]
fn a_uefi_machine_with_nothing_to_boot_starts_from_its_disk() -> Result<()> {
    let test = "a_uefi_machine_with_nothing_to_boot_starts_from_its_disk";
    alone(module_path!(), test, async |lab| {
        boot(lab, test, Firmware::Uefi, Meets::AnAddress, &[Loader::Pxe, Loader::Http]).await
    })
}

#[test]
#[ignore = "long: make network-boot"]
fn a_bios_machine_whose_script_says_so_starts_from_its_disk() -> Result<()> {
    let test = "a_bios_machine_whose_script_says_so_starts_from_its_disk";
    alone(module_path!(), test, async |lab| boot(lab, test, Firmware::Bios, Meets::AScript, &[IPXE]).await)
}

#[test]
#[ignore = "long: make network-boot"]
fn a_uefi_machine_whose_script_says_so_starts_from_its_disk() -> Result<()> {
    let test = "a_uefi_machine_whose_script_says_so_starts_from_its_disk";
    alone(module_path!(), test, async |lab| {
        // The card is in the list of what to boot twice.
        boot(lab, test, Firmware::Uefi, Meets::AScript, &[Loader::Pxe, IPXE, Loader::Http, IPXE]).await
    })
}

#[test]
#[ignore = "long: make network-boot"]
fn a_machine_that_nobody_knows_starts_from_its_disk() -> Result<()> {
    let test = "a_machine_that_nobody_knows_starts_from_its_disk";
    alone(module_path!(), test, async |lab| boot(lab, test, Firmware::Bios, Meets::Nobody, &[]).await)
}

async fn boot(lab: Lab, test: &str, firmware: Firmware, meets: Meets, expected: &[Loader]) -> Result<()> {
    let Some(isos) = Isos::shared(test)? else { return Ok(()) };
    let segment = lab.segment("near", Some(servers::ADDRESS)).await?;
    let line = lab.line(&segment).await?;
    let hardware = Hardware { line, disks: disks(&isos).await?, ..Hardware::with(firmware) };
    let (mac, starts) = match meets {
        Meets::AnAddress => (hardware.mac.as_str(), None),
        Meets::AScript => (hardware.mac.as_str(), Some(Starts::Disk)),
        Meets::Nobody => ("52:54:00:b7:ff:ff", Some(Starts::Kernel)),
    };
    let settings = Settings {
        mode: Mode::Reservations,
        addressing: Some(reserved(ADDRESS, None)),
        starts,
        ports: Ports::Each,
    };
    let servers = Servers::start(&lab, &isos, &segment, mac, settings).await?;
    let begin = Instant::now();
    let vm = Vm::new(isos.installed(), hardware)?;
    vm.power_on(Start::Pxe).await?;
    starts_from_disk(&vm.console().await).await?;
    eprintln!("{firmware} meets {meets:?}: {:.1} s", begin.elapsed().as_secs_f64());
    ensure!(loaders(&servers) == expected, "{:?}", servers.known.heard());
    vm.power_off().await
}

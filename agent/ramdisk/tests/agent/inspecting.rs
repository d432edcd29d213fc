//! What the agent says of the machine that it runs on.

use std::time::Instant;

use beskar7_agent_protocol::hardware::{BootMode, Inventory};
use beskar7_agent_protocol::order::Task;
use beskar7_agent_protocol::report::Outcome;

use crate::content::MIB;
use crate::site::{Site, Way};
use crate::support::disk::Bus;
use crate::support::machine::{MAC, UUID};

/// Starts a machine with two disks, and asks for its inventory.
fn inspect(test: &str, way: Way) -> Option<Inventory> {
    let site = Site::new(test)?;
    let disks = [site.disk("first-disk", 64, Bus::Virtio), site.disk("second-disk", 96, Bus::Nvme)];
    let order = site.server.give(Task::Inspect);
    let began = Instant::now();
    let mut machine = site.boot(way, &disks);
    let outcome = site.done(&mut machine, &order);
    eprintln!("{test}: {} s to the inventory", began.elapsed().as_secs());
    site.turn_off(&mut machine);
    let Outcome::Inspected(inventory) = outcome else { panic!("something else was done: {outcome:?}") };
    Some(*inventory)
}

fn check(inventory: &Inventory, mode: BootMode) {
    let mut disks: Vec<_> = inventory
        .disks
        .iter()
        .map(|disk| (disk.path.as_str(), disk.serial_number.as_deref(), disk.size_bytes))
        .collect();
    disks.sort_unstable();
    let expected =
        [("/dev/nvme0n1", Some("second-disk"), 96 * MIB), ("/dev/vda", Some("first-disk"), 64 * MIB)];
    assert_eq!(disks, expected);
    let nics: Vec<_> = inventory
        .nics
        .iter()
        .map(|nic| (nic.mac_address.as_str(), nic.link_up, nic.driver.as_deref()))
        .collect();
    assert_eq!(nics, [(MAC, true, Some("virtio_net"))]);
    assert_eq!(inventory.system.uuid.as_deref(), Some(UUID));
    assert_eq!(inventory.boot_mode, mode);
    assert_eq!(inventory.memory_bytes, 1024 * MIB);
    let cpu = &inventory.cpu;
    assert_eq!((cpu.architecture.as_str(), cpu.sockets, cpu.cores, cpu.threads), ("x86_64", 1, 1, 1));
    assert!(inventory.pci.len() > 3, "{:?}", inventory.pci);
}

#[test]
#[ignore = "a machine in QEMU: make agent-vms"]
fn a_machine_that_uefi_started_from_the_iso_says_what_it_is_made_of() {
    let test = "a_machine_that_uefi_started_from_the_iso_says_what_it_is_made_of";
    if let Some(inventory) = inspect(test, Way::Iso) {
        check(&inventory, BootMode::Uefi);
    }
}

#[test]
#[ignore = "a machine in QEMU: make agent-vms"]
fn a_machine_that_a_bios_started_says_what_it_is_made_of() {
    let test = "a_machine_that_a_bios_started_says_what_it_is_made_of";
    if let Some(inventory) = inspect(test, Way::Kernel) {
        check(&inventory, BootMode::Bios);
    }
}

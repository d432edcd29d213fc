//! Disks that were full, and what the agent leaves of that.

use std::collections::BTreeMap;
use std::time::Instant;

use beskar7_agent_protocol::order::{Clean, Task, Thoroughness};
use beskar7_agent_protocol::report::{Outcome, Wiping};

use crate::content::{self, MIB};
use crate::site::{Site, Way};
use crate::support::disk::{Bus, Disk};

const SIZE: u64 = 96;
/// The PCI number of the controller for SATA that QEMU's machines have.
const BOARDS_OWN: &str = "2922";

/// How each disk was wiped, by its serial number.
type Methods = BTreeMap<String, Wiping>;

/// Wipes three disks that are full.
fn clean(test: &str, how: Thoroughness) -> Option<(Site, Vec<Disk>, Methods)> {
    let site = Site::new(test)?;
    let disks = vec![
        site.disk("keeps-blocks", SIZE, Bus::Virtio),
        Disk { discards: true, ..site.disk("discards", SIZE, Bus::Virtio) },
        Disk { discards: true, ..site.disk("nvme", SIZE, Bus::Nvme) },
    ];
    disks.iter().for_each(|disk| content::fill(&disk.path, SIZE));
    let order = site.server.give(Task::Clean(Clean { how }));
    let began = Instant::now();
    let mut machine = site.boot(Way::Kernel, &disks);
    let Outcome::Cleaned(cleaned) = site.done(&mut machine, &order) else {
        panic!("something else was done")
    };
    site.turn_off(&mut machine);
    let methods: Methods =
        cleaned.disks.into_iter().filter_map(|disk| Some((disk.serial_number?, disk.method))).collect();
    eprintln!("{test}: {} s, {methods:?}", began.elapsed().as_secs());
    let serials: Vec<&str> = methods.keys().map(String::as_str).collect();
    assert_eq!(serials, ["discards", "keeps-blocks", "nvme"]);
    // The board's own controller has no disks here, and no driver in a kernel for clouds: that is said. All others have one.
    let undriven: Vec<&str> = cleaned.undriven.iter().map(|controller| controller.device.as_str()).collect();
    assert!(undriven.is_empty() || undriven == [BOARDS_OWN], "{:?}", cleaned.undriven);
    Some((site, disks, methods))
}

#[test]
#[ignore = "a machine in QEMU: make agent-vms"]
fn both_ends_of_every_disk_are_wiped() {
    let Some((_site, disks, _methods)) = clean("both_ends_of_every_disk_are_wiped", Thoroughness::Metadata)
    else {
        return;
    };
    for disk in &disks {
        let serial = &disk.serial;
        assert!(content::is_zero(&disk.path, 0, MIB), "{serial}: its beginning");
        assert!(content::is_zero(&disk.path, (SIZE - 1) * MIB, MIB), "{serial}: its end");
        let middle = SIZE / 2;
        assert!(
            content::part(&disk.path, middle * MIB, MIB) == content::block(middle),
            "{serial}: its middle was written, too"
        );
    }
}

#[test]
#[ignore = "a machine in QEMU: make agent-vms"]
fn every_block_of_every_disk_is_wiped() {
    let Some((_site, disks, methods)) = clean("every_block_of_every_disk_is_wiped", Thoroughness::Full)
    else {
        return;
    };
    // QEMU's erases itself by its format; with the zeros below it may as well have been written over.
    assert_eq!(methods.get("nvme"), Some(&Wiping::Nvme), "{methods:?}");
    for disk in &disks {
        assert!(content::is_zero(&disk.path, 0, SIZE * MIB), "{}", disk.serial);
    }
}

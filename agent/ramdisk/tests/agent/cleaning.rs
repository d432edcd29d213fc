//! Disks that were full, and what the agent leaves of that.

use std::time::Instant;

use beskar7_agent_protocol::order::{Clean, Task, Thoroughness};
use beskar7_agent_protocol::report::{CleanedDisk, Outcome};

use crate::content::{self, MIB};
use crate::site::{Site, Way};
use crate::support::disk::{Bus, Disk};

const SIZE: u64 = 96;

/// Wipes three disks that are full.
fn clean(test: &str, how: Thoroughness) -> Option<(Site, Vec<Disk>)> {
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
    eprintln!("{test}: {} s, {:?}", began.elapsed().as_secs(), methods(&cleaned));
    let mut serials: Vec<_> = cleaned.iter().filter_map(|disk| disk.serial_number.as_deref()).collect();
    serials.sort_unstable();
    assert_eq!(serials, ["discards", "keeps-blocks", "nvme"]);
    Some((site, disks))
}

fn methods(cleaned: &[CleanedDisk]) -> Vec<String> {
    cleaned.iter().map(|disk| format!("{} {:?}", disk.disk, disk.method)).collect()
}

#[test]
#[ignore = "a machine in QEMU: make agent-vms"]
fn both_ends_of_every_disk_are_wiped() {
    let Some((_site, disks)) = clean("both_ends_of_every_disk_are_wiped", Thoroughness::Metadata) else {
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
    let Some((_site, disks)) = clean("every_block_of_every_disk_is_wiped", Thoroughness::Full) else {
        return;
    };
    for disk in &disks {
        assert!(content::is_zero(&disk.path, 0, SIZE * MIB), "{}", disk.serial);
    }
}

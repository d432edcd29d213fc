//! What comes between: a server that is gone, a power cut, somebody who thinks better of it.

use std::time::{Duration, Instant};

use beskar7_agent_protocol::order::{ImageFormat, Task};
use beskar7_agent_protocol::report::State;

use crate::boot_server::{Known, Mishap};
use crate::content::{self, MIB};
use crate::site::{LIMIT, Site, Way};
use crate::support::disk::Bus;
use crate::system::{self, PARTITION};

#[test]
#[ignore = "a machine in QEMU: make agent-vms"]
fn a_server_that_breaks_off_and_is_gone_for_a_while_is_asked_for_the_rest() {
    let test = "a_server_that_breaks_off_and_is_gone_for_a_while_is_asked_for_the_rest";
    let Some(site) = Site::new(test) else { return };
    let image = site.at("image.raw");
    content::fill(&image, 96);
    let disk = site.disk("disk", 128, Bus::Virtio);
    let order = site.installation(&image, ImageFormat::Raw);
    let mishaps = [
        (3 * MIB, Mishap::BreaksOff),
        (20 * MIB, Mishap::BreaksOff),
        (50 * MIB, Mishap::Vanishes(Duration::from_secs(20))),
        (90 * MIB, Mishap::BreaksOff),
    ];
    site.server.serve_badly("image", &image, &mishaps);
    let order = site.server.give(Task::Install(Box::new(order)));
    let began = Instant::now();
    let mut machine = site.boot(Way::Kernel, std::slice::from_ref(&disk));
    let installed = site.installed(&mut machine, &order);
    site.turn_off(&mut machine);
    eprintln!("{test}: {} s", began.elapsed().as_secs());
    assert!(installed.verified);
    assert!(content::is_same(&disk.path, &image, 0, 96 * MIB));
    let asked = site.server.shared.lock().asked.clone();
    let places: Vec<u64> = asked.iter().map(|(_, from)| *from / MIB).collect();
    assert_eq!(places, [0, 3, 20, 50, 90], "it goes on where it was");
}

/// Whether it was reported that something is on the disk.
fn is_writing(known: &Known) -> Option<()> {
    let is_writing = known.reports.iter().any(|report| match &report.state {
        State::Running(progress) => progress.step == "writing" && progress.done.is_some_and(|done| done > 0),
        State::Done(_) | State::Failed(_) => false,
    });
    (known.is_held && is_writing).then_some(())
}

#[test]
#[ignore = "two starts of a machine in QEMU: make agent-vms"]
fn a_power_cut_leaves_nothing_that_looks_installed_and_the_next_start_installs_all_of_it() {
    let test = "a_power_cut_leaves_nothing_that_looks_installed_and_the_next_start_installs_all_of_it";
    let Some(site) = Site::new(test) else { return };
    let Some(system) = system::make(&site, test) else { return };
    let disk = site.disk("disk", 256, Bus::Virtio);
    // What an earlier system left.
    std::fs::copy(&system.image, &disk.path).unwrap();
    std::fs::File::options().write(true).open(&disk.path).unwrap().set_len(256 * MIB).unwrap();
    let order = site.installation(&system.image, ImageFormat::Raw);
    let middle = system.partition / 2;
    site.server.serve_badly("image", &system.image, &[(middle, Mishap::Holds)]);
    let order = site.server.give(Task::Install(Box::new(order)));
    let hardware = site.hardware(Way::Kernel, std::slice::from_ref(&disk));
    let machine = site.start(&hardware);
    site.server.shared.wait(LIMIT, is_writing).unwrap();
    drop(machine);
    assert!(!content::has_table(&disk.path));
    site.server.go_on();
    let mut machine = site.start(&hardware);
    let installed = site.installed(&mut machine, &order);
    site.turn_off(&mut machine);
    assert!(installed.verified && content::has_table(&disk.path));
    assert!(content::is_same(&disk.path, &system.image, PARTITION, system.partition));
    let asked = site.server.shared.lock().asked.clone();
    assert!(asked.iter().all(|(_, from)| *from == 0), "nothing is kept over a power cut: {asked:?}");
}

#[test]
#[ignore = "a machine in QEMU: make agent-vms"]
fn what_nobody_wants_any_more_is_left_and_the_next_order_is_carried_out() {
    let test = "what_nobody_wants_any_more_is_left_and_the_next_order_is_carried_out";
    let Some(site) = Site::new(test) else { return };
    let Some(system) = system::make(&site, test) else { return };
    let large = site.at("large.raw");
    std::fs::copy(&system.image, &large).unwrap();
    // So much is left that it takes longer than telling that nobody wants it.
    std::fs::File::options().write(true).open(&large).unwrap().set_len(900 * MIB).unwrap();
    let disk = site.disk("disk", 1000, Bus::Virtio);
    let order = site.installation(&large, ImageFormat::Raw);
    site.server.serve_badly("image", &large, &[(12 * MIB, Mishap::Holds)]);
    let order = site.server.give(Task::Install(Box::new(order)));
    let next = site.server.give(Task::Inspect);
    let mut machine = site.boot(Way::Kernel, std::slice::from_ref(&disk));
    site.server.shared.wait(LIMIT, is_writing).unwrap();
    let before = site.server.shared.lock().reports.len();
    site.server.forget(&order);
    site.server.shared.wait(LIMIT, |known| (known.reports.len() > before).then_some(())).unwrap();
    site.server.go_on();
    let failure = site.failure(&mut machine, &order);
    assert!(failure.message.contains("nobody wants this done any more"), "{}", failure.message);
    site.done(&mut machine, &next);
    site.turn_off(&mut machine);
    assert!(!content::has_table(&disk.path));
}

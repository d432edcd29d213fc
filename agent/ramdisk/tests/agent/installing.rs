//! Images that are installed, and then run.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use beskar7_agent_protocol::order::{DiskHints, ImageFormat, Install, Task};

use crate::content::{self, MIB};
use crate::site::{LIMIT, Site, Way};
use crate::support::disk::Bus;
use crate::support::installed::program;
use crate::support::machine::Hardware;
use crate::system::{self, PARTITION};

const DISK: u64 = 256;

/// Installs the system on the second of two disks, and lets the machine start anew: its firmware starts what was installed
/// by the entry that the agent wrote, although the agent's CD is still there, and what runs finds its configuration.
fn install_and_run(test: &str, bus: Bus, format: ImageFormat, pack: impl Fn(&Path) -> Option<PathBuf>) {
    let Some(site) = Site::new(test) else { return };
    let Some(system) = system::make(&site, test) else { return };
    let Some(image) = pack(&system.image) else { return };
    let disks = [site.disk("other-disk", DISK, Bus::Virtio), site.disk("chosen-disk", DISK, bus)];
    content::fill(&disks[0].path, DISK);
    let word = format!("the word of {test}");
    let order = Install {
        disk: DiskHints { serial_number: Some("chosen-disk".to_owned()), ..DiskHints::default() },
        configuration: Some(system::configuration(&site, &word)),
        ..site.installation(&image, format)
    };
    let order = site.server.give(Task::Install(Box::new(order)));
    site.server.give(Task::Reboot);
    let began = Instant::now();
    let mut machine = site.start(&Hardware { restarts: true, ..site.hardware(Way::Iso, &disks) });
    let installed = site.installed(&mut machine, &order);
    let seconds = began.elapsed().as_secs();
    assert_eq!(installed.serial_number.as_deref(), Some("chosen-disk"));
    assert!(installed.verified);
    assert!(installed.boot_entry.is_some_and(|entry| entry.starts_with("Boot")), "no boot entry");
    let said = machine.until(&format!(": {word}"), LIMIT).unwrap();
    assert!(said.contains("b7: the installed system found"), "{said}");
    machine.until_off(LIMIT).unwrap();
    eprintln!("{test}: {seconds} s until it was installed, {} s until it ran", began.elapsed().as_secs());
    for number in 0..DISK {
        let (at, here) = (number * MIB, content::block(number));
        assert!(content::part(&disks[0].path, at, MIB) == here, "the other disk was written to");
    }
    assert!(content::is_same(&disks[1].path, &system.image, PARTITION, system.partition));
}

#[test]
#[ignore = "a machine in QEMU: make agent-vms"]
fn a_raw_image_is_installed_on_the_disk_that_is_meant_and_runs() {
    let test = "a_raw_image_is_installed_on_the_disk_that_is_meant_and_runs";
    install_and_run(test, Bus::Virtio, ImageFormat::Raw, |image| Some(image.to_owned()));
}

#[test]
#[ignore = "a machine in QEMU: make agent-vms"]
fn a_qcow2_is_installed_and_runs() {
    let test = "a_qcow2_is_installed_and_runs";
    let Some(qemu_img) = program("qemu-img") else {
        beskar7_skipped::skipped(test, "no qemu-img: apt-get install qemu-utils");
        return;
    };
    install_and_run(test, Bus::Virtio, ImageFormat::Qcow2, |image| {
        let packed = image.with_extension("qcow2");
        let mut command = Command::new(&qemu_img);
        command.args(["convert", "-c", "-O", "qcow2"]).arg(image).arg(&packed);
        assert!(command.status().unwrap().success());
        Some(packed)
    });
}

#[test]
#[ignore = "a machine in QEMU: make agent-vms"]
fn a_packed_image_is_installed_on_nvme_and_runs() {
    let test = "a_packed_image_is_installed_on_nvme_and_runs";
    install_and_run(test, Bus::Nvme, ImageFormat::Auto, |image| {
        let packed = image.with_extension("raw.zst");
        let to = File::create(&packed).unwrap();
        zstd::stream::copy_encode(File::open(image).unwrap(), to, 3).unwrap();
        Some(packed)
    });
}

#[test]
#[ignore = "a machine in QEMU: make agent-vms"]
fn a_machine_that_a_bios_started_gets_its_image_and_no_boot_entry() {
    let test = "a_machine_that_a_bios_started_gets_its_image_and_no_boot_entry";
    let Some(site) = Site::new(test) else { return };
    let Some(system) = system::make(&site, test) else { return };
    let disk = site.disk("disk", DISK, Bus::Virtio);
    let order = site.installation(&system.image, ImageFormat::Auto);
    let order = site.server.give(Task::Install(Box::new(order)));
    let mut machine = site.boot(Way::Kernel, std::slice::from_ref(&disk));
    let installed = site.installed(&mut machine, &order);
    site.turn_off(&mut machine);
    assert_eq!((installed.boot_entry, installed.verified), (None, true));
    assert!(content::is_same(&disk.path, &system.image, PARTITION, system.partition));
    assert!(site.server.shared.lock().log().contains("no boot entry: the machine was not started by UEFI"));
}

/// What the agent used at most, as it says itself, in MB.
fn used(log: &str) -> Option<u64> {
    let words: Vec<&str> = log.split_whitespace().collect();
    let used = words.windows(4).rfind(|words| words[..3] == ["used", "at", "most"])?;
    used[3].parse().ok()
}

/// The whole machine has less memory than the image has bytes, and the agent needs little of that.
#[test]
#[ignore = "a machine in QEMU, and a gigabyte: make agent-vms"]
fn an_image_that_is_larger_than_memory_is_installed_with_little_of_it() {
    let test = "an_image_that_is_larger_than_memory_is_installed_with_little_of_it";
    let Some(site) = Site::new(test) else { return };
    let image = site.at("large.raw");
    content::fill(&image, 384);
    File::options().write(true).open(&image).unwrap().set_len(1024 * MIB).unwrap();
    let disk = site.disk("disk", 1100, Bus::Virtio);
    let order = site.installation(&image, ImageFormat::Raw);
    let order = site.server.give(Task::Install(Box::new(order)));
    let began = Instant::now();
    let mut machine =
        site.start(&Hardware { memory: 256, ..site.hardware(Way::Kernel, std::slice::from_ref(&disk)) });
    let installed = site.installed(&mut machine, &order);
    site.turn_off(&mut machine);
    assert_eq!(installed.written, 1024 * MIB);
    assert!(content::is_same(&disk.path, &image, 0, 1024 * MIB));
    let log = site.server.shared.lock().log();
    let used = used(&log).unwrap_or_else(|| panic!("it does not say what it used: {log}"));
    eprintln!("{test}: {} s, {used} MB of memory", began.elapsed().as_secs());
    assert!(used < 64, "{used} MB");
    fs::remove_file(&image).unwrap();
}

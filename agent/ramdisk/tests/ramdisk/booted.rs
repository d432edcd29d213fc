//! Whether what is made starts: a real kernel, real firmware, QEMU.

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use beskar7_boot::overlay::Image;
use beskar7_boot::source::{Source as _, read};
use beskar7_ramdisk::iso::{self, Medium};
use bytes::Bytes;

use crate::support::disk::{Bus, Disk};
use crate::support::installed::Installed;
use crate::support::machine::{Hardware, Machine, Network, Start};
use crate::support::program;
use crate::workshop;

/// Emulated, on a machine with other work to do.
const LIMIT: Duration = Duration::from_secs(300);
const WORD: &str = "b7: the agent runs";
/// An emulated timer on a busy machine does not pass the kernel's check.
const OPTIONS: &str = "console=ttyS0 no_timer_check panic=-1";

/// Makes a ramdisk around a program that says a word.
fn made(installed: &Installed, folder: &Path) -> PathBuf {
    let (agent, out) = (folder.join("agent"), folder.join("out"));
    fs::write(&agent, program::saying(WORD)).unwrap();
    let Installed { kernel, modules, loader, .. } = installed;
    let output = workshop::run(&agent, kernel, modules, loader, &out, &["--options", OPTIONS]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    out
}

/// Starts a machine, and waits until it was turned off by the agent.
fn boot(test: &str, installed: &Installed, hardware: &Hardware, folder: &Path) -> String {
    let began = Instant::now();
    let mut machine = Machine::start(installed, hardware, folder).unwrap();
    machine.until(WORD, LIMIT).unwrap();
    let seconds = began.elapsed().as_secs();
    let said = machine.until_off(LIMIT).unwrap();
    eprintln!("{test}: {seconds} s to the agent");
    said
}

#[test]
#[ignore = "boots a machine in QEMU: some ten seconds"]
fn a_kernel_starts_the_agent_from_the_initramfs() {
    let test = "a_kernel_starts_the_agent_from_the_initramfs";
    let Some(installed) = Installed::find(test) else { return };
    let folder = tempfile::tempdir().unwrap();
    let out = made(&installed, folder.path());
    let start = Start::Kernel {
        kernel: out.join("kernel"),
        initramfs: out.join("initramfs"),
        options: OPTIONS.to_owned(),
    };
    let buses = [Bus::Virtio, Bus::Nvme, Bus::Sata, Bus::Scsi].into_iter().enumerate();
    let disks = buses.map(|(number, bus)| {
        let at = folder.path().join(format!("disk-{number}"));
        Disk::empty(&at, 64 << 20, bus, &format!("serial-{number}")).unwrap()
    });
    let hardware = Hardware { disks: disks.collect(), network: Network::User, ..Hardware::new(start) };
    boot(test, &installed, &hardware, folder.path());
}

#[tokio::test]
#[ignore = "boots a machine in QEMU: some ten seconds"]
async fn firmware_starts_the_agent_from_the_iso_with_a_machine_s_parameters() {
    let test = "firmware_starts_the_agent_from_the_iso_with_a_machine_s_parameters";
    let Some(installed) = Installed::find(test) else { return };
    let folder = tempfile::tempdir().unwrap();
    let iso = made(&installed, folder.path()).join("agent.iso");
    let original = Bytes::from(fs::read(&iso).unwrap());
    let parameter = "beskar7.url=http://192.0.2.1/c/x/";
    let overlay = Image::inspect(&original).await.unwrap().with_arguments(&[parameter.to_owned()]).unwrap();
    let overlaid = Arc::new(overlay).over(Arc::new(original));
    fs::write(&iso, read(&overlaid, 0..overlaid.length()).await.unwrap()).unwrap();
    let said = boot(test, &installed, &Hardware::new(Start::Cd(iso)), folder.path());
    assert!(said.contains(&format!("{OPTIONS} {parameter}")), "{said}");
}

/// El Torito counts a partition's blocks in 16 bits, which end at 32 MiB.
#[test]
#[ignore = "boots a machine in QEMU: some ten seconds"]
fn firmware_starts_an_iso_that_is_larger_than_el_torito_can_say() {
    let test = "firmware_starts_an_iso_that_is_larger_than_el_torito_can_say";
    let Some(installed) = Installed::find(test) else { return };
    let folder = tempfile::tempdir().unwrap();
    let out = made(&installed, folder.path());
    let (kernel, initramfs, to) = (out.join("kernel"), out.join("initramfs"), out.join("large.iso"));
    // Zeros behind an initramfs are passed over.
    let length = fs::metadata(&initramfs).unwrap().len() + (40 << 20);
    OpenOptions::new().write(true).open(&initramfs).unwrap().set_len(length).unwrap();
    let medium =
        Medium { loader: &installed.loader, kernel: &kernel, initramfs: &initramfs, options: OPTIONS };
    iso::write(&medium, &to).unwrap();
    boot(test, &installed, &Hardware::new(Start::Cd(to)), folder.path());
}

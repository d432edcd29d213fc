//! What is made, looked at by others' tools where these are installed.

use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::installed::program;
use crate::workshop::{RELEASE, Workshop};

fn unpacked(path: &Path) -> Vec<u8> {
    let mut archive = Vec::new();
    flate2::read::GzDecoder::new(fs::File::open(path).unwrap()).read_to_end(&mut archive).unwrap();
    archive
}

#[test]
fn the_same_inputs_give_the_same_bytes() {
    let workshop = Workshop::new();
    let read =
        || ["kernel", "initramfs", "agent.iso"].map(|name| fs::read(workshop.at("out").join(name)).unwrap());
    workshop.make(&[]);
    let first = read();
    fs::remove_dir_all(workshop.at("out")).unwrap();
    // Other times, the same contents.
    let agent = fs::read(workshop.at("agent")).unwrap();
    fs::write(workshop.at("agent"), agent).unwrap();
    workshop.make(&[]);
    assert!(first == read());
    assert!(first[0] == fs::read(workshop.at("kernel")).unwrap());
}

#[test]
fn the_table_names_every_size() {
    let workshop = Workshop::new();
    let table = workshop.make(&[]);
    for word in
        ["kernel 6.1.0-b7", "agent  ", "modules (3), unpacked", "kernel  ", "initramfs  ", "agent.iso  "]
    {
        assert!(table.contains(word), "{word} is not in\n{table}");
    }
    assert!(table.contains("not checked: what the kernel was built with"), "{table}");
}

#[test]
fn cpio_lists_the_agent_the_nodes_and_the_modules() {
    let Some(cpio) = program("cpio") else {
        beskar7_skipped::skipped(
            "cpio_lists_the_agent_the_nodes_and_the_modules",
            "no cpio: apt-get install cpio",
        );
        return;
    };
    let workshop = Workshop::new();
    fs::write(workshop.at("ca.pem"), "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n")
        .unwrap();
    workshop.make(&["--ca", workshop.at("ca.pem").to_str().unwrap(), "--add-module", "snd"]);
    let archive = workshop.at("archive");
    fs::write(&archive, unpacked(&workshop.at("out/initramfs"))).unwrap();
    let list = Command::new(cpio)
        .args(["-t", "-v", "-n", "--quiet"])
        .stdin(Stdio::from(fs::File::open(&archive).unwrap()))
        .env("LC_ALL", "C")
        .output()
        .unwrap();
    let list = String::from_utf8(list.stdout).unwrap();
    let entries: Vec<Vec<&str>> = list.lines().map(|line| line.split_whitespace().collect()).collect();
    let mode = |path: &str| entries.iter().find(|entry| entry.last() == Some(&path)).map(|entry| entry[0]);
    for (path, expected) in [
        ("init", "-rwxr-xr-x"),
        ("dev/console", "crw-------"),
        ("dev/kmsg", "crw-------"),
        ("dev/null", "crw-------"),
        ("proc", "drwxr-xr-x"),
        ("etc/beskar7/ca.pem", "-rw-r--r--"),
        (&format!("lib/modules/{RELEASE}/modules.dep"), "-rw-r--r--"),
        (&format!("lib/modules/{RELEASE}/kernel/net/core/failover.ko"), "-rw-r--r--"),
        (&format!("lib/modules/{RELEASE}/kernel/sound/snd.ko"), "-rw-r--r--"),
    ] {
        assert_eq!(mode(path), Some(expected), "{path} in\n{list}");
    }
    let console = entries.iter().find(|entry| entry.last() == Some(&"dev/console")).unwrap();
    assert_eq!((console[4], console[5]), ("5,", "1"), "{console:?}");
    assert!(entries.iter().all(|entry| entry[2] == "0" && entry[3] == "0"), "root owns all\n{list}");
}

#[test]
fn xorriso_and_mtools_find_every_file_of_the_iso() {
    let (Some(xorriso), Some(mcopy)) = (program("xorriso"), program("mcopy")) else {
        beskar7_skipped::skipped(
            "xorriso_and_mtools_find_every_file_of_the_iso",
            "no xorriso or mcopy: apt-get install xorriso mtools",
        );
        return;
    };
    let workshop = Workshop::new();
    workshop.make(&["--options", "console=ttyS0 quiet"]);
    let iso = workshop.at("out/agent.iso");
    let report =
        Command::new(&xorriso).arg("-indev").arg(&iso).args(["-report_el_torito", "plain"]).output().unwrap();
    let report = String::from_utf8(report.stdout).unwrap();
    assert!(report.contains("UEFI  y   none"), "{report}");
    assert!(report.contains("/efiboot.img"), "{report}");
    let fat = workshop.at("efiboot.img");
    let extract = Command::new(&xorriso)
        .args(["-osirrox", "on", "-indev"])
        .arg(&iso)
        .args(["-extract", "/efiboot.img"])
        .arg(&fat)
        .output()
        .unwrap();
    assert!(extract.status.success(), "{}", String::from_utf8_lossy(&extract.stderr));
    let read = |path: &str| {
        let copied =
            Command::new(&mcopy).arg("-n").arg("-i").arg(&fat).arg(format!("::/{path}")).arg("-").output();
        copied.unwrap().stdout
    };
    for (path, from) in
        [("EFI/BOOT/BOOTX64.EFI", "loader.efi"), ("kernel", "kernel"), ("initramfs", "out/initramfs")]
    {
        assert!(read(path) == fs::read(workshop.at(from)).unwrap(), "{path}");
    }
    assert_eq!(
        String::from_utf8(read("loader/entries/agent.conf")).unwrap(),
        "title Beskar7 agent\nlinux /kernel\ninitrd /initramfs\noptions console=ttyS0 quiet\n"
    );
    assert!(read("loader/loader.conf").starts_with(b"timeout 0\n"));
}

#[test]
fn what_can_not_be_made_is_said_and_nothing_is_left_with_a_name() {
    let workshop = Workshop::new();
    let large = program_of(21_000_000);
    fs::write(workshop.at("large"), large).unwrap();
    let other = workshop.at("modules").join(RELEASE).join("kernel/drivers/net/virtio_net.ko");
    let at = |name: &str| workshop.at(name).to_str().unwrap().to_owned();
    let said = |more: &[&str]| {
        let output = workshop.run(more);
        assert!(!output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    for (more, why) in [
        (vec!["--ca", &at("agent")], "no certificate"),
        (vec!["--add-module", "absent"], "no module \"absent\""),
        (vec!["--modules-list", "/absent"], "reading /absent"),
        (vec!["--options", "a\nb"], "one line"),
    ] {
        let error = said(&more);
        assert!(error.contains(why), "{error}");
    }
    fs::rename(workshop.at("large"), workshop.at("agent")).unwrap();
    let error = said(&[]);
    assert!(error.contains("too large") && error.contains("20.0 MB are allowed"), "{error}");
    fs::remove_dir_all(workshop.at("out")).unwrap();
    fs::write(&other, "\x7fELF\0vermagic=6.2 SMP \0").unwrap();
    let error = said(&[]);
    assert!(error.contains("is of the kernel 6.2, and the kernel is 6.1.0-b7"), "{error}");
    assert!(!workshop.at("out/initramfs").exists());
}

/// A program that is larger than it has to be.
fn program_of(bytes: usize) -> Vec<u8> {
    let mut program = crate::support::program::saying("x");
    program.resize(bytes, 0);
    program
}

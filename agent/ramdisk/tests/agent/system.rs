//! A system to install: an image of a disk that starts by UEFI, finds its configuration, and says what that holds.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use beskar7_agent_protocol::order::Configuration;
use beskar7_ramdisk::cpio::{Archive, Kind};
use beskar7_volume::plan::Entry;
use beskar7_volume::{fat, iso};
use bytes::Bytes;

use crate::content::MIB;
use crate::site::{OPTIONS, Site};
use crate::support::installed::program;

const INIT: &str = include_str!("init.sh");
/// What is not built into Debian's cloud kernel; what these need comes along.
const MODULES: [&str; 4] = ["virtio_pci", "virtio_blk", "isofs", "cdrom"];
/// Where the image's only partition begins.
pub const PARTITION: u64 = MIB;

/// An image, and how long its partition is.
pub struct System {
    pub image: PathBuf,
    pub partition: u64,
}

/// Makes one. None where a tool is missing: then it has said that `test` is skipped.
pub fn make(site: &Site, test: &str) -> Option<System> {
    let (Some(busybox), Some(sgdisk)) = (program("busybox"), program("sgdisk").or_else(sgdisk_of_root))
    else {
        eprintln!("skipped: {test} (no busybox or sgdisk: apt-get install busybox-static gdisk)");
        return None;
    };
    let files = [
        ("EFI/BOOT/BOOTX64.EFI", fs::read(&site.installed.loader).unwrap()),
        ("kernel", fs::read(&site.installed.kernel).unwrap()),
        ("initramfs", initramfs(&busybox, &site.installed.modules)),
        ("loader/loader.conf", b"timeout 0\ndefault system.conf\n".to_vec()),
        (
            "loader/entries/system.conf",
            format!("title A system\nlinux /kernel\ninitrd /initramfs\noptions {OPTIONS}\n").into_bytes(),
        ),
    ];
    let entries: Vec<Entry<'_>> =
        files.iter().map(|(path, content)| Entry { path, length: content.len() as u64 }).collect();
    let plan = fat::plan(&entries).unwrap();
    let image = site.at("system.raw");
    let mut file = File::create(&image).unwrap();
    let partition = plan.length().next_multiple_of(MIB);
    file.set_len(PARTITION + partition + MIB).unwrap();
    file.seek(SeekFrom::Start(PARTITION)).unwrap();
    let write = |number: usize, file: &mut File| {
        file.write_all(&files[number].1).map(|()| files[number].1.len() as u64)
    };
    plan.write(&mut file, write).unwrap();
    drop(file);
    let sectors = partition / 512;
    let end = PARTITION / 512 + sectors - 1;
    let made = Command::new(sgdisk)
        .arg(format!("--new=1:{}:{end}", PARTITION / 512))
        .arg("--typecode=1:ef00")
        .arg(&image)
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stdout));
    Some(System { image, partition })
}

/// Where Debian has it, which is not in everybody's path.
fn sgdisk_of_root() -> Option<PathBuf> {
    Some(PathBuf::from("/usr/sbin/sgdisk")).filter(|path| path.is_file())
}

/// A configuration with a word, which is served from now on.
pub fn configuration(site: &Site, word: &str) -> Configuration {
    let file = |path, content: &str| iso::File { path, content: Bytes::from(content.to_owned()) };
    let files = [file("meta-data", "instance-id: b7\n"), file("user-data", word)];
    let volume = site.at("cidata.iso");
    fs::write(&volume, iso::iso("cidata", &files).unwrap()).unwrap();
    site.server.serve("cidata.iso", &volume);
    Configuration { path: "cidata.iso".to_owned(), label: "cidata".to_owned() }
}

fn initramfs(busybox: &Path, modules: &Path) -> Vec<u8> {
    let executable = |content| Kind::File { executable: true, content };
    let mut archive = Archive::new(Vec::new());
    for directory in ["bin", "dev", "modules", "proc", "sys"] {
        archive.add(directory, Kind::Directory).unwrap();
    }
    archive.add("init", executable(INIT.as_bytes())).unwrap();
    archive.add("bin/busybox", executable(&fs::read(busybox).unwrap())).unwrap();
    archive.add("bin/sh", Kind::Link("busybox")).unwrap();
    let mut order = String::new();
    for path in in_order(&fs::read_to_string(modules.join("modules.dep")).unwrap()) {
        let name = path.rsplit('/').next().unwrap();
        let content = fs::read(modules.join(&path)).unwrap();
        let module = Kind::File { executable: false, content: &content };
        archive.add(&format!("modules/{name}"), module).unwrap();
        order.push_str(&format!("{name}\n"));
    }
    archive.add("modules/order", Kind::File { executable: false, content: order.as_bytes() }).unwrap();
    archive.end().unwrap()
}

/// The modules, each behind those that it needs.
fn in_order(dependencies: &str) -> Vec<String> {
    let lines = dependencies.lines().filter_map(|line| line.split_once(':'));
    let needs: BTreeMap<&str, &str> = lines.collect();
    let mut ordered: Vec<String> = Vec::new();
    for name in MODULES {
        let file = format!("/{name}.ko");
        let Some((module, needed)) = needs.iter().find(|(path, _)| path.ends_with(&file)) else { continue };
        // The list is complete, the innermost last.
        for path in needed.split_whitespace().rev().chain([*module]) {
            if !ordered.iter().any(|known| known == path) {
                ordered.push(path.to_owned());
            }
        }
    }
    ordered
}

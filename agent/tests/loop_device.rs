//! Wiping a block device of the kernel's: what a file can't show.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests may panic")]

use std::{
    fs::{self, File},
    io::Write as _,
    os::unix::fs::FileExt as _,
    path::Path,
    process::Command,
};

use beskar7_agent::{
    cleaning::{clean, device::Devices as _, machine::Machine},
    telling::Telling,
};
use beskar7_agent_device::block;
use beskar7_agent_protocol::{
    hardware::{Disk, DiskKind},
    order::Thoroughness,
    report::{Progress, Wiping},
};

const MIB: u64 = 1024 * 1024;
const SIZE: u64 = 160 * MIB;

struct Nobody;

impl Telling for Nobody {
    fn progress(&self, _: Progress) {}
    fn log(&self, _: &str) {}
    fn is_unwanted(&self) -> bool {
        false
    }
}

fn run(command: &str, arguments: &[&str]) -> String {
    let output = Command::new(command).args(arguments).output().unwrap();
    assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// A loop device over a file full of something, with one partition from 40 to 100 MiB. It is gone with it.
struct Loop {
    path: String,
    file: tempfile::NamedTempFile,
}

impl Loop {
    fn new() -> Self {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let mut first = vec![0xa5; 1 << 20];
        let entry = [0, 0, 0, 0, 0x83, 0, 0, 0];
        first[446..512].fill(0);
        first[446..454].copy_from_slice(&entry);
        first[454..458].copy_from_slice(&(40 * 2048_u32).to_le_bytes());
        first[458..462].copy_from_slice(&(60 * 2048_u32).to_le_bytes());
        first[510..512].copy_from_slice(&[0x55, 0xaa]);
        file.write_all(&first).unwrap();
        for _ in 1..SIZE / MIB {
            file.write_all(&vec![0xa5; 1 << 20]).unwrap();
        }
        file.as_file().sync_all().unwrap();
        let name = file.path().to_str().unwrap();
        let path = run("losetup", &["--find", "--show", "--partscan", name]);
        // Not every kernel reads partition tables itself.
        run("partx", &["--update", &path]);
        Self { path, file }
    }

    fn disk(&self) -> Disk {
        Disk {
            path: self.path.clone(),
            size_bytes: SIZE,
            kind: DiskKind::Ssd,
            sector_bytes: 512,
            ..Disk::default()
        }
    }

    fn has_partition(&self) -> bool {
        let name = self.path.trim_start_matches("/dev/");
        Path::new(&format!("/sys/block/{name}/{name}p1")).exists()
    }

    /// What byte all of this place has.
    fn byte(&self, from: u64, to: u64) -> Option<u8> {
        let mut content = vec![0; usize::try_from((to - from) * MIB).unwrap()];
        File::open(&self.path).unwrap().read_exact_at(&mut content, from * MIB).unwrap();
        let first = content[0];
        content.iter().all(|byte| *byte == first).then_some(first)
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        run("losetup", &["--detach", &self.path]);
    }
}

#[test]
#[ignore = "needs root and loop devices: cargo test -p beskar7-agent --test loop_device -- --ignored"]
fn the_kernel_forgets_the_partitions_of_a_wiped_disk() {
    let device = Loop::new();
    assert!(device.has_partition());
    let cleaned = clean(&[device.disk()], Thoroughness::Metadata, &Machine::new("/"), &Nobody).unwrap();
    assert_eq!(cleaned[0].method, Wiping::Metadata);
    assert!(!device.has_partition());
    for (from, to, byte) in [
        (0, 16, 0),
        (16, 40, 0xa5),
        (40, 56, 0),
        (56, 84, 0xa5),
        (84, 100, 0),
        (100, 144, 0xa5),
        (144, 160, 0),
    ] {
        assert_eq!(device.byte(from, to), Some(byte), "{from}..{to} MiB");
    }
}

#[test]
#[ignore = "needs root and loop devices: cargo test -p beskar7-agent --test loop_device -- --ignored"]
fn a_disk_that_promises_zeros_is_discarded() {
    let device = Loop::new();
    let cleaned = clean(&[device.disk()], Thoroughness::Full, &Machine::new("/"), &Nobody).unwrap();
    assert_eq!(cleaned[0].method, Wiping::Discarded);
    assert_eq!(device.byte(0, SIZE / MIB), Some(0));
    assert!(!device.has_partition());
}

#[test]
#[ignore = "needs root and loop devices: cargo test -p beskar7-agent --test loop_device -- --ignored"]
fn a_disk_in_use_is_left() {
    let device = Loop::new();
    let mounted = tempfile::tempdir().unwrap();
    let partition = format!("{}p1", device.path);
    run("mkfs.ext4", &["-q", "-F", &partition]);
    run("mount", &[&partition, mounted.path().to_str().unwrap()]);
    let outcome = clean(&[device.disk()], Thoroughness::Metadata, &Machine::new("/"), &Nobody);
    run("umount", &[mounted.path().to_str().unwrap()]);
    let problem = outcome.unwrap_err();
    assert_eq!(problem.step, "opening");
    assert!(problem.message.contains("busy"), "{}", problem.message);
    assert!(device.has_partition());
    assert!(fs::read_dir(mounted.path()).unwrap().next().is_none());
}

#[test]
#[ignore = "needs root and loop devices: cargo test -p beskar7-agent --test loop_device -- --ignored"]
fn a_place_is_discarded_and_no_other() {
    let device = Loop::new();
    let file = File::options().read(true).write(true).open(&device.path).unwrap();
    block::discard(&file, 20 * MIB, 4 * MIB).unwrap();
    assert_eq!(
        [(19, 20), (20, 24), (24, 25)].map(|(from, to)| device.byte(from, to)),
        [Some(0xa5), Some(0), Some(0xa5)]
    );
    assert!(block::discard(&file, SIZE, MIB).is_err(), "behind the end");
}

#[test]
#[ignore = "needs root and loop devices: cargo test -p beskar7-agent --test loop_device -- --ignored"]
fn what_is_read_back_comes_from_the_disk_and_not_from_memory() {
    let device = Loop::new();
    let opened = Machine::new("/").open(&device.disk()).unwrap();
    let read = || {
        let mut byte = [0];
        opened.read(0, &mut byte).unwrap();
        byte[0]
    };
    opened.write(0, &[1; 4096]).unwrap();
    opened.settle().unwrap();
    assert_eq!(read(), 1);
    device.file.as_file().write_all_at(&[2; 4096], 0).unwrap();
    assert_eq!(read(), 1, "the kernel remembers, or this shows nothing");
    opened.settle().unwrap();
    assert_eq!(read(), 2);
}

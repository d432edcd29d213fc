use std::{fs, path::Path};

use beskar7_agent_protocol::{
    order::Thoroughness,
    report::{CleanedDisk, Wiping},
};

use super::{Listener, MIB, disk};
use crate::{
    cleaning::{clean, machine::Machine},
    fixture::Tree,
};

fn is_zero(path: &Path, from: u64, to: u64) -> bool {
    let content = fs::read(path).unwrap();
    let (from, to) = (usize::try_from(from).unwrap(), usize::try_from(to).unwrap());
    content[from..to] == vec![0; to - from]
}

/// A file is a disk whose blocks can be discarded, with a partition of 40 MiB in the middle.
fn machine() -> Tree {
    let tree = Tree::new();
    tree.file("dev/sda", vec![0x5a; 128 << 20]);
    for (name, value) in [("partition", "1"), ("start", "81920"), ("size", "81920")] {
        tree.file(&format!("sys/block/sda/sda1/{name}"), value);
    }
    tree.file("sys/block/sda/queue/rotational", "0");
    tree
}

#[test]
fn a_file_is_wiped_like_a_disk() {
    for (how, method) in [(Thoroughness::Metadata, Wiping::Metadata), (Thoroughness::Full, Wiping::Discarded)]
    {
        let tree = machine();
        let mut sda = disk("/dev/sda", 128 * MIB);
        sda.serial_number = Some("S1".into());
        let cleaned = clean(&[sda], how, &Machine::new(tree.root()), &Listener::default()).unwrap();
        let expected = CleanedDisk { disk: "/dev/sda".into(), serial_number: Some("S1".into()), method };
        assert_eq!(cleaned, [expected]);
        let file = tree.path("dev/sda");
        assert_eq!(file.metadata().unwrap().len(), 128 * MIB);
        for (from, to) in [(0, 16), (40, 56), (64, 80), (112, 128)] {
            assert!(is_zero(&file, from * MIB, to * MIB), "{from}..{to}");
        }
        assert_eq!(is_zero(&file, 20 * MIB, 40 * MIB), how == Thoroughness::Full);
    }
}

#[test]
fn a_disk_that_is_not_the_one_that_was_listed_is_left() {
    let tree = machine();
    tree.file("dev/sdb/x", "");
    let machine = Machine::new(tree.root());
    for (disk, words) in [
        (disk("/dev/sda", 129 * MIB), "it has 134217728 bytes, but had 135266304 when it was listed"),
        (disk("/dev/sda", 127 * MIB), "it has 134217728 bytes, but had 133169152 when it was listed"),
        (disk("/dev/sdb", MIB), "can't be opened"),
        (disk("/dev/sdc", MIB), "can't be opened"),
    ] {
        let problem = clean(&[disk], Thoroughness::Full, &machine, &Listener::default()).unwrap_err();
        assert_eq!(problem.step, "opening");
        assert!(problem.message.contains(words), "{}", problem.message);
    }
    assert!(!is_zero(&tree.path("dev/sda"), 0, MIB));
}

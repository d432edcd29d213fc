use super::*;
use crate::{fixture::Tree, testing::Told};

const BYTES: usize = 32 << 20;

/// A machine with one disk that works.
fn machine() -> Tree {
    let tree = Tree::new();
    let sectors = (BYTES / 512).to_string();
    tree.disk("pci/host0/0:0:0:0/block/sda", "../../../0:0:0:0", &[("size", &sectors)]);
    tree.file("dev/sda", vec![0x5a; BYTES]);
    tree
}

fn cleaned(tree: &Tree, how: Thoroughness) -> Result<Vec<String>, Problem> {
    let tasks = Tasks { root: tree.root().to_owned() };
    let cleaned = tasks.clean_after(|| {}, how, &Told::default())?;
    Ok(cleaned.disks.into_iter().map(|disk| disk.disk).collect())
}

#[test]
fn a_machine_with_a_disk_that_does_not_answer_is_not_called_clean() {
    for how in [Thoroughness::Metadata, Thoroughness::Full] {
        let tree = machine();
        assert_eq!(cleaned(&tree, how), Ok(vec!["/dev/sda".to_owned()]));
        tree.file("dev/sda", vec![0x5a; BYTES]);
        tree.disk("pci/host0/0:0:1:0/block/sdb", "../../../0:0:1:0", &[("size", "0")]);
        let problem = cleaned(&tree, how).unwrap_err();
        assert_eq!((problem.step, problem.disk.as_deref()), ("opening", Some("/dev/sdb")));
        for words in ["does not tell its size", "look at the disk, its cable and its controller"] {
            assert!(problem.message.contains(words), "{problem}");
        }
        let wiped = std::fs::read(tree.path("dev/sda")).unwrap();
        assert!(wiped[..1 << 20].iter().all(|byte| *byte == 0), "the others are wiped nevertheless");
    }
}

#[test]
fn what_holds_no_medium_does_not_keep_a_machine_from_being_clean() {
    let tree = machine();
    tree.disk("usb1/1-1/host1/1:0:0:0/block/sdb", "../../../1:0:0:0", &[("size", "0"), ("removable", "1")]);
    assert_eq!(cleaned(&tree, Thoroughness::Metadata), Ok(vec!["/dev/sda".to_owned()]));
}

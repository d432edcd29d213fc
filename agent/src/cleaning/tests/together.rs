use std::{
    io,
    sync::{
        Barrier,
        atomic::{AtomicUsize, Ordering},
    },
};

use beskar7_agent_protocol::{hardware::Disk, order::Thoroughness};

use super::{
    Listener, MIB, disk,
    fake::{Fake, Nature},
};
use crate::cleaning::{
    AT_ONCE, clean,
    device::{Device, Devices},
    groups,
    spans::Span,
};

#[test]
fn namespaces_of_one_disk_are_wiped_one_after_the_other() {
    let names = [
        "/dev/nvme0n1",
        "/dev/nvme0n2",
        "/dev/nvme1n1",
        "/dev/nvme10n1",
        "/dev/sda",
        "/dev/sdan",
        "/dev/vda",
    ];
    let disks = names.map(|name| disk(name, MIB));
    let mut together: Vec<Vec<&str>> = groups(&disks)
        .iter()
        .map(|group| group.iter().map(|(_, disk)| disk.path.as_str()).collect())
        .collect();
    together.sort();
    let mut expected: Vec<Vec<&str>> = vec![vec!["/dev/nvme0n1", "/dev/nvme0n2"]];
    expected.extend(names[2..].iter().map(|name| vec![*name]));
    expected.sort();
    assert_eq!(together, expected);
}

#[test]
fn paths_to_the_same_disk_are_wiped_one_after_the_other() {
    for (names, expected) in [
        (
            vec![("/dev/sda", "0x5"), ("/dev/sdb", "0x6"), ("/dev/sdc", "0x5"), ("/dev/sdd", "")],
            vec![vec!["/dev/sdd"], vec!["/dev/sdb"], vec!["/dev/sda", "/dev/sdc"]],
        ),
        // What says no name is not the same as another that says none.
        (vec![("/dev/sda", ""), ("/dev/sdb", "")], vec![vec!["/dev/sdb"], vec!["/dev/sda"]]),
        // Both at once: a second path, and another namespace of each.
        (
            vec![
                ("/dev/nvme0n1", "eui.1"),
                ("/dev/nvme0n2", "eui.2"),
                ("/dev/nvme1n2", "eui.2"),
                ("/dev/nvme2n1", "eui.3"),
            ],
            vec![vec!["/dev/nvme2n1"], vec!["/dev/nvme0n1", "/dev/nvme0n2", "/dev/nvme1n2"]],
        ),
        (
            vec![("/dev/nvme0n1", "eui.1"), ("/dev/nvme1n1", "eui.2"), ("/dev/nvme1n2", "eui.1")],
            vec![vec!["/dev/nvme0n1", "/dev/nvme1n1", "/dev/nvme1n2"]],
        ),
    ] {
        let named = |(path, wwn): &(&str, &str)| {
            let wwn = Some((*wwn).to_owned()).filter(|wwn| !wwn.is_empty());
            Disk { wwn, ..disk(path, MIB) }
        };
        let disks: Vec<Disk> = names.iter().map(named).collect();
        let together: Vec<Vec<&str>> = groups(&disks)
            .iter()
            .map(|group| group.iter().map(|(_, disk)| disk.path.as_str()).collect())
            .collect();
        assert_eq!(together, expected, "{names:?}");
    }
}

/// Opens a disk only when as many as may be wiped at once are to be opened.
struct Crowd {
    all_there: Barrier,
    open: AtomicUsize,
    most: AtomicUsize,
}

impl Devices for Crowd {
    fn open(&self, _: &Disk) -> io::Result<Box<dyn Device>> {
        let now = self.open.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        self.all_there.wait();
        Ok(Box::new(Fake::new(MIB, Nature::default())))
    }

    /// Asked once for each disk, when it is open.
    fn partitions(&self, _: &Disk) -> io::Result<Vec<Span>> {
        self.open.fetch_sub(1, Ordering::SeqCst);
        Ok(Vec::new())
    }

    fn pause(&self) {}
}

#[test]
fn eight_disks_are_wiped_at_once_and_no_more() {
    let crowd =
        Crowd { all_there: Barrier::new(AT_ONCE), open: AtomicUsize::new(0), most: AtomicUsize::new(0) };
    let disks: Vec<Disk> = (0..3 * AT_ONCE).map(|number| disk(&format!("/dev/sd{number}"), MIB)).collect();
    let cleaned = clean(&disks, Thoroughness::Metadata, &crowd, &Listener::default()).unwrap();
    assert_eq!(cleaned.len(), disks.len());
    assert_eq!((AT_ONCE, crowd.most.into_inner()), (8, 8));
}

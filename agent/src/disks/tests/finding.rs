use beskar7_agent_protocol::hardware::{Disk, DiskKind};

use crate::{
    disks::{all, left_alone, to_wipe},
    fixture::Tree,
};

const AHCI: &str = "pci0000:00/0000:00:1f.2/ata2/host1/target1:0:0/1:0:0:0";
const RAID: &str = "pci0000:00/0000:00:03.0/0000:02:00.0/host4/target4:2:1/4:2:1:0";
const SAS: &str = "pci0000:00/0000:03:00.0/host6/port-6:0/end_device-6:0/target6:0:0/6:0:0:0";
const EXPANDED: &str =
    "pci0000:00/0000:03:00.0/host6/port-6:1/expander-6:0/port-6:0:4/end_device-6:0:4/target6:0:4/6:0:4:0";

fn only(tree: &Tree) -> Disk {
    let mut disks = all(tree.root()).unwrap();
    assert_eq!(disks.len(), 1, "{disks:?}");
    disks.remove(0)
}

fn links(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| format!("/dev/disk/{name}")).collect()
}

/// A SCSI disk's directory.
fn scsi(tree: &Tree, device: &str, name: &str, attributes: &[(&str, &str)]) {
    tree.disk(
        &format!("{device}/block/{name}"),
        &format!("../../../{}", device.rsplit('/').next().unwrap()),
        attributes,
    );
}

#[test]
fn a_sata_disk_tells_all_of_its_model() {
    let tree = Tree::new();
    scsi(
        &tree,
        AHCI,
        "sda",
        &[("queue/rotational", "1"), ("size", "7814037168"), ("queue/logical_block_size", "4096")],
    );
    let device = |name: &str| format!("sys/devices/{AHCI}/{name}");
    let mut page = vec![0, 0x83, 0, 72, 0x02, 0x01, 0, 68];
    page.extend(format!("{:8}{:40}{:>20}", "ATA", "ST4000NM0035-1V4107", "ZC1ABCDE").bytes());
    tree.file(&device("vendor"), "ATA     \n").file(&device("model"), "ST4000NM0035-1V4\n");
    tree.file(&device("vpd_pg83"), page).file(&device("vpd_pg80"), b"\0\x80\0\x14            ZC1ABCDE");
    tree.file(&device("wwid"), "naa.5000c500a1b2c3d4\n");
    tree.file("sys/devices/pci0000:00/0000:00:1f.2/ata2/ata_port/ata2/port_no", "2\n");
    let expected = Disk {
        path: "/dev/sda".into(),
        links: links(&[
            "by-path/pci-0000:00:1f.2-ata-2.0",
            "by-path/pci-0000:00:1f.2-ata-2",
            "by-id/wwn-0x5000c500a1b2c3d4",
            "by-id/ata-ST4000NM0035-1V4107_ZC1ABCDE",
        ]),
        vendor: Some("ATA".into()),
        model: Some("ST4000NM0035-1V4107".into()),
        serial_number: Some("ZC1ABCDE".into()),
        wwn: Some("0x5000c500a1b2c3d4".into()),
        hctl: Some("1:0:0:0".into()),
        size_bytes: 4_000_787_030_016,
        sector_bytes: 4096,
        kind: DiskKind::Hdd,
        read_only: false,
    };
    assert_eq!(only(&tree), expected);
}

#[test]
fn an_nvme_disk_is_named_by_its_namespace() {
    let tree = Tree::new();
    let controller = "pci0000:00/0000:00:01.0/0000:01:00.0/nvme/nvme0";
    let attributes = [("nsid", "1"), ("wwid", "eui.0025385b71b0b0c4"), ("queue/rotational", "0")];
    tree.disk(&format!("{controller}/nvme0n1"), "../../nvme0", &attributes);
    tree.file(&format!("sys/devices/{controller}/model"), "SAMSUNG MZVL2512HCJQ-00B00              \n");
    tree.file(&format!("sys/devices/{controller}/serial"), "S675NX0R123456      \n");
    let disk = only(&tree);
    assert_eq!(disk.kind, DiskKind::Nvme);
    assert_eq!(disk.model.as_deref(), Some("SAMSUNG MZVL2512HCJQ-00B00"));
    assert_eq!(disk.serial_number.as_deref(), Some("S675NX0R123456"));
    assert_eq!(disk.wwn.as_deref(), Some("eui.0025385b71b0b0c4"));
    assert_eq!((disk.vendor, disk.hctl), (None, None));
    assert_eq!(
        disk.links,
        links(&[
            "by-path/pci-0000:01:00.0-nvme-1",
            "by-id/nvme-eui.0025385b71b0b0c4",
            "by-id/nvme-SAMSUNG_MZVL2512HCJQ-00B00_S675NX0R123456",
            "by-id/nvme-SAMSUNG_MZVL2512HCJQ-00B00_S675NX0R123456_1",
        ])
    );
}

#[test]
fn a_second_namespace_does_not_take_the_name_of_the_first() {
    let tree = Tree::new();
    let controller = "pci0000:00/0000:01:00.0/nvme/nvme0";
    tree.disk(&format!("{controller}/nvme0n2"), "../../nvme0", &[("nsid", "2")]);
    tree.file(&format!("sys/devices/{controller}/model"), "M")
        .file(&format!("sys/devices/{controller}/serial"), "S");
    assert_eq!(only(&tree).links, links(&["by-path/pci-0000:01:00.0-nvme-2", "by-id/nvme-M_S_2"]));
}

#[test]
fn an_nvme_disk_with_two_paths_is_one_disk() {
    let tree = Tree::new();
    let subsystem = "virtual/nvme-subsystem/nvme-subsys0";
    let controller = "pci0000:00/0000:00:01.0/0000:01:00.0/nvme/nvme0";
    tree.disk(&format!("{subsystem}/nvme0n1"), "../../nvme-subsys0", &[("nsid", "1")]);
    tree.disk(&format!("{controller}/nvme0c0n1"), "../../nvme0", &[("hidden", "1")]);
    tree.link(&format!("sys/devices/{subsystem}/nvme0"), &format!("../../../{controller}"));
    let disk = only(&tree);
    assert_eq!(disk.path, "/dev/nvme0n1");
    assert_eq!(disk.links, links(&["by-path/pci-0000:01:00.0-nvme-1"]));
}

#[test]
fn a_virtio_disk_is_named_by_its_serial_number() {
    let tree = Tree::new();
    tree.disk(
        "pci0000:00/0000:00:04.0/virtio1/block/vda",
        "../../../virtio1",
        &[("serial", "root-disk"), ("ro", "1"), ("queue/rotational", "1")],
    );
    tree.file("sys/devices/pci0000:00/0000:00:04.0/virtio1/vendor", "0x1af4\n");
    let disk = only(&tree);
    assert!(disk.read_only);
    assert_eq!((disk.vendor, disk.serial_number.as_deref()), (None, Some("root-disk")));
    assert_eq!(
        disk.links,
        links(&["by-path/pci-0000:00:04.0", "by-path/virtio-pci-0000:00:04.0", "by-id/virtio-root-disk"])
    );
}

#[test]
fn scsi_disks_are_named_by_where_they_are() {
    let usb = "pci0000:00/0000:00:14.0/usb1/1-1/1-1:1.0/host9/target9:0:0/9:0:0:0";
    for (device, others, expected) in [
        (RAID, vec![], vec!["by-path/pci-0000:02:00.0-scsi-0:2:1:0"]),
        (
            RAID,
            vec![("sys/devices/pci0000:00/0000:00:03.0/0000:02:00.0/host3/x", "")],
            vec!["by-path/pci-0000:02:00.0-scsi-1:2:1:0"],
        ),
        (
            SAS,
            vec![
                ("sys/class/sas_port/port-6:0/num_phys", "1"),
                ("sys/class/sas_device/end_device-6:0/phy_identifier", "3"),
            ],
            vec!["by-path/pci-0000:03:00.0-sas-phy3-lun-0"],
        ),
        (
            SAS,
            vec![
                ("sys/class/sas_port/port-6:0/num_phys", "2"),
                ("sys/class/sas_device/end_device-6:0/sas_address", "0x5000c500a1b2c3d5"),
            ],
            vec!["by-path/pci-0000:03:00.0-sas-0x5000c500a1b2c3d5-lun-0"],
        ),
        (
            EXPANDED,
            vec![
                ("sys/class/sas_port/port-6:0:4/num_phys", "1"),
                ("sys/class/sas_device/end_device-6:0:4/phy_identifier", "4"),
                ("sys/class/sas_device/expander-6:0/sas_address", "0x500e004aaaaaaa1f"),
            ],
            vec!["by-path/pci-0000:03:00.0-sas-exp0x500e004aaaaaaa1f-phy4-lun-0"],
        ),
        (usb, vec![], vec![]),
    ] {
        let tree = Tree::new();
        scsi(&tree, device, "sdb", &[]);
        for (path, content) in others {
            tree.file(path, content);
        }
        assert_eq!(only(&tree).links, links(&expected), "{device}");
    }
}

#[test]
fn a_scsi_disk_is_named_by_its_world_wide_name() {
    let tree = Tree::new();
    scsi(&tree, RAID, "sda", &[]);
    tree.file(&format!("sys/devices/{RAID}/vendor"), "DELL    ")
        .file(&format!("sys/devices/{RAID}/model"), "PERC H730 Mini");
    tree.file(&format!("sys/devices/{RAID}/wwid"), "naa.6d0946600c3a4a002");
    let disk = only(&tree);
    assert_eq!((disk.vendor.as_deref(), disk.model.as_deref()), (Some("DELL"), Some("PERC H730 Mini")));
    assert_eq!(disk.links[1..], links(&["by-id/wwn-0x6d0946600c3a4a002", "by-id/scsi-36d0946600c3a4a002"]));
}

#[test]
fn what_is_no_disk_of_the_machine_is_left_out() {
    let tree = Tree::new();
    for name in ["loop0", "ram0", "zram0", "dm-0", "md127"] {
        tree.disk(&format!("virtual/block/{name}"), "", &[]);
    }
    for (name, attributes) in [
        ("sr0", vec![]),
        ("fd0", vec![]),
        ("mmcblk0boot0", vec![]),
        ("sdx", vec![("removable", "1")]),
        ("sdy", vec![("size", "0")]),
    ] {
        tree.disk(&format!("platform/{name}/block/{name}"), &format!("../../../{name}"), &attributes);
    }
    assert_eq!(all(tree.root()).unwrap(), []);
    let said = [
        "/dev/sdx is left alone: it can be taken out, like a stick or what a BMC presents",
        "/dev/sdy is left alone: it has no size: it holds no medium, or does not work",
    ];
    assert_eq!(left_alone(tree.root()).unwrap(), said, "what never is a disk of a machine is not spoken of");
    tree.disk("platform/mmc/block/mmcblk0", "../../../mmc", &[]);
    assert_eq!(only(&tree).path, "/dev/mmcblk0");
}

#[test]
fn a_sata_disk_in_a_port_for_hot_plugging_is_the_machines_and_a_stick_is_not() {
    let usb = "pci0000:00/0000:00:14.0/usb1/1-1/1-1:1.0/host9/target9:0:0/9:0:0:0";
    // A driver's name is no bus.
    let named = "pci0000:00/usbless/0000:00:1f.2/ata2/host1/target1:0:0/1:0:0:0";
    for (device, vendor, removable, stays) in [
        (AHCI, "ATA     \n", "0", true),
        (AHCI, "ATA     \n", "1", true),
        (SAS, "ATA     \n", "1", true),
        (named, "ATA     \n", "1", true),
        (AHCI, "IOMEGA  \n", "1", false),
        (RAID, "DELL    \n", "1", false),
        (RAID, "", "1", false),
        (RAID, "DELL    \n", "0", true),
        // Some boxes say of what is in them what it says of itself.
        (usb, "ATA     \n", "1", false),
        (usb, "AMI     \n", "1", false),
        (usb, "AMI     \n", "0", true),
    ] {
        let tree = Tree::new();
        scsi(&tree, device, "sdb", &[("removable", removable)]);
        tree.file(&format!("sys/devices/{device}/vendor"), vendor);
        let found: Vec<String> = all(tree.root()).unwrap().into_iter().map(|disk| disk.path).collect();
        let line = "/dev/sdb is left alone: it can be taken out, like a stick or what a BMC presents";
        let (expected, said) =
            if stays { (vec!["/dev/sdb"], vec![]) } else { (vec![], vec![line.to_owned()]) };
        assert_eq!(found, expected, "{device} {vendor} {removable}");
        assert_eq!(left_alone(tree.root()), Ok(said), "{device} {vendor} {removable}");
    }
}

/// What the kernel shows of a disk behind a network, one kind after the other.
fn elsewhere() -> Vec<(Tree, &'static str, &'static str)> {
    let hba = "pci0000:00/0000:00:03.0/0000:04:00.0/host7";
    let of_scsi = |device: &str| {
        let tree = Tree::new();
        scsi(&tree, device, "sdb", &[]);
        tree
    };
    let plain = of_scsi(&format!("{hba}/target7:0:0/7:0:0:1"));
    plain.file(&format!("sys/devices/{hba}/fc_host/host7/port_name"), "0x5001438002a1b2c3");
    let card = of_scsi(&format!("{hba}/target7:0:0/7:0:0:2"));
    card.file(&format!("sys/devices/{hba}/iscsi_host/host7/initiatorname"), "iqn.x");
    let nvme = |directory: &str, transport: &str| {
        let tree = Tree::new();
        tree.disk(&format!("{directory}/nvme0n1"), "../../nvme0", &[("nsid", "1")]);
        tree.file(&format!("sys/devices/{directory}/transport"), transport);
        tree
    };
    let several = Tree::new();
    let subsystem = "virtual/nvme-subsystem/nvme-subsys0";
    several.disk(&format!("{subsystem}/nvme0n1"), "../../nvme-subsys0", &[("nsid", "1")]);
    several.file("sys/devices/virtual/nvme-fabrics/ctl/nvme3/transport", "tcp\n");
    several.link(&format!("sys/devices/{subsystem}/nvme3"), "../../nvme-fabrics/ctl/nvme3");
    let rbd = Tree::new();
    rbd.disk("rbd/0/block/rbd0", "../../../0", &[]);
    vec![
        (of_scsi(&format!("{hba}/rport-7:0-2/target7:0:0/7:0:0:3")), "/dev/sdb", "Fibre Channel"),
        (plain, "/dev/sdb", "Fibre Channel"),
        (of_scsi("platform/host8/session1/target8:0:0/8:0:0:1"), "/dev/sdb", "iSCSI"),
        (card, "/dev/sdb", "iSCSI"),
        (nvme("virtual/nvme-fabrics/ctl/nvme0", "tcp\n"), "/dev/nvme0n1", "NVMe over Fabrics"),
        (nvme("pci0000:00/0000:04:00.0/nvme/nvme0", "fc\n"), "/dev/nvme0n1", "NVMe over Fabrics"),
        (several, "/dev/nvme0n1", "NVMe over Fabrics"),
        (rbd, "/dev/rbd0", "a network"),
    ]
}

#[test]
fn disks_that_other_machines_reach_are_left_alone_and_said_why() {
    for (tree, path, over) in elsewhere() {
        let own = "pci0000:00/0000:00:01.0/0000:01:00.0/nvme/nvme9";
        tree.disk(&format!("{own}/nvme9n1"), "../../nvme9", &[("nsid", "1")]);
        tree.file(&format!("sys/devices/{own}/transport"), "pcie\n");
        assert_eq!(only(&tree).path, "/dev/nvme9n1", "{path} over {over}");
        let line = format!("{path} is left alone: it is reached over {over}, and other machines may use it");
        assert_eq!(left_alone(tree.root()), Ok(vec![line]));
    }
    let tree = Tree::new();
    for (name, device) in [("sda", AHCI), ("sdb", RAID), ("sdc", SAS), ("sdd", EXPANDED)] {
        scsi(&tree, device, name, &[]);
    }
    assert_eq!(left_alone(tree.root()), Ok(vec![]), "these are in the machine, as far as can be seen");
}

#[test]
fn a_disk_of_the_machine_that_tells_no_size_has_to_be_wiped_and_what_is_empty_rightly_has_not() {
    let tree = Tree::new();
    let empty = ("size", "0");
    for name in ["loop0", "ram0", "zram0", "dm-0", "md127"] {
        tree.disk(&format!("virtual/block/{name}"), "", &[empty]);
    }
    let removable = ("removable", "1");
    for (name, attributes) in [
        ("mmcblk0", vec![empty]),
        ("nbd0", vec![empty]),
        ("nvme0c0n1", vec![empty, ("hidden", "1")]),
        ("nvme0n1", vec![empty, ("serial", "gone")]),
        ("sda", vec![]),
        ("sdb", vec![empty]),
        // A card reader without a card.
        ("sdc", vec![empty, removable]),
        ("sr0", vec![empty, removable]),
        ("vda", vec![empty]),
    ] {
        tree.disk(&format!("platform/{name}/block/{name}"), &format!("../../../{name}"), &attributes);
    }
    tree.disk("pci/host7/rport-7:0-2/7:0:0:3/block/sdd", "../../../7:0:0:3", &[empty]);
    // Its port is one for hot-plugging.
    scsi(&tree, AHCI, "sde", &[empty, removable]);
    tree.file(&format!("sys/devices/{AHCI}/vendor"), "ATA     \n");
    let sizes: Vec<(String, u64)> =
        to_wipe(tree.root()).unwrap().into_iter().map(|disk| (disk.path, disk.size_bytes)).collect();
    let expected = [
        ("/dev/nvme0n1", 0),
        ("/dev/sda", 1_000_204_886_016),
        ("/dev/sdb", 0),
        ("/dev/sde", 0),
        ("/dev/vda", 0),
    ];
    assert_eq!(sizes, expected.map(|(path, bytes)| (path.to_owned(), bytes)));
    assert_eq!(only(&tree).path, "/dev/sda", "nothing is installed on the others");
}

#[test]
fn a_machine_without_any_has_none() {
    assert_eq!(all(Tree::new().root()).unwrap(), []);
}

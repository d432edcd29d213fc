use beskar7_agent_protocol::{
    hardware::{Disk, DiskKind},
    order::DiskHints,
};

use crate::disks::{check_unknown_size, choose};

const GB: u64 = 1_000_000_000;

fn disk(path: &str, gigabytes: u64, kind: DiskKind) -> Disk {
    Disk { path: path.into(), size_bytes: gigabytes * GB, kind, ..Disk::default() }
}

fn machine() -> Vec<Disk> {
    vec![
        Disk {
            serial_number: Some("ZC1ABCDE".into()),
            vendor: Some("ATA".into()),
            model: Some("ST4000NM0035-1V4107".into()),
            hctl: Some("1:0:0:0".into()),
            wwn: Some("0x5000c500a1b2c3d4".into()),
            links: vec!["/dev/disk/by-path/pci-0000:00:1f.2-ata-2".into()],
            ..disk("/dev/sda", 4000, DiskKind::Hdd)
        },
        Disk { read_only: true, ..disk("/dev/sdb", 16, DiskKind::Ssd) },
        disk("/dev/sdd", 480, DiskKind::Ssd),
        disk("/dev/sdc", 480, DiskKind::Ssd),
        disk("/dev/nvme0n1", 960, DiskKind::Nvme),
    ]
}

fn hints() -> DiskHints {
    DiskHints::default()
}

#[test]
fn the_smallest_disk_that_fits_is_taken() {
    for (hints, least, expected) in [
        (hints(), 0, "/dev/sdc"),
        (hints(), 481 * GB, "/dev/nvme0n1"),
        (DiskHints { min_size_gigabytes: Some(960), ..hints() }, 0, "/dev/nvme0n1"),
        (DiskHints { min_size_gigabytes: Some(100), ..hints() }, 961 * GB, "/dev/sda"),
        (DiskHints { rotational: Some(true), ..hints() }, 0, "/dev/sda"),
        (DiskHints { rotational: Some(false), ..hints() }, 0, "/dev/sdc"),
        (DiskHints { device_name: Some("/dev/sdd".into()), ..hints() }, 0, "/dev/sdd"),
        (
            DiskHints { device_name: Some("/dev/disk/by-path/pci-0000:00:1f.2-ata-2".into()), ..hints() },
            0,
            "/dev/sda",
        ),
        (DiskHints { serial_number: Some("zc1abcde".into()), ..hints() }, 0, "/dev/sda"),
        (DiskHints { wwn: Some("naa.5000C500A1B2C3D4".into()), ..hints() }, 0, "/dev/sda"),
        (DiskHints { model: Some("st4000".into()), vendor: Some("ata".into()), ..hints() }, 0, "/dev/sda"),
        (DiskHints { hctl: Some("1:0:0:0".into()), ..hints() }, 0, "/dev/sda"),
    ] {
        let disks = machine();
        assert_eq!(choose(&disks, &hints, least).unwrap().path, expected, "{hints:?}");
    }
}

#[test]
fn an_image_of_unknown_size_goes_to_no_disk_that_is_only_the_smallest() {
    let all = machine();
    let text = |text: &str| Some(text.to_owned());
    let whole = |hints| (&all[..], hints);
    for ((disks, hints), expected) in [
        (whole(hints()), false),
        (whole(DiskHints { rotational: Some(false), ..hints() }), false),
        // The others are none that fit, or as large.
        (whole(DiskHints { rotational: Some(true), ..hints() }), true),
        (whole(DiskHints { vendor: text("ata"), ..hints() }), true),
        ((&all[1..4], hints()), true),
        ((&all[..1], hints()), true),
        ((&all[..0], hints()), true),
        // Somebody has said it.
        (whole(DiskHints { min_size_gigabytes: Some(10), ..hints() }), true),
        (whole(DiskHints { device_name: text("/dev/sda"), ..hints() }), true),
        (whole(DiskHints { serial_number: text("absent"), ..hints() }), true),
        (whole(DiskHints { wwn: text("0x1"), ..hints() }), true),
        (whole(DiskHints { hctl: text("1:0:0:0"), ..hints() }), true),
    ] {
        assert_eq!(check_unknown_size(disks, &hints).is_ok(), expected, "{hints:?} {}", disks.len());
    }
    let message = check_unknown_size(&all, &hints()).unwrap_err().message;
    for part in ["/dev/sda (4000 GB), /dev/sdd (480 GB)", "rootDeviceHints", "minSizeGigabytes"] {
        assert!(message.contains(part), "{message}");
    }
    assert!(!message.contains("sdb"), "it can't be written: {message}");
}

#[test]
fn who_gets_none_is_told_why_of_each() {
    let disks = &machine()[..3];
    for (hints, least, expected) in [
        (
            DiskHints { min_size_gigabytes: Some(5000), ..hints() },
            0,
            "no disk fits: /dev/sda 4000 GB is smaller than 5000 GB; /dev/sdb 16 GB is smaller than 5000 GB; /dev/sdd 480 GB is smaller than 5000 GB",
        ),
        (
            DiskHints { rotational: Some(true), min_size_gigabytes: Some(4001), ..hints() },
            0,
            "no disk fits: /dev/sda 4000 GB is smaller than 4001 GB; /dev/sdb is not rotational; /dev/sdd is not rotational",
        ),
        (
            DiskHints { rotational: Some(false), ..hints() },
            480 * GB + 512,
            "no disk fits: /dev/sda is rotational; /dev/sdb 16 GB is smaller than 480 GB; /dev/sdd with 480000000000 bytes is smaller than 480000000512 bytes",
        ),
        (
            DiskHints { device_name: Some("/dev/sdb".into()), ..hints() },
            0,
            "no disk fits: /dev/sda is not /dev/sdb; /dev/sdb is read-only; /dev/sdd is not /dev/sdb",
        ),
        (
            DiskHints { serial_number: Some("ZC1".into()), ..hints() },
            0,
            "no disk fits: /dev/sda has the serial number \"ZC1ABCDE\", not \"ZC1\"; /dev/sdb does not tell its serial number; /dev/sdd does not tell its serial number",
        ),
    ] {
        assert_eq!(choose(disks, &hints, least).unwrap_err().message, expected, "{hints:?}");
    }
    let nothing = choose(&[], &hints(), 0).unwrap_err();
    assert_eq!(nothing.message, "the machine has no disk of its own that the kernel has a driver for");
}

#[test]
fn a_hint_that_names_a_disk_and_fits_several_writes_to_none() {
    let text = |text: &str| Some(text.to_owned());
    let virtual_disk = |path: &str, last: &str, hctl: &str, gigabytes| Disk {
        wwn: text(&format!("0x600508b1001c0a1b{last}")),
        hctl: text(hctl),
        ..disk(path, gigabytes, DiskKind::Hdd)
    };
    let raid = [
        virtual_disk("/dev/sda", "2c3d4e5f60718293", "4:2:0:0", 900),
        virtual_disk("/dev/sdb", "2c3d4e5f60718294", "4:2:1:0", 200),
    ];
    let namespace = |path: &str, link: &str| Disk {
        serial_number: text("S1"),
        links: vec![link.to_owned()],
        ..disk(path, 960, DiskKind::Nvme)
    };
    let nvme = [
        namespace("/dev/nvme0n1", "/dev/disk/by-path/pci-0000:01:00.0-nvme-1"),
        namespace("/dev/nvme0n2", "/dev/disk/by-path/pci-0000:01:00.0-nvme-2"),
    ];
    let one_wwn = |path: &str, hctl: &str| Disk {
        serial_number: text("S2"),
        ..virtual_disk(path, "2c3d4e5f60718293", hctl, 900)
    };
    let two_paths = [one_wwn("/dev/sdb", "6:0:0:0"), one_wwn("/dev/sda", "7:0:0:0")];
    let short = text("0x600508b1001c0a1b");
    for (disks, hints, expected) in [
        (&raid, DiskHints { wwn: short.clone(), ..hints() }, None),
        (&raid, DiskHints { wwn: text("0x600508b1001c0a1b2c3d4e5f60718293"), ..hints() }, Some("/dev/sda")),
        (&raid, DiskHints { wwn: short.clone(), hctl: text("4:2:0:0"), ..hints() }, Some("/dev/sda")),
        (&raid, DiskHints { wwn: short.clone(), min_size_gigabytes: Some(500), ..hints() }, Some("/dev/sda")),
        (&nvme, DiskHints { serial_number: text("S1"), ..hints() }, None),
        (
            &nvme,
            DiskHints { serial_number: text("S1"), device_name: text(&nvme[1].links[0]), ..hints() },
            Some("/dev/nvme0n2"),
        ),
        // They are one disk.
        (&two_paths, DiskHints { serial_number: text("S2"), ..hints() }, Some("/dev/sda")),
        (&two_paths, DiskHints { wwn: short.clone(), ..hints() }, Some("/dev/sda")),
        // Who only describes a disk gets the smallest.
        (&raid, DiskHints { rotational: Some(true), ..hints() }, Some("/dev/sdb")),
    ] {
        // An image that is too large for one of them does not mean the other.
        for least in [0, 150 * GB] {
            let chosen = choose(disks, &hints, least).ok().map(|disk| disk.path.as_str());
            assert_eq!(chosen, expected, "{hints:?} {least}");
        }
    }
    let ambiguous = DiskHints { wwn: short, ..hints() };
    let problem = choose(&raid, &ambiguous, 300 * GB).unwrap_err();
    for part in [
        "and 2 fit: /dev/sda (hctl 4:2:0:0, wwn 0x600508b1001c0a1b2c3d4e5f60718293, 900 GB); /dev/sdb (",
        "Nothing is written: add a hint",
    ] {
        assert!(problem.message.contains(part), "{problem}");
    }
    let problem = choose(&nvme, &DiskHints { serial_number: text("S1"), ..hints() }, 0).unwrap_err();
    assert!(problem.message.contains("deviceName /dev/disk/by-path/pci-0000:01:00.0-nvme-2"), "{problem}");
    let many = vec![raid[0].clone(), raid[1].clone(), raid[1].clone(), raid[1].clone(), raid[1].clone()];
    assert!(choose(&many, &ambiguous, 0).unwrap_err().message.contains("; and 1 more. "));
}

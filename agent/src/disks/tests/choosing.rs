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

//! What can't be installed.

use beskar7_agent_protocol::order::{Checksum, DiskHints, Image, ImageFormat, Install, Task};

use crate::content::{self, MIB};
use crate::site::{Site, Way};
use crate::support::disk::Bus;
use crate::system;

#[test]
#[ignore = "a machine in QEMU: make agent-vms"]
fn an_image_that_is_another_one_leaves_a_disk_without_a_partition_table() {
    let test = "an_image_that_is_another_one_leaves_a_disk_without_a_partition_table";
    let Some(site) = Site::new(test) else { return };
    let Some(system) = system::make(&site, test) else { return };
    assert!(content::has_table(&system.image), "or this shows nothing");
    let disk = site.disk("disk", 256, Bus::Virtio);
    std::fs::copy(&system.image, &disk.path).unwrap();
    std::fs::File::options().write(true).open(&disk.path).unwrap().set_len(256 * MIB).unwrap();
    let right = site.installation(&system.image, ImageFormat::Raw);
    let Some(Checksum { algorithm, digest: found }) = right.image.checksum.clone() else {
        panic!("no checksum")
    };
    let expected = "0123456789abcdef".repeat(4);
    let checksum = Some(Checksum { algorithm, digest: expected.clone() });
    let wrong = Install { image: Image { checksum, ..right.image.clone() }, ..right };
    let order = site.server.give(Task::Install(Box::new(wrong)));
    let mut machine = site.boot(Way::Kernel, std::slice::from_ref(&disk));
    let failure = site.failure(&mut machine, &order);
    site.turn_off(&mut machine);
    assert_eq!((failure.step.as_str(), failure.disk.as_deref()), ("verifying", Some("/dev/vda")));
    assert!(failure.message.contains(&expected) && failure.message.contains(&found), "{}", failure.message);
    assert!(!content::has_table(&disk.path));
}

#[test]
#[ignore = "a machine in QEMU: make agent-vms"]
fn what_fits_no_disk_is_refused_and_every_disk_stays_as_it_is() {
    let test = "what_fits_no_disk_is_refused_and_every_disk_stays_as_it_is";
    let Some(site) = Site::new(test) else { return };
    let disks = [site.disk("small-disk", 32, Bus::Virtio), site.disk("large-disk", 48, Bus::Nvme)];
    disks.iter().for_each(|disk| content::fill(&disk.path, 32));
    let image = site.at("image.raw");
    content::fill(&image, 64);
    let too_large = site.installation(&image, ImageFormat::Raw);
    let hinted = |disk| Install { disk, ..too_large.clone() };
    let orders = [
        (
            too_large.clone(),
            vec!["no disk fits", "/dev/vda 33 MB is smaller than 67 MB", "/dev/nvme0n1 50 MB"],
        ),
        (
            hinted(DiskHints { serial_number: Some("absent".to_owned()), ..DiskHints::default() }),
            vec![
                r#"/dev/vda has the serial number "small-disk", not "absent""#,
                r#""large-disk", not "absent""#,
            ],
        ),
        (
            hinted(DiskHints { min_size_gigabytes: Some(7), ..DiskHints::default() }),
            vec!["/dev/vda 33 MB is smaller than 7 GB"],
        ),
        (
            hinted(DiskHints { device_name: Some("/dev/sdz".to_owned()), ..DiskHints::default() }),
            vec!["/dev/vda is not /dev/sdz", "/dev/nvme0n1 is not /dev/sdz"],
        ),
    ];
    let given: Vec<String> =
        orders.iter().map(|(order, _)| site.server.give(Task::Install(Box::new(order.clone())))).collect();
    let mut machine = site.boot(Way::Kernel, &disks);
    for (id, (_, texts)) in given.iter().zip(&orders) {
        let failure = site.failure(&mut machine, id);
        assert_eq!(failure.step, "choosing a disk");
        for text in texts {
            assert!(failure.message.contains(text), "{text} is not in: {}", failure.message);
        }
    }
    site.turn_off(&mut machine);
    for disk in &disks {
        assert!(content::is_same(&disk.path, &image, 0, 32 * MIB), "{} was written to", disk.serial);
    }
}

/// How much comes out of gzip is not known before.
#[test]
#[ignore = "a machine in QEMU: make agent-vms"]
fn a_packed_image_that_turns_out_to_be_too_large_leaves_a_disk_without_a_partition_table() {
    let test = "a_packed_image_that_turns_out_to_be_too_large_leaves_a_disk_without_a_partition_table";
    let Some(site) = Site::new(test) else { return };
    let Some(system) = system::make(&site, test) else { return };
    let packed = site.at("image.raw.gz");
    let to = std::fs::File::create(&packed).unwrap();
    let mut encoder = flate2::write::GzEncoder::new(to, flate2::Compression::fast());
    std::io::copy(&mut std::fs::File::open(&system.image).unwrap(), &mut encoder).unwrap();
    encoder.finish().unwrap();
    let disk = site.disk("disk", 8, Bus::Virtio);
    let order = site.installation(&packed, ImageFormat::Raw);
    let order = site.server.give(Task::Install(Box::new(order)));
    let mut machine = site.boot(Way::Kernel, std::slice::from_ref(&disk));
    let failure = site.failure(&mut machine, &order);
    site.turn_off(&mut machine);
    assert_eq!((failure.step.as_str(), failure.disk.as_deref()), ("writing", Some("/dev/vda")));
    assert!(failure.message.contains("larger"), "{}", failure.message);
    assert!(!content::has_table(&disk.path));
}

use super::*;

#[test]
fn a_wrong_checksum_leaves_nothing_that_boots_and_says_both() {
    for (name, packed) in PACKED.iter() {
        for mebibytes in [9, 16] {
            let disk = old_disk(mebibytes);
            let case = Case::new(packed).with_checksum(Algorithm::Sha256, "abcd");
            let problem = case.on(&disk).unwrap_err();
            assert_eq!((problem.step, problem.passes), ("verifying", false), "{name}");
            let computed = digest(Algorithm::Sha256, packed);
            assert!(problem.message.contains("abcd") && problem.message.contains(&computed), "{problem}");
            assert!(!looks_installed(&disk.content(), 512), "{name} {mebibytes}");
            assert!(case.kernel.lock().unwrap().is_empty());
        }
    }
}

#[test]
fn an_image_that_breaks_off_leaves_nothing_that_boots() {
    for (name, packed) in PACKED.iter() {
        for at in [50, packed.len() / 2, packed.len() - 1] {
            let disk = old_disk(9);
            let mut case = Case::new(packed);
            case.files.breaks_at = Some(at);
            let problem = case.on(&disk).unwrap_err();
            assert!(problem.message.contains("the server is gone"), "{name}: {problem}");
            assert!(problem.passes, "{name}: {problem}");
            if at > 50 {
                assert!(!looks_installed(&disk.content(), 512), "{name}");
            }
        }
    }
}

#[test]
fn what_a_server_broke_off_may_be_had_later() {
    let (image, short) = (qcow2(), noise(200_000, 3));
    let with_checksum =
        || Case::new(&image).with_checksum(Algorithm::Sha256, &digest(Algorithm::Sha256, &image));
    let mut counted = Case::new(&short).with_configuration();
    counted.files.hides_length = true;
    for (mut case, at, step) in [
        (Case::new(&image), image.len() / 2, "fetching"),
        (with_checksum(), image.len() / 2, "fetching"),
        (counted, 250_000, "configuring"),
    ] {
        case.files.breaks_at = Some(at);
        let problem = case.on(&old_disk(9)).unwrap_err();
        assert_eq!((problem.step, problem.passes), (step, true), "{problem}");
    }
}

#[test]
fn a_power_cut_at_any_moment_leaves_nothing_that_looks_installed() {
    let image = &*IMAGE;
    // On the smaller disk, the image has its own copy of the table at the disk's end.
    for mebibytes in [9, 12] {
        let case = || Case::new(image).with_configuration();
        let case = || if mebibytes == 9 { Case::new(image) } else { case() };
        let old = old_disk(mebibytes).content();
        let whole = Memory::new(old.clone());
        case().on(&whole).unwrap();
        let all = *whole.written.lock().unwrap();
        let (wiping, publishing) = (3 * MIB, 3 * MIB);
        let steps = (0..all).step_by(400_009).chain((0..16).map(|back| all - 1 - back * 1100));
        for bytes in steps.filter(|bytes| *bytes >= wiping) {
            let disk = Memory::new(old.clone()).with_power(bytes);
            let problem = case().on(&disk).unwrap_err();
            assert!(problem.message.contains("no power"), "{problem}");
            let content = disk.content();
            if bytes <= all - publishing {
                assert!(!looks_installed(&content, 512), "after {bytes} of {all}");
            } else if looks_installed(&content, 512) {
                // Everything else was there before.
                let middle = MIB..(mebibytes - 2) * MIB;
                assert!(content[middle.clone()] == whole.content()[middle], "after {bytes} of {all}");
            }
        }
    }
}

#[test]
fn an_image_that_is_known_to_be_too_large_touches_nothing() {
    let image = &*IMAGE;
    let mut header = vec![0; 112];
    crate::fields::put(&mut header, 0, b"QFI\xfb\0\0\0\x02");
    crate::fields::put(&mut header, 23, &[16]);
    crate::fields::put(&mut header, 24, &(9 * MIB as u64).to_be_bytes());
    for image in [image, &header] {
        let disk = old_disk(8);
        let before = disk.content();
        let problem = Case::new(image).on(&disk).unwrap_err();
        assert_eq!(problem.message, "no disk fits");
        assert!(disk.content() == before);
    }
}

#[test]
fn an_image_that_turns_out_too_large_leaves_nothing_that_boots() {
    let image = &*IMAGE;
    for (name, packed) in &PACKED[1..] {
        let disk = old_disk(8);
        let problem = Case::new(packed).on(&disk).unwrap_err();
        assert!(problem.message.contains("larger than the disk"), "{name}: {problem}");
        assert_eq!(problem.disk.as_deref(), Some("/dev/vda"));
        assert!(!looks_installed(&disk.content(), 512), "{name}");
    }
    let disk = old_disk(8);
    let mut case = Case::new(image);
    case.files.hides_length = true;
    assert!(case.on(&disk).unwrap_err().message.contains("larger than the disk"));
}

#[test]
fn an_image_of_unknown_size_is_not_tried_on_the_smallest_of_several_disks() {
    let disk = |path: &str, mebibytes: usize| Disk {
        path: path.into(),
        size_bytes: (mebibytes * MIB) as u64,
        ..Disk::default()
    };
    let disks = [disk("/dev/vda", 8), disk("/dev/vdb", 16)];
    let surroundings = Surroundings {
        choose: first_that_fits,
        open: &|disk| Err(io::Error::other(format!("{} is touched", disk.path))),
        tell_kernel: &|_| Ok(()),
        variables: Path::new(NO_VARIABLES),
        architecture: None,
    };
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    encoder.set_pledged_src_size(Some(IMAGE.len() as u64)).unwrap();
    encoder.write_all(&IMAGE).unwrap();
    let told = encoder.finish().unwrap();
    let skipped = [0x5e, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 1, 2, 3, 4];
    let images = [
        ("raw", IMAGE.clone(), "touched"),
        ("gzip", PACKED[1].1.clone(), "minSizeGigabytes"),
        ("xz", PACKED[2].1.clone(), "minSizeGigabytes"),
        ("zstd that tells what comes out", told.clone(), "touched"),
        ("zstd behind a frame to be skipped", [&skipped[..], &told].concat(), "minSizeGigabytes"),
        ("zstd of several frames", [told.clone(), told].concat(), "minSizeGigabytes"),
    ];
    for (name, packed, expected) in &images {
        let case = Case::new(packed);
        let problem = install(&case.order, &disks, &case.files, &case.told, &surroundings).unwrap_err();
        assert!(problem.message.contains(expected), "{name}: {problem}");
        let mut named = case.order.clone();
        named.disk.device_name = Some("/dev/vdb".into());
        let problem = install(&named, &disks, &case.files, &case.told, &surroundings).unwrap_err();
        assert!(problem.message.contains("touched"), "{name}: {problem}");
    }
}

#[test]
fn what_nobody_wants_any_more_is_left() {
    let image = &*IMAGE;
    for patience in 0..8 {
        let disk = old_disk(9);
        let mut case = Case::new(image);
        case.told.patience = Some(patience);
        let problem = case.on(&disk).unwrap_err();
        assert!(problem.message.contains("nobody wants"), "{problem}");
        assert!(!looks_installed(&disk.content(), 512));
    }
}

#[test]
fn a_configuration_that_can_not_be_had_is_told_in_time() {
    let image = &*IMAGE;
    for (path, expected) in [("nothing", "empty"), ("missing", "no missing"), ("large", "more than")] {
        let large = vec![0; (64 << 20) + 1];
        let disk = old_disk(16);
        let before = disk.content();
        let mut case = Case::new(image).with_configuration();
        case.files = Files::new(&[("image", image), ("nothing", b""), ("large", &large)]);
        case.order.configuration.as_mut().unwrap().path = path.into();
        let problem = case.on(&disk).unwrap_err();
        assert_eq!((problem.step, problem.passes), ("configuring", false));
        assert!(problem.message.contains(expected), "{problem}");
        assert!(disk.content() == before);
    }
}

#[test]
fn no_room_for_the_configuration_leaves_nothing_that_boots() {
    let disk = old_disk(9);
    let problem = Case::new(&IMAGE).with_configuration().on(&disk).unwrap_err();
    assert!(problem.message.contains("are left behind"), "{problem}");
    assert!(!looks_installed(&disk.content(), 512));
}

#[test]
fn an_image_for_other_sectors_is_not_written() {
    for (name, packed) in PACKED.iter() {
        let disk = old_disk(16);
        let mut case = Case::new(packed);
        case.sector = 4096;
        let problem = case.on(&disk).unwrap_err();
        assert!(problem.message.contains("sectors of 512"), "{name}: {problem}");
        assert!(disk.content()[2 * MIB..14 * MIB].iter().all(|byte| *byte == 0xAA), "{name}");
    }
    let disk = old_disk(16);
    let mut case = Case::new(&usual(9, 4096)).with_configuration();
    case.sector = 4096;
    case.on(&disk).unwrap();
    assert!(looks_installed(&disk.content(), 4096));
}

#[test]
fn a_qcow2_with_a_wrong_checksum_touches_nothing() {
    let image = qcow2();
    let disk = old_disk(9);
    let before = disk.content();
    let problem = Case::new(&image).with_checksum(Algorithm::Md5, "abcd").on(&disk).unwrap_err();
    assert_eq!(problem.step, "verifying");
    assert!(problem.message.contains("abcd"), "{problem}");
    assert!(disk.content() == before);
}

#[test]
fn a_qcow2_that_is_another_when_it_is_written_leaves_nothing_that_boots() {
    let image = qcow2();
    let disk = old_disk(9);
    let mut case = Case::new(&image).with_checksum(Algorithm::Md5, &digest(Algorithm::Md5, &image));
    let mut changed = image;
    let last = changed.len() - 1;
    changed[last] ^= 1;
    // It is opened to know what it is, to be verified, and to be written.
    case.files.changes = Some((3, changed));
    let problem = case.on(&disk).unwrap_err();
    assert!(problem.message.contains("verified before"), "{problem}");
    assert!(!looks_installed(&disk.content(), 512));
}

#[test]
fn a_zstd_that_says_how_large_it_is_touches_nothing_where_that_is_too_large() {
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    encoder.set_pledged_src_size(Some(IMAGE.len() as u64)).unwrap();
    encoder.write_all(&IMAGE).unwrap();
    let packed = encoder.finish().unwrap();
    let disk = old_disk(8);
    let before = disk.content();
    assert_eq!(Case::new(&packed).on(&disk).unwrap_err().message, "no disk fits");
    assert!(disk.content() == before);
    assert_eq!(Case::new(&packed).on(&old_disk(9)).unwrap().written, IMAGE.len() as u64);
}

use std::{fs, path::Path};

use super::*;
use crate::{
    fields::put,
    target::{Staged, Writing, write},
    testing::{
        Files, Memory, Told, has, noise,
        qcow2::{Content, made},
        run,
    },
};

const MIB: usize = 1 << 20;

/// Reads an image as it would be on a disk that held something else before, and how often its file was opened.
fn read_from(files: &Files, digests: Option<Digests>) -> Result<(Vec<u8>, usize), Problem> {
    let mut file = ImageFile::new(files, "image", digests);
    let mut header = [0; HEADER];
    let count = file.read_some(0, &mut header)?;
    let header = Header::parse(&header[..count]).map_err(|why| damaged(&why))?;
    let size = usize::try_from(header.size).unwrap();
    let memory = Memory::new(vec![0xAA; size.clamp(3 * MIB, 64 * MIB)]);
    let mut disk = Staged::begin(&memory).unwrap();
    let writing = Writing { disk: &mut disk, sector: 512, name: "d", telling: &Told::default() };
    let ((), written) = write(writing, |sink| Qcow2::new(file, header).produce(sink))?;
    assert_eq!(written, size as u64);
    disk.publish().unwrap();
    let mut content = memory.content();
    content.truncate(size);
    let opened = files.opened.lock().unwrap().len();
    Ok((content, opened))
}

fn read(image: &[u8]) -> Result<(Vec<u8>, usize), Problem> {
    read_from(&Files::new(&[("image", image)]), None)
}

#[test]
fn clusters_of_all_kinds_are_where_they_belong() {
    for (version, cluster_bits, packing) in [
        (2, 16, Packing::Zlib),
        (3, 16, Packing::Zlib),
        (3, 16, Packing::Zstd),
        (3, 9, Packing::Zlib),
        (3, 21, Packing::Zstd),
    ] {
        let cluster = 1_usize << cluster_bits;
        let clusters = [
            Content::Plain(1),
            Content::Missing,
            Content::Packed(3),
            Content::Plain(4),
            Content::Packed(5),
            Content::Missing,
            if version == 2 { Content::Missing } else { Content::Zeros },
            Content::Plain(8),
        ];
        // The last cluster is there in part only.
        let size = 7 * cluster + 512;
        let image = made(version, cluster_bits, packing, size as u64, &clusters);
        let (disk, _) = read(&image).unwrap();
        let mut expected: Vec<u8> =
            [1, 0, 3, 4, 5, 0, 0].iter().flat_map(|byte| vec![*byte; cluster]).collect();
        expected.extend([8; 512]);
        assert!(disk == expected, "version {version}, {cluster_bits} bits, {packing:?}");
    }
}

#[test]
fn a_damaged_image_is_an_error_and_no_disk() {
    let whole = made(3, 16, Packing::Zlib, 1 << 20, &[Content::Plain(1), Content::Packed(2)]);
    assert!(read(&whole).is_ok());
    let short = |length: usize| whole[..length].to_vec();
    let changed = |at: usize, bytes: &[u8]| {
        let mut image = whole.clone();
        put(&mut image, at, bytes);
        image
    };
    for (image, expected) in [
        (short(80), "header"),
        (short(0x1_0000), "ends at byte"),
        (short(0x2_0000), "ends at byte"),
        (short(whole.len() - 0x1000), "ends at byte"),
        // A table too short, and one behind the end.
        (changed(36, &[0; 4]), "too short"),
        (changed(40, &[0, 0, 0, 1, 0, 0, 0, 0]), "ends at byte"),
        (changed(0x2_0000, &[0x80, 0, 0, 1, 0, 0, 0, 0]), "ends at byte"),
        // A packed cluster where there is none.
        (changed(0x2_0008, &[0x40, 0, 0, 0, 0, 2, 0, 0]), "packed cluster"),
        (changed(24, &[0, 8]), "too small"),
    ] {
        let why = read(&image).unwrap_err().message;
        assert!(why.contains(expected), "{why} says not {expected}");
    }
}

#[test]
fn an_image_that_is_changed_after_it_was_verified_is_not_written() {
    let clusters: Vec<Content> = (1..=100).map(Content::Plain).collect();
    let image = made(3, 16, Packing::Zlib, 8 << 20, &clusters);
    // Of a file as long as that one, and in pieces as large as those of a terabyte.
    for total in [Some(image.len() as u64), Some(1 << 40)] {
        let digests = || {
            let mut digests = Digesting::new(total).unwrap();
            image.chunks(100_000).for_each(|bytes| digests.update(bytes).unwrap());
            Some(digests.complete())
        };
        assert!(read_from(&Files::new(&[("image", &image)]), digests()).is_ok(), "{total:?}");
        for at in [0x2_0010, 5 << 20, image.len() - 1] {
            let mut changed = image.clone();
            changed[at] ^= 1;
            let why = read_from(&Files::new(&[("image", &changed)]), digests()).unwrap_err().message;
            assert!(why.contains("verified before"), "{total:?} {at}: {why}");
        }
    }
}

/// A disk with noise, things that pack well, and holes.
fn disk() -> Vec<u8> {
    let mut disk = vec![0; 24 * MIB + 512];
    put(&mut disk, 0, &noise(3 * MIB, 1));
    put(&mut disk, 7 * MIB + 4096, b"not much");
    put(&mut disk, 9 * MIB, &b"again ".repeat(MIB / 2));
    put(&mut disk, 20 * MIB, &noise(4 * MIB + 512, 2));
    disk
}

fn with_qemu(test: &str, check: impl FnOnce(&Path)) {
    if !has("qemu-img") || !has("qemu-io") {
        return beskar7_skipped::skipped(test, "qemu-img is not installed");
    }
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("raw"), disk()).unwrap();
    check(place.path());
}

#[test]
fn what_qemu_img_makes_is_read_in_one_go() {
    with_qemu("what_qemu_img_makes_is_read_in_one_go", |place| {
        for options in [
            &["-o", "compat=0.10"][..],
            &["-o", "compat=1.1"],
            &["-o", "compat=0.10", "-c"],
            &["-c"],
            &["-c", "-o", "compression_type=zstd"],
            &["-o", "preallocation=metadata"],
            &["-o", "preallocation=full"],
            &["-o", "cluster_size=4k"],
            &["-o", "cluster_size=2M"],
            &["-c", "-o", "cluster_size=2M,compression_type=zstd"],
            &["-c", "-o", "cluster_size=512"],
            &["-o", "lazy_refcounts=on"],
            &["-S", "0"],
        ] {
            let line =
                [&["qemu-img", "convert", "-f", "raw", "-O", "qcow2"], options, &["raw", "image"]].concat();
            run(place, &line);
            let image = fs::read(place.join("image")).unwrap();
            let (content, opened) = read(&image).unwrap_or_else(|problem| panic!("{options:?}: {problem}"));
            assert!(content == disk(), "{options:?}");
            // Its first table may be far from the beginning, and what it points to before that.
            assert!(opened <= 3, "{options:?}: {opened}");
        }
    });
}

#[test]
fn what_was_written_over_in_any_order_is_read_as_qemu_img_reads_it() {
    with_qemu("what_was_written_over_in_any_order_is_read_as_qemu_img_reads_it", |place| {
        for options in ["cluster_size=4k", "cluster_size=64k", "compat=0.10"] {
            run(place, &["qemu-img", "create", "-f", "qcow2", "-o", options, "image", "24M"]);
            let mut line = vec!["qemu-io", "-f", "qcow2"];
            let commands: Vec<String> = (0..40)
                .map(|step| match step % 4 {
                    3 => format!("write -z {}k 192k", (step * 7919) % 24_000),
                    _ => format!("write -P {} {}k 100k", step + 1, (step * 5003) % 24_000),
                })
                .collect();
            commands.iter().for_each(|command| line.extend(["-c", command]));
            line.push("image");
            run(place, &line);
            run(place, &["qemu-img", "snapshot", "-c", "before", "image"]);
            run(
                place,
                &["qemu-io", "-f", "qcow2", "-c", "write -P 99 5M 3M", "-c", "discard 1M 1M", "image"],
            );
            run(place, &["qemu-img", "convert", "-O", "raw", "image", "expected"]);
            let (content, _) = read(&fs::read(place.join("image")).unwrap()).unwrap();
            assert!(content == fs::read(place.join("expected")).unwrap(), "{options}");
        }
    });
}

#[test]
fn what_qemu_img_makes_and_can_not_be_read_here_is_refused() {
    with_qemu("what_qemu_img_makes_and_can_not_be_read_here_is_refused", |place| {
        for (line, expected) in [
            (&["-o", "extended_l2=on,cluster_size=128k"][..], "subclusters"),
            (&["-o", "data_file=other,data_file_raw=on"], "another file"),
            (&["-b", "raw", "-F", "raw"], "backing file"),
        ] {
            run(place, &[&["qemu-img", "create", "-f", "qcow2"], line, &["image", "24M"]].concat());
            let why = read(&fs::read(place.join("image")).unwrap()).unwrap_err().message;
            assert!(why.contains(expected), "{why} says not {expected}");
        }
    });
}

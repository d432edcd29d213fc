use serde_json::json;

use super::*;

/// A layer, known by its size.
fn layer(size: usize, media_type: &str, title: &str) -> Descriptor {
    let digest = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    let annotations = json!({ "org.opencontainers.image.title": title });
    let layer =
        json!({ "mediaType": media_type, "digest": digest, "size": size, "annotations": annotations });
    serde_json::from_value(layer).unwrap()
}

fn layers(given: &[(&str, &str)]) -> Vec<Descriptor> {
    given.iter().enumerate().map(|(at, (media_type, title))| layer(at, media_type, title)).collect()
}

/// Kernel, ramdisks, root, program and command line, by their positions.
type Found = (Option<u64>, Vec<u64>, Option<u64>, Option<u64>, Option<u64>);

fn found(layers: &[Descriptor]) -> Result<Found, String> {
    let parts = Parts::of(layers)?;
    let size = |layer: Option<&Descriptor>| layer.map(|layer| layer.size);
    let initramfs = parts.initramfs.iter().map(|layer| layer.size).collect();
    Ok((size(parts.kernel), initramfs, size(parts.root), size(parts.program), size(parts.command_line)))
}

#[test]
fn layers_are_known_by_their_types() {
    let ironcore = [
        ("application/vnd.ironcore.image.squashfs", "vmlinuz"),
        ("application/vnd.ironcore.image.initramfs", ""),
        ("application/vnd.ironcore.image.kernel", ""),
        ("application/vnd.ironcore.image.uki", ""),
        ("application/vnd.ironcore.image.cmdline", ""),
        ("application/vnd.ironcore.image.iso", "kernel"),
        ("application/vnd.ironcore.image.rootfs", "rootfs"),
    ];
    assert_eq!(found(&layers(&ironcore)), Ok((Some(2), vec![1], Some(0), Some(3), Some(4))));
    let garden = [
        ("application/io.gardenlinux.release", "vmlinuz"),
        ("application/io.gardenlinux.kernel", "a"),
        ("application/io.gardenlinux.initrd", "b"),
        ("application/io.gardenlinux.squashfs", "c"),
        ("application/io.gardenlinux.uki", "d"),
        // No name counts where a type is known.
        ("application/octet-stream", "kernel"),
    ];
    assert_eq!(found(&layers(&garden)), Ok((Some(1), vec![2], Some(3), Some(4), None)));
}

#[test]
fn layers_without_a_known_type_are_known_by_their_names() {
    // What ORAS calls a file whose type nobody gave, and a directory.
    let (file, directory) =
        ("application/vnd.oci.image.layer.v1.tar", "application/vnd.oci.image.layer.v1.tar+gzip");
    let kernel = Ok((Some(0), vec![], None, None, None));
    let ramdisk = Ok((None, vec![0], None, None, None));
    let root = Ok((None, vec![], Some(0), None, None));
    let program = Ok((None, vec![], None, Some(0), None));
    let nothing = Ok((None, vec![], None, None, None));
    for (media_type, title, expected) in [
        ("", "vmlinuz", &kernel),
        ("application/octet-stream", "boot/vmlinuz-6.12-amd64", &kernel),
        ("x/y", "kernel", &kernel),
        ("x/y", "bzImage", &kernel),
        ("x/y", "vmlinuz.efi", &kernel),
        ("x/y", "initrd.img", &ramdisk),
        ("x/y", "initramfs-6.12.img.gz", &ramdisk),
        ("x/y", "root.squashfs", &root),
        ("x/y", "rootfs", &root),
        ("x/y", "rootfs.img", &root),
        ("x/y", "BOOTX64.EFI", &program),
        ("x/y", "today.uki", &program),
        ("x/y", "vmlinuz.sig", &nothing),
        ("x/y", "vmlinuz.sha256", &nothing),
        ("x/y", "kernel.config", &nothing),
        ("x/y", "kernel-modules.tar.gz", &nothing),
        ("x/y", "rootfs.tar.xz", &nothing),
        ("x/y", "disk.img", &nothing),
        ("x/y", "", &nothing),
        ("x/y", "vmlinuz/", &nothing),
        ("application/x-netboot-file+zstd", "vmlinuz", &nothing),
        (file, "vmlinuz", &kernel),
        (file, "", &nothing),
        (directory, "kernel", &nothing),
        ("application/vnd.docker.image.rootfs.diff.tar.gzip", "", &nothing),
    ] {
        assert_eq!(&found(&layers(&[(media_type, title)])), expected, "{media_type} {title}");
    }
    let all = [("", "cmdline"), ("", "initrd-2"), ("", "initrd-1"), ("", "README"), ("", "vmlinuz")];
    assert_eq!(found(&layers(&all)), Ok((Some(4), vec![1, 2], None, None, Some(0))));
}

#[test]
fn an_image_that_leaves_a_choice_is_refused() {
    let kernel = "application/vnd.ironcore.image.kernel";
    let ramdisks = vec![("", "initrd"); 17];
    for (given, said) in [
        (vec![("", "vmlinuz-1"), ("", "vmlinuz-2")], "two kernels, vmlinuz-1 and vmlinuz-2"),
        (vec![(kernel, "a"), (kernel, "b")], "two kernels, a and b"),
        (vec![("", "a.squashfs"), ("", "rootfs")], "two root file systems"),
        (vec![("", "a.efi"), ("", "b.efi")], "two EFI programs"),
        (ramdisks, "17 initial ramdisks"),
    ] {
        let error = found(&layers(&given)).unwrap_err();
        assert!(error.contains(said), "{error}");
    }
}

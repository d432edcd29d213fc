use super::*;

#[test]
fn whose_a_file_is_shows_in_its_path_and_its_text() {
    let grub = b"menuentry a {\n linux /v\n}\n".as_slice();
    let syslinux = b"LABEL a\n KERNEL v\n".as_slice();
    for (path, text, expected) in [
        ("boot/grub/grub.cfg", grub, Some(Kind::Grub)),
        ("boot/grub/loopback.cfg", grub, Some(Kind::Grub)),
        ("EFI/BOOT/BOOT.conf", grub, Some(Kind::Grub)),
        ("isolinux/isolinux.cfg", syslinux, Some(Kind::Syslinux { main: true })),
        ("isolinux/txt.cfg", b"", Some(Kind::Syslinux { main: false })),
        ("boot/x86_64/loader/isolinux.cfg", syslinux, Some(Kind::Syslinux { main: true })),
        ("arch/boot/syslinux/archiso_sys-linux.cfg", syslinux, Some(Kind::Syslinux { main: false })),
        ("boot/x86_64/other.cfg", syslinux, Some(Kind::Syslinux { main: false })),
        ("loader/entries/01-archiso.conf", b"", Some(Kind::SystemdBootEntry)),
        ("loader/loader.conf", b"", Some(Kind::SystemdBoot)),
        ("grub.cfg", grub, Some(Kind::Grub)),
        ("ks.cfg", grub, None),
        ("boot/grub/grub.txt", grub, None),
    ] {
        assert_eq!(Kind::of(path, text), expected, "{path}");
    }
}

use super::*;

fn arguments(all: &[&str]) -> Arguments {
    Arguments::new(&all.iter().map(|argument| (*argument).to_owned()).collect::<Vec<_>>())
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

#[test]
fn an_entry_gets_them_at_its_end() {
    let arch = "title    Arch Linux install medium (%ARCH%, UEFI)\nsort-key 01\nlinux    /arch/boot/x86_64/vmlinuz-linux\ninitrd   /arch/boot/x86_64/initramfs-linux.img\noptions  archisobasedir=arch archisosearchuuid=1\n";
    for (before, after, lines) in [
        (arch.to_owned(), arch.replace("uuid=1", "uuid=1 x ds=nocloud;s=u"), 1),
        (
            "linux /v\noptions a\noptions rd.live.check b".to_owned(),
            "linux /v\noptions a\noptions  b x ds=nocloud;s=u".to_owned(),
            1,
        ),
        ("linux /v".to_owned(), "linux /v\noptions x ds=nocloud;s=u\n".to_owned(), 1),
        (
            "title Shell\nefi /shell.efi\noptions a\n".to_owned(),
            "title Shell\nefi /shell.efi\noptions a\n".to_owned(),
            0,
        ),
        ("# linux /v\n".to_owned(), "# linux /v\n".to_owned(), 0),
    ] {
        let edited = edit_entry(before.as_bytes(), &arguments(&["x", "ds=nocloud;s=u"]));
        assert_eq!((text(edited.text), edited.kernel_lines), (after, lines));
    }
}

#[test]
fn a_menu_that_waits_for_a_person_does_not() {
    for (before, after) in [
        ("timeout 15\ndefault a.conf\n", "timeout 5\ndefault a.conf\n"),
        ("timeout menu-force\n", "timeout 5\n"),
        ("timeout menu-hidden\n", "timeout menu-hidden\n"),
        ("timeout 0\n", "timeout 0\n"),
        ("#timeout 100\nbeep on\n", "#timeout 100\nbeep on\n"),
    ] {
        assert_eq!(text(edit_loader(before.as_bytes()).text), after);
    }
}

#[test]
fn a_unified_kernel_image_gets_an_entry_that_is_started() {
    let entry = entry_for(
        "EFI/Linux/talos.efi",
        "Talos",
        "talos.platform=metal  rd.live.check console=tty0\n",
        &arguments(&["talos.config=http://h/"]),
    );
    assert_eq!(
        text(entry),
        "title Talos\nefi /EFI/Linux/talos.efi\noptions talos.platform=metal console=tty0 talos.config=http://h/\n"
    );
    for (before, after) in [
        ("", "default b.conf\n"),
        ("timeout 60\n", "timeout 5\ndefault b.conf\n"),
        ("default @saved\ntimeout 3", "default b.conf\ntimeout 3"),
    ] {
        assert_eq!(text(loader_with_default(before.as_bytes(), "b.conf")), after);
    }
}

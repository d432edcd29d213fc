use super::*;

fn edited(text: &str, main: bool, arguments: &[&str]) -> (String, usize) {
    let arguments: Vec<String> = arguments.iter().map(|argument| (*argument).to_owned()).collect();
    let edited = edit(text.as_bytes(), main, &Arguments::new(&arguments));
    (String::from_utf8(edited.text).unwrap(), edited.kernel_lines)
}

#[test]
fn debian_gets_them_before_what_is_for_the_installed_system() {
    let before = "label installgui\n\tmenu label ^Graphical install\n\tmenu default\n\tkernel /install.amd/vmlinuz\n\tappend vga=788 initrd=/install.amd/gtk/initrd.gz --- quiet \n";
    let (after, lines) = edited(before, false, &["ds=nocloud;s=http://h/", r#"a="b c""#]);
    let expected = before.replace("--- quiet", r#"ds=nocloud;s=http://h/ a="b c" --- quiet"#);
    assert_eq!((after, lines), (expected, 1));
}

#[test]
fn what_debian_starts_when_nobody_is_there_gets_them_too() {
    let before = "# D-I config version 2.0\ninclude menu.cfg\ndefault vesamenu.c32\nprompt 0\ntimeout 300\nontimeout /install.amd/vmlinuz vga=788 initrd=/install.amd/gtk/initrd.gz speakup.synth=soft --- quiet\nmenu autoboot Press a key\n";
    let (after, lines) = edited(before, true, &["x"]);
    let expected = before.replace("timeout 300", "timeout 50").replace("soft ---", "soft x ---");
    assert_eq!((after, lines), (expected, 1));
}

#[test]
fn fedora_and_flatcar_have_no_separator() {
    let before = "default vesamenu.c32\ntimeout 600\nlabel check\n  menu label Test this ^media & install Fedora\n  menu default\n  kernel vmlinuz\n  append initrd=initrd.img inst.stage2=hd:LABEL=F rd.live.check quiet\nlabel flatcar\n  menu default\n  kernel /flatcar/vmlinuz\n  append initrd=/flatcar/cpio.gz flatcar.autologin\n";
    let (after, lines) = edited(before, true, &["x", "y=z"]);
    let expected = before
        .replace("timeout 600", "timeout 50")
        .replace(" rd.live.check quiet", " quiet x y=z")
        .replace("flatcar.autologin", "flatcar.autologin x y=z");
    assert_eq!((after, lines), (expected, 2));
}

#[test]
fn arch_writes_in_capitals_and_explains_itself() {
    let before = "LABEL arch64\nTEXT HELP\nBoot it.\nAPPEND is for people here.\nENDTEXT\nMENU LABEL Arch Linux\nLINUX /arch/boot/x86_64/vmlinuz-linux\nINITRD /arch/boot/x86_64/initramfs-linux.img\nAPPEND archisobasedir=arch archisosearchuuid=1\n";
    let (after, lines) = edited(before, false, &["x"]);
    assert_eq!((after, lines), (before.replace("uuid=1", "uuid=1 x"), 1));
}

#[test]
fn sections_are_looked_at_one_by_one() {
    for (before, after, lines) in [
        // A kernel without parameters gets a line of its own, unless there is a general one.
        ("label a\n  kernel v\n", "label a\n  kernel v\n  append x\n", 1),
        ("label a\r\n  linux v\r\nlabel b\r\n", "label a\r\n  linux v\n  append x\r\nlabel b\r\n", 1),
        ("append g\nlabel a\nkernel v\n", "append g x\nlabel a\nkernel v\n", 2),
        ("label a\nkernel v\nappend -\n", "label a\nkernel v\nappend x\n", 1),
        // The label is the kernel where no line names one.
        ("label linux\nappend a\n", "label linux\nappend a x\n", 1),
        ("label a\nkernel v\nappend\n", "label a\nkernel v\nappend x\n", 1),
        // These start something else.
        ("label a\nkernel vesamenu.c32\nappend b.cfg\n", "label a\nkernel vesamenu.c32\nappend b.cfg\n", 0),
        ("label a\ncom32 chain.c32\nappend hd0\n", "label a\ncom32 chain.c32\nappend hd0\n", 0),
        ("label a\nlocalboot 0x80\nappend -\n", "label a\nlocalboot 0x80\nappend -\n", 0),
        ("label a\nkernel memtest\nappend -\n", "label a\nkernel memtest\nappend -\n", 0),
        ("label a\nkernel memdisk\nappend iso\n", "label a\nkernel memdisk\nappend iso\n", 0),
        ("# append a\nmenu title b\ninclude c.cfg\n", "# append a\nmenu title b\ninclude c.cfg\n", 0),
        ("default a\n", "default a\n", 0),
        ("default vesamenu.c32 b.cfg\n", "default vesamenu.c32 b.cfg\n", 0),
    ] {
        assert_eq!(edited(before, false, &["x"]), (after.to_owned(), lines), "{before:?}");
    }
}

#[test]
fn a_menu_that_waits_for_a_person_does_not() {
    for (before, main, after) in [
        ("timeout 0\n", false, "timeout 50\n"),
        ("TIMEOUT 9000\n", true, "TIMEOUT 50\n"),
        ("timeout 100\n", true, "timeout 100\n"),
        ("prompt 1\n", true, "timeout 50\nprompt 1\n"),
        ("prompt 1\n", false, "prompt 1\n"),
        ("totaltimeout 9000\n", false, "totaltimeout 9000\n"),
    ] {
        assert_eq!(edited(before, main, &["x"]).0, after);
    }
}

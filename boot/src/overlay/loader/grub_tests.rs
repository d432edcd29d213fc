use super::*;

const DATA_SOURCE: &str = "ds=nocloud;s=http://192.0.2.1/c/x/";

fn edited(text: &str, arguments: &[&str]) -> (String, usize) {
    let arguments: Vec<String> = arguments.iter().map(|argument| (*argument).to_owned()).collect();
    let edited = edit(text.as_bytes(), &Arguments::new(&arguments)).unwrap();
    (String::from_utf8(edited.text).unwrap(), edited.kernel_lines)
}

#[test]
fn debian_gets_them_before_what_is_for_the_installed_system_and_a_menu_that_moves_on() {
    let before = r#"if [ x$feature_default_font_path = xy ] ; then
   font=unicode
fi
insmod play
play 960 440 1 0 4 440 1
set theme=/boot/grub/theme/1
menuentry --hotkey=g 'Graphical install' {
    set background_color=black
    linux    /install.amd/vmlinuz vga=788 --- quiet
    initrd   /install.amd/gtk/initrd.gz
}
submenu --hotkey=a 'Advanced options ...' {
    menuentry '... Rescue mode' {
        linux    /install.amd/vmlinuz vga=788 rescue/enable=true --- quiet
        initrd   /install.amd/initrd.gz
    }
}
"#;
    let (after, lines) = edited(before, &[DATA_SOURCE, "auto=true"]);
    let expected = before
        .replace("vga=788 --- quiet", "vga=788 'ds=nocloud;s=http://192.0.2.1/c/x/' auto=true --- quiet")
        .replace(
            "rescue/enable=true --- quiet",
            "rescue/enable=true 'ds=nocloud;s=http://192.0.2.1/c/x/' auto=true --- quiet",
        );
    assert_eq!(after, format!("set timeout=5\n{expected}"));
    assert_eq!(lines, 2);
}

#[test]
fn ubuntu_keeps_its_short_time_and_its_memory_tester() {
    let before = "set timeout=30\n\nloadfont unicode\n\nmenuentry \"Try or Install Ubuntu Server\" {\n\tset gfxpayload=keep\n\tlinux\t/casper/vmlinuz  ---\n\tinitrd\t/casper/initrd\n}\ngrub_platform\nif [ \"$grub_platform\" = \"efi\" ]; then\nmenuentry 'UEFI Firmware Settings' {\n\tfwsetup\n}\nelse\nmenuentry 'Test memory' {\n\tlinux16 /boot/memtest86+x64.bin\n}\nfi\n";
    let (after, lines) = edited(before, &["autoinstall", DATA_SOURCE]);
    let expected = before.replace("timeout=30", "timeout=5").replace(
        "/casper/vmlinuz  ---",
        "/casper/vmlinuz  autoinstall 'ds=nocloud;s=http://192.0.2.1/c/x/' ---",
    );
    assert_eq!((after, lines), (expected, 1));
}

#[test]
fn fedora_no_longer_checks_itself() {
    let before = r#"set default="1"
set timeout=60
search --no-floppy --set=root -l 'Fedora-S-dvd-x86_64-41'
menuentry 'Install Fedora 41' --class fedora --class gnu-linux {
	linux /images/pxeboot/vmlinuz inst.stage2=hd:LABEL=Fedora-S-dvd-x86_64-41 quiet
	initrd /images/pxeboot/initrd.img
}
menuentry 'Test this media & install Fedora 41' --class fedora {
	linuxefi /images/pxeboot/vmlinuz inst.stage2=hd:LABEL=Fedora-S-dvd-x86_64-41 rd.live.check quiet
	initrdefi /images/pxeboot/initrd.img
}
"#;
    let (after, lines) = edited(before, &["inst.ks=http://192.0.2.1/c/x/ks"]);
    let expected = before
        .replace("timeout=60", "timeout=5")
        .replace(" rd.live.check", "")
        .replace(" quiet\n", " quiet inst.ks=http://192.0.2.1/c/x/ks\n");
    assert_eq!((after, lines), (expected, 2));
}

#[test]
fn opensuse_starts_what_a_variable_says() {
    let before = "timeout=10\nset linux=linux\nif [ \"${grub_cpu}\" = \"x86_64\" ]; then set linux=linuxefi; fi\nmenuentry 'Installation' --class opensuse {\n  set gfxpayload=keep\n  $linux /boot/x86_64/loader/linux splash=silent\n  ${initrd} /boot/x86_64/loader/initrd\n}\n";
    let (after, lines) = edited(before, &["autoyast=http://h/a"]);
    assert_eq!(after, before.replace("splash=silent", "splash=silent autoyast=http://h/a"));
    assert_eq!(lines, 1);
}

#[test]
fn lines_quotes_comments_and_blocks_are_read_as_grub_does() {
    for (before, after) in [
        ("linux /v a \\\n  b\ninitrd /i", "linux /v a \\\n  b x\ninitrd /i"),
        ("linux /v \\\n rd.live.check \\\n b\n", "linux /v \\\n b x\n"),
        ("if true; then linux /v; fi", "if true; then linux /v x; fi"),
        ("menuentry a { linux /v a }", "set timeout=5\nmenuentry a { linux /v a x }"),
        ("linux /v 'a;b' \"c d\" # e", "linux /v 'a;b' \"c d\" x # e"),
        ("linux /v '---' q", "linux /v x '---' q"),
        ("linux /v a#b ${c} --", "linux /v a#b ${c} x --"),
        ("linux$sfx /v\r\ninitrd /i\r\n", "linux$sfx /v x\r\ninitrd /i\r\n"),
        ("linux16 /v", "linux16 /v x"),
        ("linux \"/v a\"", "linux \"/v a\" x"),
        ("# linux /v", "# linux /v"),
        ("echo linux /v", "echo linux /v"),
        ("linux", "linux"),
        ("linuxrc /v", "linuxrc /v"),
        ("set linux=/v", "set linux=/v"),
        ("linux /v 'open", "linux /v x 'open"),
    ] {
        assert_eq!(edited(before, &["x"]).0, after);
    }
}

#[test]
fn a_menu_that_waits_for_a_person_does_not() {
    for (before, after) in [
        ("set timeout=-1", "set timeout=5"),
        ("set timeout=\"60\"", "set timeout=5"),
        ("set timeout=$menu_time", "set timeout=5"),
        ("  timeout=600;", "  timeout=5;"),
        ("set timeout=0", "set timeout=0"),
        ("set timeout=10", "set timeout=10"),
        ("set timeout_style=menu", "set timeout_style=menu"),
        (
            "if x; then\nset timeout=-1\nelse\nset timeout=3\nfi",
            "if x; then\nset timeout=5\nelse\nset timeout=3\nfi",
        ),
        (
            "search --file --set=root /.disk/info\nconfigfile /boot/grub/grub.cfg\n",
            "search --file --set=root /.disk/info\nconfigfile /boot/grub/grub.cfg\n",
        ),
    ] {
        assert_eq!(edited(before, &["x"]), (after.to_owned(), 0));
    }
}

#[test]
fn a_value_with_spaces_is_handed_over_as_one() {
    let (after, _) = edited("linux /v", &[r#"dyndbg="file a.c +p""#]);
    assert_eq!(after, "linux /v 'dyndbg=file a.c +p'");
}

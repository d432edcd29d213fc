//! Images laid out as well-known ones are.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use beskar7_e2e::isos::{Isos, Layout};

use crate::{
    presented::{Presented, differences},
    tools::Tools,
};

const DATA_SOURCE: &str = "ds=nocloud;s=http://192.0.2.1:8080/c/0123456789abcdef/nocloud/";

/// So many that no configuration stays in its sector.
fn many() -> Vec<String> {
    (0..60).map(|number| format!("beskar7.parameter.{number}=0123456789abcdef0123456789abcdef")).collect()
}

/// The files that differ, and those that differ in the EFI system partition.
fn expected(layout: Layout) -> (Vec<&'static str>, Vec<&'static str>) {
    match layout {
        Layout::Debian => (vec!["boot/grub/grub.cfg", "isolinux/txt.cfg", "md5sum.txt"], vec![]),
        Layout::Ubuntu => (vec!["boot/grub/grub.cfg", "md5sum.txt"], vec![]),
        Layout::Fedora => (vec!["EFI/BOOT/grub.cfg", "boot/grub2/grub.cfg"], vec!["EFI/BOOT/grub.cfg"]),
        Layout::Rhel => (
            vec!["EFI/BOOT/grub.cfg", "images/efiboot.img", "isolinux/isolinux.cfg"],
            vec!["EFI/BOOT/grub.cfg"],
        ),
        Layout::Flatcar => {
            (vec!["boot/grub/grub.cfg", "isolinux/isolinux.cfg", "syslinux/syslinux.cfg"], vec![])
        }
        Layout::SystemdBoot => (vec!["efiboot.img"], vec!["loader/entries/image.conf"]),
        Layout::Uki => (vec!["efiboot.img"], vec!["loader/entries/beskar7.conf", "loader/loader.conf"]),
    }
}

async fn check(tools: &Tools, isos: &Isos, layout: Layout, arguments: &[&str]) -> Result<()> {
    let image = isos.iso(layout, &[]).await?;
    let presented = Presented::new(tools, &image, arguments).await?;
    let (files, in_partition) = expected(layout);
    let trees = presented.differences().await?;
    for (tree, differences) in &trees {
        // What the EFI system partition was made from may lie beside it.
        let names = differences.keys().filter(|path| !path.to_lowercase().contains(".d/"));
        let names: BTreeSet<String> = names.map(|path| path.to_lowercase()).collect();
        let expected: BTreeSet<String> = files.iter().map(|path| path.to_lowercase()).collect();
        ensure!(names == expected, "{tree}: {names:?}, and not {expected:?}");
    }
    for (path, (_, is)) in &trees["any"] {
        check_text(&presented, path, is, arguments).await?;
    }
    check_partition(&presented, &in_partition, arguments).await?;
    presented.check_structures().await?;
    presented.check_configuration(arguments)?;
    if files.contains(&"md5sum.txt") {
        presented.check_sums().await?;
    }
    Ok(())
}

/// Checks what a boot loader will read.
async fn check_text(presented: &Presented, path: &str, text: &[u8], arguments: &[&str]) -> Result<()> {
    if path.ends_with(".img") || path.ends_with("md5sum.txt") {
        return Ok(());
    }
    let text = String::from_utf8_lossy(text);
    ensure!(!text.contains("rd.live.check"), "{path} checks itself: {text}");
    let starts_kernel = text.contains("initrd") || text.contains("options");
    ensure!(!starts_kernel || arguments.iter().all(|argument| text.contains(argument)), "{path}: {text}");
    if path.ends_with("grub.cfg") {
        presented.check_script(&text).await.with_context(|| format!("{path}: {text}"))?;
    }
    Ok(())
}

async fn check_partition(presented: &Presented, expected: &[&str], arguments: &[&str]) -> Result<()> {
    let before = presented.system_partition(&presented.original_file()).await?;
    let after = presented.system_partition(&presented.file()).await?;
    let changed = differences(&before, after)?;
    let names: Vec<&str> = changed.keys().map(String::as_str).collect();
    ensure!(names == expected, "in the EFI system partition: {names:?}, and not {expected:?}");
    for (path, (_, is)) in &changed {
        check_text(presented, path, is, arguments).await?;
    }
    Ok(())
}

#[tokio::test]
async fn every_layout_differs_in_its_configuration_and_in_nothing_else() -> Result<()> {
    let test = "every_layout_differs_in_its_configuration_and_in_nothing_else";
    let (Some(tools), Some(isos)) = (Tools::find(test), Isos::shared(test)?) else { return Ok(()) };
    let many = many();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    for layout in Layout::ALL {
        for arguments in [&[DATA_SOURCE, "autoinstall"][..], &many] {
            let checked = check(&tools, &isos, layout, arguments).await;
            checked.with_context(|| format!("{}, {} parameters", layout.name(), arguments.len()))?;
        }
    }
    Ok(())
}

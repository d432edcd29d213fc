//! Trees: with and without Rock Ridge and Joliet, the enhanced one, and files of several names.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};

use crate::{
    presented::Presented,
    small::{GRUB, ISOLINUX, Small},
    tools::Tools,
};

/// Longer than a sector.
fn long() -> String {
    format!("long={}", "0123456789".repeat(300))
}

#[tokio::test]
async fn a_file_is_changed_in_every_tree_that_names_it() -> Result<()> {
    let test = "a_file_is_changed_in_every_tree_that_names_it";
    let Some(tools) = Tools::find(test) else { return Ok(()) };
    let long = long();
    for options in [
        &["-r", "-J"][..],
        &["-r"],
        &["-J", "--norock"],
        &["--norock"],
        // ISO 9660:1999 has a tree of its own besides.
        &["-iso-level", "4", "-J", "-r"],
        &["-iso-level", "4", "--norock"],
        // Directories of several sectors, and names that primary trees cut.
        &["-r", "-J", "-joliet-long", "-iso-level", "1"],
    ] {
        for argument in ["short=1", &long] {
            let small = Small::new(&tools)?;
            small.write("boot/grub/grub.cfg", GRUB)?;
            small.write("isolinux/isolinux.cfg", ISOLINUX)?;
            small.write("loader/entries/a-rather-long-name.conf", "linux /images/vmlinuz\n")?;
            small.write("pool/main/grub.cfg", GRUB)?;
            for number in 0..100 {
                small.write(&format!("boot/grub/x86_64-efi/module-{number}.mod"), format!("{number}"))?;
            }
            let image = small.iso(options).await?;
            let presented = Presented::new(&tools, &image, &[argument]).await?;
            for (tree, differences) in presented.differences().await? {
                let changed =
                    differences.values().filter(|(_, is)| String::from_utf8_lossy(is).contains(argument));
                let expected = presented.overlay.changed_files().len();
                ensure!(changed.count() == expected, "{options:?}, {tree}: {:?}", differences.keys());
                ensure!(differences.len() == expected, "{options:?}, {tree}: {:?}", differences.keys());
                ensure!(!differences.keys().any(|path| path.to_lowercase().starts_with("pool")));
            }
            let has_long_names = options.contains(&"-r") || options.contains(&"-J");
            let expected = if has_long_names || options.contains(&"4") { 3 } else { 2 };
            let changed = presented.overlay.changed_files();
            ensure!(changed.len() == expected, "{options:?}: {changed:?}");
            ensure!(presented.has_grown() == (argument == long), "{options:?}");
            presented.check_structures().await.with_context(|| format!("{options:?}"))?;
            presented.check_configuration(&[argument])?;
            check_volume_size(&presented)?;
        }
    }
    Ok(())
}

/// The volume is as large as the image, and says so in every descriptor, in both byte orders.
fn check_volume_size(presented: &Presented) -> Result<()> {
    let mut sizes = BTreeSet::new();
    for descriptor in presented.bytes[16 * 2048..].chunks(2048).take_while(|sector| sector[0] != 255) {
        if matches!(descriptor[0], 1 | 2) {
            let little = u32::from_le_bytes(descriptor[80..84].try_into()?);
            ensure!(little == u32::from_be_bytes(descriptor[84..88].try_into()?));
            sizes.insert(little);
        }
    }
    let last = presented.overlay.loader_configuration().last().context("nothing has changed")?;
    ensure!(sizes.len() == 1 && sizes.iter().all(|size| u64::from(*size) * 2048 >= last.end), "{sizes:?}");
    Ok(())
}

#[tokio::test]
async fn all_names_of_a_file_are_redirected() -> Result<()> {
    let test = "all_names_of_a_file_are_redirected";
    let Some(tools) = Tools::find(test) else { return Ok(()) };
    let small = Small::new(&tools)?;
    small.write("boot/grub/grub.cfg", GRUB)?;
    std::fs::create_dir_all(small.at("EFI/BOOT"))?;
    std::fs::hard_link(small.at("boot/grub/grub.cfg"), small.at("EFI/BOOT/grub.cfg"))?;
    let image = small.iso(&["-r", "-J", "-cache-inodes"]).await?;
    let long = long();
    let presented = Presented::new(&tools, &image, &[&long]).await?;
    ensure!(presented.overlay.changed_files().len() == 1, "{:?}", presented.overlay.changed_files());
    for (tree, differences) in presented.differences().await? {
        let names: BTreeSet<String> = differences.keys().map(|path| path.to_lowercase()).collect();
        ensure!(names.iter().eq(["boot/grub/grub.cfg", "efi/boot/grub.cfg"]), "{tree}: {names:?}");
    }
    Ok(())
}

#[tokio::test]
async fn a_partition_with_trees_of_its_own_shows_the_same() -> Result<()> {
    let test = "a_partition_with_trees_of_its_own_shows_the_same";
    let Some(tools) = Tools::find(test) else { return Ok(()) };
    let small = Small::new(&tools)?;
    small.write("boot/grub/grub.cfg", GRUB)?;
    let image = small.iso(&["-r", "-J", "-partition_offset", "16"]).await?;
    let long = long();
    for argument in ["short=1", &long] {
        let presented = Presented::new(&tools, &image, &[argument]).await?;
        for tree in ["any", "norock", "ecma119"] {
            let differences = presented.partition_differences(tree).await?;
            let (path, (_, is)) = differences.first_key_value().context("nothing has changed")?;
            ensure!(differences.len() == 1 && path.to_lowercase() == "boot/grub/grub.cfg", "{tree}: {path}");
            let text = String::from_utf8_lossy(is);
            ensure!(text.contains(argument) && text.ends_with("}\n"), "{tree}: {text}");
        }
        for (tree, differences) in presented.differences().await? {
            ensure!(differences.len() == 1, "{tree}: {:?}", differences.keys());
        }
        presented.check_structures().await?;
    }
    Ok(())
}

#[tokio::test]
async fn an_image_without_a_kernel_line_is_refused_with_the_other_ways() -> Result<()> {
    let test = "an_image_without_a_kernel_line_is_refused_with_the_other_ways";
    let Some(tools) = Tools::find(test) else { return Ok(()) };
    let small = Small::new(&tools)?;
    small.write("boot/grub/grub.cfg", "set timeout=60\nconfigfile /elsewhere.cfg\n")?;
    small.write("pool/grub.cfg", GRUB)?;
    let image = small.iso(&["-r", "-J"]).await?;
    let error = Presented::new(&tools, &image, &["a"]).await.err().context("it was taken")?.to_string();
    for way in ["PreBakedISO", "spec.configVolume", "UefiTarget"] {
        ensure!(error.contains(way), "{error}");
    }
    Ok(())
}

//! EFI system partitions: of each kind of FAT, with and without room.

use anyhow::{Context, Result, ensure};

use crate::{
    presented::{Presented, differences},
    small::{GRUB, Small},
    tools::Tools,
};

/// How an image shows its EFI system partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shown {
    /// As a file of its tree.
    File,
    /// As a file of its tree that is a partition besides.
    Hybrid,
    /// As a partition behind the tree.
    Appended,
}

/// Longer than what is free in any cluster.
fn long() -> String {
    format!("long={}", "0123456789".repeat(900))
}

async fn image(
    tools: &Tools,
    shown: Shown,
    bits: u8,
    kib: u64,
    full: bool,
) -> Result<(Small, std::path::PathBuf)> {
    let small = Small::new(tools)?;
    let inside = [
        ("EFI/BOOT/BOOTX64.EFI", "a loader"),
        ("EFI/BOOT/grub.cfg", GRUB),
        ("EFI/BOOT/fonts/unicode-with-a-long-name.pf2", "a font"),
    ];
    let file =
        if shown == Shown::Appended { small.beside("esp.img") } else { small.at("images/efiboot.img") };
    small.fat(&file, bits, kib, &inside, full).await?;
    let options = options(shown, &file.to_string_lossy());
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let image = small.iso(&options).await?;
    Ok((small, image))
}

fn options(shown: Shown, file: &str) -> Vec<String> {
    let options = match shown {
        Shown::File => "-r -J -e images/efiboot.img -no-emul-boot".to_owned(),
        Shown::Hybrid => "-r -J -isohybrid-mbr /usr/lib/ISOLINUX/isohdpfx.bin -b images/vmlinuz -no-emul-boot -boot-load-size 4 -eltorito-alt-boot -e images/efiboot.img -no-emul-boot -isohybrid-gpt-basdat".to_owned(),
        Shown::Appended => format!("-r -J -partition_offset 16 -append_partition 2 C12A7328-F81F-11D2-BA4B-00A0C93EC93B {file} -appended_part_as_gpt -b images/vmlinuz -no-emul-boot -boot-load-size 4 -eltorito-alt-boot -e --interval:appended_partition_2:all:: -no-emul-boot"),
    };
    options.split(' ').map(str::to_owned).collect()
}

#[tokio::test]
async fn a_partition_of_each_kind_is_rebuilt_in_its_place_or_behind_the_image() -> Result<()> {
    let test = "a_partition_of_each_kind_is_rebuilt_in_its_place_or_behind_the_image";
    let Some(tools) = Tools::find(test) else { return Ok(()) };
    let long = long();
    for shown in [Shown::File, Shown::Hybrid, Shown::Appended] {
        for (bits, kib) in [(12, 1440), (16, 8 * 1024), (32, 40 * 1024)] {
            for full in [false, true] {
                let what = format!("{shown:?}, {bits} bits, full: {full}");
                let (_small, image) =
                    image(&tools, shown, bits, kib, full).await.with_context(|| what.clone())?;
                let presented =
                    Presented::new(&tools, &image, &[&long]).await.with_context(|| what.clone())?;
                check(&presented, shown, full, &long).await.with_context(|| what)?;
            }
        }
    }
    Ok(())
}

async fn check(presented: &Presented, shown: Shown, full: bool, argument: &str) -> Result<()> {
    ensure!(presented.has_grown() == full);
    for (tree, differences) in presented.differences().await? {
        // The catalog has a name too; it says where the partition is.
        let names = differences.keys().filter(|path| !path.to_lowercase().starts_with("boot.cat"));
        let names: Vec<&String> = names.collect();
        ensure!(names.len() == usize::from(shown != Shown::Appended), "{tree}: {names:?}");
    }
    let before = presented.system_partition(&presented.original_file()).await?;
    let after = presented.system_partition(&presented.file()).await?;
    let changed = differences(&before, after)?;
    let (path, (_, is)) = changed.first_key_value().context("nothing has changed")?;
    ensure!(changed.len() == 1 && path == "EFI/BOOT/grub.cfg", "{:?}", changed.keys());
    ensure!(String::from_utf8_lossy(is).contains(argument));
    presented.check_structures().await?;
    presented.check_configuration(&[argument])?;
    check_partition_tables(presented, shown).await?;
    // What is held is what differs, and not the file system.
    ensure!(presented.overlay.held() < 200 * 1024, "{} bytes are held", presented.overlay.held());
    Ok(())
}

/// The partitions that show the file system show it where firmware starts it.
async fn check_partition_tables(presented: &Presented, shown: Shown) -> Result<()> {
    let (_, catalog) = presented.reports("-report_el_torito").await?;
    let line = catalog.iter().find(|line| line.starts_with("El Torito boot img") && line.contains("UEFI"));
    let block: u64 = line.and_then(|line| line.split_whitespace().last()).context("no UEFI")?.parse()?;
    let (_, areas) = presented.reports("-report_system_area").await?;
    let shows = |line: &&String| line.split_whitespace().any(|word| word == (block * 4).to_string());
    let tables: Vec<&String> = areas.iter().filter(shows).collect();
    let expected = match shown {
        Shown::File => 0,
        // In both tables.
        Shown::Hybrid => 2,
        Shown::Appended => 1,
    };
    ensure!(tables.len() == expected, "{block}: {areas:#?}");
    Ok(())
}

#[tokio::test]
async fn a_partition_that_would_become_another_kind_is_refused() -> Result<()> {
    let test = "a_partition_that_would_become_another_kind_is_refused";
    let Some(tools) = Tools::find(test) else { return Ok(()) };
    // 4083 clusters of a kibibyte: one less than a FAT of 12 bits can have.
    let (_small, image) = image(&tools, Shown::File, 12, 4112, true).await?;
    let error = Presented::new(&tools, &image, &[&long()]).await.err().context("it was taken")?.to_string();
    ensure!(error.contains("12 bits") && error.contains("PreBakedISO"), "{error}");
    Ok(())
}

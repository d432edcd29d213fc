//! Images that know nothing of their host, through the overlay: firmware and boot loader read them with the host's
//! parameters in them.

use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use beskar7_boot::overlay::Image;
use beskar7_boot::source::Source;
use beskar7_e2e::isos::{Isos, Layout};
use bytes::Bytes;

use super::boot::{Machine, boot, everywhere};
use super::desk::Desk;

/// The configuration is inside the FAT, where only the boot loader that firmware starts reads it.
#[tokio::test]
async fn a_uefi_machine_boots_with_parameters_put_into_the_fat_of_its_image() -> Result<()> {
    let test = "a_uefi_machine_boots_with_parameters_put_into_the_fat_of_its_image";
    let Some(isos) = Isos::shared(test)? else { return Ok(()) };
    boots(&isos, Layout::SystemdBoot, Machine::Uefi).await
}

#[tokio::test]
async fn a_bios_machine_boots_with_parameters_put_into_isolinux_of_its_image() -> Result<()> {
    let test = "a_bios_machine_boots_with_parameters_put_into_isolinux_of_its_image";
    let Some(isos) = Isos::shared(test)? else { return Ok(()) };
    boots(&isos, Layout::Debian, Machine::Bios).await
}

#[tokio::test]
#[ignore = "long: make firmware"]
async fn every_layout_boots_through_the_overlay_under_every_firmware() -> Result<()> {
    let test = "every_layout_boots_through_the_overlay_under_every_firmware";
    let Some(isos) = Isos::shared(test)? else { return Ok(()) };
    everywhere(&isos, boots).await
}

async fn boots(isos: &Isos, layout: Layout, machine: Machine) -> Result<()> {
    let desk = Desk::start().await?;
    let source: Arc<dyn Source> = Arc::new(Bytes::from(std::fs::read(isos.iso(layout, &[]).await?)?));
    let image = Image::inspect(source.as_ref()).await.context("looking at the image")?;
    // What hosts get: a semicolon ends a command in GRUB's shell, and a second one would start with `s=`.
    let seed = format!("ds=nocloud;s={}", desk.configuration());
    let mut arguments = vec!["console=ttyS0".to_owned(), "b7.some=thing".to_owned(), seed];
    // The guest has no driver for sticks.
    let is_checked = layout.has_checksums() && !machine.is_stick();
    if is_checked {
        arguments.push("b7.check".to_owned());
    }
    let overlay = Arc::new(image.with_arguments(&arguments).context("putting the parameters in")?);
    let begin = Instant::now();
    let said = boot(isos, machine, Arc::new(overlay.over(source)), &desk).await?;
    eprintln!("{} in {machine:?}: {:.1} s", layout.name(), begin.elapsed().as_secs_f64());

    let line: Vec<_> = said.command_line.split_whitespace().collect();
    let own = layout.own_parameters().split_whitespace().filter(|own| *own != "rd.live.check");
    for expected in own.chain(arguments.iter().map(String::as_str)) {
        ensure!(line.contains(&expected), "{expected} is not among {line:?}");
    }
    ensure!(!line.contains(&"rd.live.check"), "the medium would be checked: {line:?}");
    if is_checked {
        ensure!(said.media.as_deref() == Some("every checksum is right"), "{said:?}");
    }
    Ok(())
}

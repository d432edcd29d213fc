//! Images as they are, with the parameters in their own configuration.

use std::sync::Arc;
use std::time::Instant;

use anyhow::{Result, ensure};
use beskar7_e2e::isos::{Isos, Layout};
use bytes::Bytes;

use super::boot::{Machine, boot, everywhere};
use super::desk::Desk;

#[tokio::test]
#[ignore = "long: make firmware"]
async fn every_layout_boots_by_itself_under_every_firmware() -> Result<()> {
    let test = "every_layout_boots_by_itself_under_every_firmware";
    let Some(isos) = Isos::shared(test)? else { return Ok(()) };
    everywhere(&isos, boots).await
}

async fn boots(isos: &Isos, layout: Layout, machine: Machine) -> Result<()> {
    let desk = Desk::start().await?;
    let parameter = format!("ds=nocloud;s={}", desk.configuration());
    let image = std::fs::read(isos.iso(layout, &["b7.some=thing", &parameter]).await?)?;
    let begin = Instant::now();
    let said = boot(isos, machine, Arc::new(Bytes::from(image)), &desk).await?;
    eprintln!("{} in {machine:?}: {:.1} s", layout.name(), begin.elapsed().as_secs_f64());
    let line: Vec<_> = said.command_line.split_whitespace().collect();
    for expected in layout.own_parameters().split_whitespace().chain(["b7.some=thing", parameter.as_str()]) {
        ensure!(line.contains(&expected), "{expected} is not among {line:?}");
    }
    Ok(())
}

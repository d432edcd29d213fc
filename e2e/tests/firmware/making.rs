//! How the ISOs are made.

use anyhow::Result;
use beskar7_e2e::isos::{Isos, Layout};

#[tokio::test]
async fn the_same_inputs_give_the_same_isos() -> Result<()> {
    let test = "the_same_inputs_give_the_same_isos";
    let Some(shared) = Isos::shared(test)? else { return Ok(()) };
    let again = Isos::new(shared.installed().clone())?;
    for layout in Layout::ALL {
        let first = std::fs::read(shared.iso(layout, &["console=ttyS0"]).await?)?;
        let second = std::fs::read(again.iso(layout, &["console=ttyS0"]).await?)?;
        assert!(first == second, "two {} images differ", layout.name());
    }
    Ok(())
}

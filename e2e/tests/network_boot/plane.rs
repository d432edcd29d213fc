//! A control plane in a laboratory, for tests of the whole manager there.

use anyhow::{Result, ensure};
use beskar7_e2e::installation;
use beskar7_e2e::lab::alone;

#[test]
#[ignore = "long: make network-boot"]
fn a_control_plane_runs_in_a_laboratory() -> Result<()> {
    let test = "a_control_plane_runs_in_a_laboratory";
    alone(module_path!(), test, async |_lab| {
        let plane = installation::installed().await?;
        for (name, _, ready) in plane.readiness().await? {
            ensure!(ready == "yes", "{name}: {ready}");
        }
        plane.stop().await
    })
}

//! Under which addresses a machine is known: what people declare, or what its system tells the BMC.

use std::net::Ipv4Addr;

use anyhow::{Result, ensure};
use beskar7_api::HostState;
use serde_json::json;

use super::life::until_state;
use super::owners::*;
use super::site::{Site, name};

#[tokio::test(flavor = "multi_thread")]
async fn addresses_are_declared_or_discovered_and_end_with_the_claim() -> Result<()> {
    let declared = |number| match number {
        0 => json!({
            "metadata": {"labels": {"host": name(0)}},
            "spec": {"addresses": [{"type": "InternalIP", "address": "10.0.0.1"}]},
        }),
        _ => json!({"metadata": {"labels": {"host": name(number)}}}),
    };
    let site = Site::open(Ipv4Addr::new(127, 49, 0, 1), 2, declared).await?;
    let client = &site.client;
    for number in 0..2 {
        let on = json!({"spec": {"hostSelector": {"matchLabels": {"host": name(number)}}}});
        make_machine(client, &format!("m-{number}"), &site.image, &json!({}), &on).await?;
    }
    for number in 0..2 {
        until_phase(client, &format!("m-{number}"), "Provisioned").await?;
        let told = vec!["169.254.0.9".parse()?, "10.0.0.2".parse()?, "fd00::2".parse()?];
        site.bmc(number, |bmc| bmc.machine.tell_addresses(told))?;
    }
    for (machine, wanted) in [("m-0", vec!["10.0.0.1"]), ("m-1", vec!["10.0.0.2", "fd00::2"])] {
        let has = until_machine(client, machine, "known by its addresses", |machine| {
            let status = machine.status.as_ref();
            status.is_some_and(|status| status.addresses.iter().map(|told| &told.address).eq(&wanted))
        });
        has.await?;
    }
    delete_machine(client, "m-1").await?;
    until_gone(client, "m-1").await?;
    let host = until_state(client, &name(1), HostState::Available).await?;
    ensure!(host.status.is_some_and(|status| status.addresses.is_empty()));
    site.close().await
}

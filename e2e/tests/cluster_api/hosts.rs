//! What became of the hosts: by the API, and by the machines themselves.

use std::collections::BTreeSet;

use anyhow::Result;
use beskar7_api::{HostState, PhysicalHost};
use beskar7_e2e::wait;
use beskar7_redfish_sim::machine::boot::OverrideEnabled;
use beskar7_redfish_sim::machine::power::PowerState;
use kube::api::ListParams;
use kube::{Api, ResourceExt};

use super::stack::{LIMIT, NAMESPACE, Stack};

/// The hosts that somebody holds.
pub async fn held(stack: &Stack) -> Result<BTreeSet<String>> {
    let hosts = Api::<PhysicalHost>::namespaced(stack.client.clone(), NAMESPACE);
    let all = hosts.list(&ListParams::default()).await?;
    let held = all.iter().filter(|host| host.spec.consumer_ref.is_some() || host.spec.claim_id.is_some());
    Ok(held.map(ResourceExt::name_any).collect())
}

/// Waits until so many hosts are held, and every other one is as if nobody had ever held it.
pub async fn until_held(stack: &Stack, count: usize) -> Result<()> {
    let hosts = &Api::<PhysicalHost>::namespaced(stack.client.clone(), NAMESPACE);
    let met = wait::until_true(format!("{count} hosts to be held, and the others free"), LIMIT, || async {
        stack.check().await?;
        let mut held = 0;
        let mut complaints = Vec::new();
        for host in hosts.list(&ListParams::default()).await? {
            if host.spec.consumer_ref.is_some() {
                held += 1;
            } else if let Err(complaint) = is_free(stack, &host) {
                complaints.push(format!("{}: {complaint}", host.name_any()));
            }
        }
        Ok(if held == count && complaints.is_empty() {
            Ok(())
        } else {
            Err(format!("{held} are held; {}", complaints.join(", ")))
        })
    });
    Ok(met.await?)
}

/// Nothing of the last consumer is left on a host or its machine.
fn is_free(stack: &Stack, host: &PhysicalHost) -> Result<(), String> {
    let state = host.status.as_ref().and_then(|status| status.state);
    if state != Some(HostState::Available) {
        return Err(format!("{state:?}"));
    }
    let spec = &host.spec;
    if spec.claim_id.is_some() || spec.boot_iso_source.is_some() || spec.boot.is_some() {
        return Err(format!("{:?}, {:?}, {:?}", spec.claim_id, spec.boot_iso_source, spec.boot));
    }
    let bmc = stack.racks.bmc(&host.name_any()).map_err(|error| error.to_string())?;
    bmc.with(|bmc, _| {
        let machine = &bmc.machine;
        let images = machine.slots().iter().filter(|slot| slot.image.is_some()).count();
        let (power, told) = (machine.power(), machine.boot().enabled);
        if power == PowerState::Off && images == 0 && told == OverrideEnabled::Disabled {
            Ok(())
        } else {
            Err(format!("{power:?}, {images} images, override {told:?}"))
        }
    })
}

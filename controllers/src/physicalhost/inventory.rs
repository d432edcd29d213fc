//! The parts of machines: read seldom, few at once, and written down for those who need them.

use std::time::Duration;

use beskar7_api::{
    GROUP, HardwareData, HardwareDataSpec, PhysicalHost, VERSION,
    hardware::{Architecture, Disk, Firmware, Hardware, MediaType, Nic},
};
use beskar7_core::host::contact::Parts;
use beskar7_redfish::{Drive, Inventory, Processor};
use kube::{
    Api, Client, Resource as _, ResourceExt as _,
    api::{Patch, PatchParams},
};
use serde_json::json;
use tokio::sync::Semaphore;

use super::{ReconcileError, bmcs::Known};
use crate::causes::causes;

/// How often the parts of a machine are read.
pub(super) const READ_AGAIN: Duration = Duration::from_secs(24 * 3600);
/// How many inventories are read at once: nobody waits for them, and each takes dozens of requests.
const AT_ONCE: usize = 16;
/// Who writes HardwareData, for the API server.
const MANAGER: &str = "beskar7";

/// Lets a few inventories be read at once.
pub(super) struct Inventories(Semaphore);

impl Inventories {
    pub(super) const fn new() -> Self {
        Self(Semaphore::const_new(AT_ONCE))
    }

    /// The parts of a machine, if it is time to read them and not too many are being read.
    pub(super) async fn read_if_due(&self, known: &Known, host: &PhysicalHost) -> Option<Parts> {
        if !known.inventory_is_due(is_known(host)) {
            return None;
        }
        let _turn = self.0.try_acquire().ok()?;
        match known.inventory().await {
            Ok(inventory) => Some(parts(&inventory)),
            Err(error) => {
                tracing::debug!(error = causes(&error), "the inventory can't be read; it is tried again");
                None
            }
        }
    }
}

/// Whether anything of the inventory was written down before.
fn is_known(host: &PhysicalHost) -> bool {
    let details = host.status.as_ref().and_then(|status| status.hardware_details.as_ref());
    details.is_some_and(|details| !(details.hardware.nics.is_empty() && details.hardware.storage.is_empty()))
}

/// Writes what a machine is made of where the platform team's tools find it, without anything of its BMC.
pub(super) async fn publish(client: &Client, host: &PhysicalHost) -> Result<(), ReconcileError> {
    let Some(hardware) = hardware(host) else { return Ok(()) };
    let Some(owner) = host.owner_ref(&()) else { return Ok(()) };
    let all: Api<HardwareData> = Api::namespaced(client.clone(), &host.namespace().unwrap_or_default());
    let name = host.name_any();
    let object = json!({
        "apiVersion": format!("{GROUP}/{VERSION}"),
        "kind": HardwareData::kind(&()),
        "metadata": { "name": name, "ownerReferences": [owner] },
        "spec": HardwareDataSpec { hardware },
    });
    all.patch(&name, &PatchParams::apply(MANAGER).force(), &Patch::Apply(&object))
        .await
        .map(|_| ())
        .map_err(|error| ReconcileError::Write(Box::new(error)))
}

fn hardware(host: &PhysicalHost) -> Option<Hardware> {
    Some(host.status.as_ref()?.hardware_details.as_ref()?.hardware.clone())
}

fn parts(inventory: &Inventory) -> Parts {
    let cpu = inventory.processors.first();
    Parts {
        cpu_model: cpu.and_then(|cpu| cpu.model.clone()),
        architecture: cpu.and_then(architecture),
        memory_modules: i32::try_from(inventory.memory.len()).ok().filter(|count| *count > 0),
        storage: inventory.drives.iter().map(disk).collect(),
        nics: inventory
            .nics
            .iter()
            .map(|nic| Nic {
                name: nic.name.clone(),
                mac_address: nic.mac_address.clone(),
                speed_mbps: nic.mbps,
                link_up: nic.link_up,
            })
            .collect(),
        firmware: inventory
            .firmware
            .iter()
            .map(|firmware| Firmware { name: firmware.name.clone(), version: firmware.version.clone() })
            .collect(),
    }
}

/// Redfish says `x86` for 64-bit ones, too, and `ARM` for either width; no server is a 32-bit one.
fn architecture(processor: &Processor) -> Option<Architecture> {
    match processor.architecture.as_deref()? {
        "x86" => Some(Architecture::Amd64),
        "ARM" => Some(Architecture::Arm64),
        _ => None,
    }
}

fn disk(drive: &Drive) -> Disk {
    let media_type = match (drive.protocol.as_deref(), drive.media_type.as_deref()) {
        (Some("NVMe"), _) => Some(MediaType::NVMe),
        (_, Some("SSD")) => Some(MediaType::SSD),
        (_, Some("HDD")) => Some(MediaType::HDD),
        (_, Some(_) | None) => None,
    };
    Disk {
        name: drive.name.clone(),
        model: drive.model.clone(),
        serial_number: drive.serial_number.clone(),
        wwn: None,
        size_bytes: drive.bytes,
        media_type,
    }
}

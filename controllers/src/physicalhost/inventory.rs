//! The parts of machines: read seldom, few at once, after what is more urgent, and written down for those who need them.

use std::{net::IpAddr, sync::Arc, time::Duration};

use beskar7_api::{
    GROUP, HardwareData, HardwareDataSpec, PhysicalHost, VERSION,
    address::{AddressType, MachineAddress},
    hardware::{Architecture, Disk, Firmware, Hardware, MediaType, Nic},
};
use beskar7_core::host::{
    contact::Parts, discovery::has_lost_details, errand::is_inspected, wants_addresses,
};
use beskar7_redfish::{Drive, Inventory, Processor};
use kube::{
    Api, Client, Resource as _, ResourceExt as _,
    api::{Patch, PatchParams},
};
use serde_json::json;
use tokio::sync::{Semaphore, mpsc::UnboundedSender, watch};

use super::{
    Key, ReconcileError,
    bmcs::{Known, Need},
};
use crate::causes::causes;

/// How often the parts of a machine are read.
pub(super) const READ_AGAIN: Duration = Duration::from_secs(24 * 3600);
/// How many inventories are read at once: nobody waits for them, and each takes dozens of requests.
const AT_ONCE: usize = 16;
/// As many addresses as a status may hold.
const MOST_ADDRESSES: usize = 128;
/// Who writes HardwareData, for the API server.
const MANAGER: &str = "beskar7";

/// Reads inventories in the background, a few at once.
pub(super) struct Inventories {
    turns: Arc<Semaphore>,
    /// How many hosts are looked at for the first time.
    first_looks: watch::Sender<usize>,
    /// Whose inventory was read: they are to be looked at.
    read: UnboundedSender<Key>,
}

/// A host is looked at for the first time, for as long as this is there.
pub(super) struct FirstLook<'a>(&'a watch::Sender<usize>);

impl Drop for FirstLook<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count = count.saturating_sub(1));
    }
}

impl Inventories {
    pub(super) fn new(read: UnboundedSender<Key>) -> Self {
        Self { turns: Arc::new(Semaphore::new(AT_ONCE)), first_looks: watch::Sender::new(0), read }
    }

    /// To be held while a host is looked at: what nothing is known of yet is more urgent than inventories.
    pub(super) fn yield_to(&self, host: &PhysicalHost) -> Option<FirstLook<'_>> {
        if host.status.is_some() {
            return None;
        }
        self.first_looks.send_modify(|count| *count = count.saturating_add(1));
        Some(FirstLook(&self.first_looks))
    }

    /// Has the parts of a machine read when it is its turn, if it is time to. The host is looked at then.
    pub(super) fn read_if_due(&self, key: &Key, known: &Arc<Known>, host: &PhysicalHost, poll: Duration) {
        let need = if wants_addresses(host) { Need::Addresses(poll) } else { Need::Parts };
        if !known.begins_inventory(is_known(host), need) {
            return;
        }
        let (turns, read) = (Arc::clone(&self.turns), self.read.clone());
        let mut first_looks = self.first_looks.subscribe();
        let (known, key) = (Arc::downgrade(known), key.clone());
        tokio::spawn(async move {
            // Neither fails before the manager ends.
            let Ok(_turn) = turns.acquire().await else { return };
            if first_looks.wait_for(|count| *count < AT_ONCE).await.is_err() {
                return;
            }
            // Its BMC may have been left meanwhile.
            let Some(known) = known.upgrade() else { return };
            match known.inventory().await {
                Ok(inventory) => {
                    known.inventory_is_read(Some(parts(&inventory)));
                    // Nobody listens any more only when everything ends.
                    let _ended = read.send(key);
                }
                Err(error) => {
                    known.inventory_is_read(None);
                    tracing::debug!(error = causes(&error), "the inventory can't be read; it is tried again");
                }
            }
        });
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
        "spec": HardwareDataSpec { hardware, inspection: None },
    });
    all.patch(&name, &PatchParams::apply(MANAGER).force(), &Patch::Apply(&object))
        .await
        .map(|_| ())
        .map_err(|error| ReconcileError::Write(Box::new(error)))
}

/// What the agent saw of the machine of a host, where that is written down and its errand not ended yet.
pub(super) async fn inspected(
    client: &Client,
    host: &PhysicalHost,
) -> Result<Option<Box<Hardware>>, ReconcileError> {
    if !is_inspected(host) && !has_lost_details(host) {
        return Ok(None);
    }
    let all: Api<HardwareData> = Api::namespaced(client.clone(), &host.namespace().unwrap_or_default());
    let found =
        all.get_opt(&host.name_any()).await.map_err(|error| ReconcileError::Inspection(Box::new(error)))?;
    Ok(found.and_then(|found| found.spec.inspection).map(|inspection| Box::new(inspection.hardware)))
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
                unknown_to_bmc: None,
            })
            .collect(),
        firmware: inventory
            .firmware
            .iter()
            .map(|firmware| Firmware { name: firmware.name.clone(), version: firmware.version.clone() })
            .collect(),
        addresses: inventory
            .nics
            .iter()
            .flat_map(|nic| &nic.addresses)
            .take(MOST_ADDRESSES)
            .map(internal)
            .collect(),
    }
}

fn internal(address: &IpAddr) -> MachineAddress {
    MachineAddress { type_: AddressType::InternalIP, address: address.to_string() }
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

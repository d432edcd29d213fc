//! What a machine is made of, part by part. Read after a host is known, and never in a hurry.

use std::collections::HashSet;
use std::net::IpAddr;

use serde_json::Value;

use crate::bmc::Bmc;
use crate::error::Error;
use crate::resource::Resource;
use crate::shown::shown;
use crate::system::System;

/// As many parts of a kind as are looked at.
const MOST_PARTS: usize = 256;

/// The parts of a machine. What the BMC does not tell is not there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Inventory {
    /// Processors, without accelerators.
    pub processors: Vec<Processor>,
    /// Memory modules that are there.
    pub memory: Vec<MemoryModule>,
    /// Disks.
    pub drives: Vec<Drive>,
    /// Network interfaces.
    pub nics: Vec<NetworkInterface>,
    /// Firmware, by component.
    pub firmware: Vec<Firmware>,
}

/// A processor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Processor {
    /// The maker's name for it.
    pub model: Option<String>,
    /// The architecture, in Redfish's words: x86, ARM.
    pub architecture: Option<String>,
    /// Cores.
    pub cores: Option<i64>,
    /// Threads.
    pub threads: Option<i64>,
}

/// A memory module.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemoryModule {
    /// Its size.
    pub mib: Option<i64>,
}

/// A disk.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Drive {
    /// What the controller calls it.
    pub name: Option<String>,
    /// The maker's model name.
    pub model: Option<String>,
    /// The maker's serial number.
    pub serial_number: Option<String>,
    /// Its size.
    pub bytes: Option<i64>,
    /// How it stores: HDD, SSD.
    pub media_type: Option<String>,
    /// How it is attached: SATA, SAS, NVMe.
    pub protocol: Option<String>,
}

/// A network interface.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NetworkInterface {
    /// What the BMC calls it.
    pub name: Option<String>,
    /// Its MAC address, in lower case.
    pub mac_address: Option<String>,
    /// The speed of its link, in Mbit/s.
    pub mbps: Option<i64>,
    /// Whether it has a link.
    pub link_up: Option<bool>,
    /// The addresses that the running system has on it, where that tells the BMC.
    pub addresses: Vec<IpAddr>,
}

/// The firmware of a component.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Firmware {
    /// The component.
    pub name: String,
    /// Its version.
    pub version: Option<String>,
}

impl Bmc {
    /// Reads all parts. A kind of part that the BMC does not have, or fails to tell, is left out: an inventory is no
    /// reason to lose a host.
    ///
    /// # Errors
    /// The BMC does not answer at all, or needs too long for all of it.
    pub async fn inventory(&self, system: &System) -> Result<Inventory, Error> {
        self.within_limit("the inventory", self.read_inventory(system)).await
    }

    async fn read_inventory(&self, system: &System) -> Result<Inventory, Error> {
        let resource = system.resource();
        let processors = self.parts(resource.link("Processors")).await?;
        let memory = self.parts(resource.link("Memory")).await?;
        let nics = self.parts(resource.link("EthernetInterfaces")).await?;
        let root = self.root().await?;
        let firmware = match root.link("UpdateService") {
            Some(path) => match self.told(path).await? {
                Some(service) => self.parts(service.link("FirmwareInventory")).await?,
                None => Vec::new(),
            },
            None => Vec::new(),
        };
        Ok(Inventory {
            processors: processors.iter().filter(|part| is_cpu(part)).map(processor).collect(),
            memory: memory.iter().filter(|part| is_present(part)).map(module).collect(),
            drives: self.drives(resource.link("Storage")).await?,
            nics: nics.iter().map(interface).collect(),
            firmware: firmware.iter().filter_map(component).collect(),
        })
    }

    async fn drives(&self, storage: Option<&str>) -> Result<Vec<Drive>, Error> {
        let controllers = self.parts(storage).await?;
        // In their order, and each once: two controllers may reach the same drive.
        let mut paths: Vec<&str> = Vec::new();
        let mut seen = HashSet::new();
        paths.extend(
            controllers
                .iter()
                .flat_map(|controller| controller.links("Drives"))
                .filter(|path| seen.insert(*path)),
        );
        let mut drives = Vec::new();
        for path in paths.into_iter().take(MOST_PARTS) {
            drives.extend(self.told(path).await?.as_ref().filter(|part| is_present(part)).map(drive));
        }
        Ok(drives)
    }

    async fn parts(&self, collection: Option<&str>) -> Result<Vec<Resource>, Error> {
        let Some(collection) = collection else { return Ok(Vec::new()) };
        let members = self.told_members(collection).await?;
        let mut parts = Vec::new();
        for path in members.iter().take(MOST_PARTS) {
            parts.extend(self.told(path).await?);
        }
        Ok(parts)
    }
}

fn is_cpu(part: &Resource) -> bool {
    is_present(part) && matches!(part.text("ProcessorType"), Some("CPU") | None)
}

fn is_present(part: &Resource) -> bool {
    part.text("Status/State") != Some("Absent")
}

fn text(part: &Resource, name: &str) -> Option<String> {
    part.text(name).map(shown)
}

fn processor(part: &Resource) -> Processor {
    Processor {
        model: text(part, "Model"),
        architecture: text(part, "ProcessorArchitecture"),
        cores: part.number("TotalCores"),
        threads: part.number("TotalThreads"),
    }
}

fn module(part: &Resource) -> MemoryModule {
    MemoryModule { mib: part.number("CapacityMiB") }
}

fn drive(part: &Resource) -> Drive {
    Drive {
        name: text(part, "Name"),
        model: text(part, "Model"),
        serial_number: text(part, "SerialNumber"),
        bytes: part.number("CapacityBytes"),
        media_type: text(part, "MediaType"),
        protocol: text(part, "Protocol"),
    }
}

fn interface(part: &Resource) -> NetworkInterface {
    NetworkInterface {
        name: text(part, "Id").or_else(|| text(part, "Name")),
        mac_address: part
            .text("MACAddress")
            .or_else(|| part.text("PermanentMACAddress"))
            .map(|address| shown(address).to_lowercase()),
        mbps: part.number("SpeedMbps").filter(|speed| *speed > 0),
        link_up: part.text("LinkStatus").map(|status| status == "LinkUp"),
        addresses: ["IPv4Addresses", "IPv6Addresses"].iter().flat_map(|name| addresses(part, name)).collect(),
    }
}

/// The addresses of a list under which others reach the system. BMCs fill it up with zeros.
fn addresses(part: &Resource, name: &str) -> Vec<IpAddr> {
    let all = part.at(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let read = |entry: &Value| entry.get("Address")?.as_str()?.parse().ok();
    all.iter().filter_map(read).filter(is_reachable).take(MOST_PARTS).collect()
}

fn is_reachable(address: &IpAddr) -> bool {
    let is_link_local = match address {
        IpAddr::V4(address) => address.is_link_local() || address.is_broadcast(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    };
    !(is_link_local || address.is_unspecified() || address.is_multicast())
}

fn component(part: &Resource) -> Option<Firmware> {
    Some(Firmware { name: text(part, "Name")?, version: text(part, "Version") })
}

/// Reads a resource as every kind of part, whatever it is.
#[cfg(feature = "fuzzing")]
pub(crate) fn read_as_every_part(part: &Resource) -> Inventory {
    Inventory {
        processors: Some(part).filter(|part| is_cpu(part)).map(processor).into_iter().collect(),
        memory: Some(part).filter(|part| is_present(part)).map(module).into_iter().collect(),
        drives: vec![drive(part)],
        nics: vec![interface(part)],
        firmware: component(part).into_iter().collect(),
    }
}

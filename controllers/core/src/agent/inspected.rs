//! What an agent saw of a machine, as it is written down. What it says is bounded: a machine may be anybody's.

use beskar7_agent_protocol::hardware::{self as seen, DiskKind};
use beskar7_api::{
    boot::BootMode,
    hardware::{Architecture, Cpu, Disk, Firmware, Hardware, MediaType, Memory, Nic},
    hardware_data::{Inspection, Neighbour, PciDevice},
};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

const MOST_DISKS: usize = 512;
const MOST_NICS: usize = 256;
const MOST_PCI: usize = 1024;
/// So many characters of each text.
const LONGEST: usize = 256;

/// As it is written down.
#[must_use]
pub fn inspection(inventory: &seen::Inventory, now: Timestamp) -> Inspection {
    Inspection {
        time: Time(Timestamp::from_second(now.as_second()).unwrap_or(now)),
        hardware: hardware(inventory),
        boot_mode: match inventory.boot_mode {
            seen::BootMode::Uefi => BootMode::UEFI,
            seen::BootMode::Bios => BootMode::Legacy,
        },
        tpm: text(inventory.tpm.as_deref()),
        neighbours: inventory.nics.iter().take(MOST_NICS).filter_map(neighbour).collect(),
        pci: inventory.pci.iter().take(MOST_PCI).map(pci).collect(),
    }
}

fn hardware(inventory: &seen::Inventory) -> Hardware {
    let system = &inventory.system;
    let firmware = system
        .firmware_version
        .as_deref()
        .map(|version| Firmware { name: "BIOS".to_owned(), version: text(Some(version)) });
    Hardware {
        manufacturer: text(system.manufacturer.as_deref()),
        model: text(system.product.as_deref()),
        serial_number: text(system.serial_number.as_deref()),
        uuid: text(system.uuid.as_deref()),
        cpu: Some(cpu(&inventory.cpu)),
        memory: Some(Memory { total_mib: i64::try_from(inventory.memory_bytes >> 20).ok(), modules: None }),
        storage: inventory.disks.iter().take(MOST_DISKS).map(disk).collect(),
        nics: inventory.nics.iter().take(MOST_NICS).map(nic).collect(),
        firmware: firmware.into_iter().collect(),
    }
}

fn cpu(cpu: &seen::Cpu) -> Cpu {
    let count = |number: u32| i32::try_from(number).ok().filter(|number| *number > 0);
    Cpu {
        architecture: match cpu.architecture.as_str() {
            "x86_64" => Some(Architecture::Amd64),
            "aarch64" => Some(Architecture::Arm64),
            _ => None,
        },
        model: text(cpu.model.as_deref()),
        sockets: count(cpu.sockets),
        cores: count(cpu.cores),
        threads: count(cpu.threads),
    }
}

fn disk(disk: &seen::Disk) -> Disk {
    Disk {
        name: text(Some(&disk.path)),
        model: text(disk.model.as_deref()),
        serial_number: text(disk.serial_number.as_deref()),
        wwn: text(disk.wwn.as_deref()),
        size_bytes: i64::try_from(disk.size_bytes).ok(),
        media_type: Some(match disk.kind {
            DiskKind::Hdd => MediaType::HDD,
            DiskKind::Ssd => MediaType::SSD,
            DiskKind::Nvme => MediaType::NVMe,
        }),
    }
}

fn nic(nic: &seen::Nic) -> Nic {
    Nic {
        name: text(Some(&nic.name)),
        mac_address: text(Some(&nic.mac_address)),
        speed_mbps: nic.speed_mbps.and_then(|speed| i64::try_from(speed).ok()),
        link_up: Some(nic.link_up),
        unknown_to_bmc: None,
    }
}

fn neighbour(nic: &seen::Nic) -> Option<Neighbour> {
    let other = nic.neighbour.as_ref()?;
    Some(Neighbour {
        nic: short(&nic.name),
        chassis: short(&other.chassis),
        port: short(&other.port),
        system_name: text(other.system_name.as_deref()),
        port_description: text(other.port_description.as_deref()),
    })
}

fn pci(device: &seen::PciDevice) -> PciDevice {
    PciDevice {
        address: short(&device.address),
        vendor: short(&device.vendor),
        device: short(&device.device),
        class: short(&device.class),
    }
}

/// As it is written down.
pub(super) fn text(text: Option<&str>) -> Option<String> {
    text.map(short).filter(|text| !text.is_empty())
}

fn short(text: &str) -> String {
    text.chars().filter(|character| !character.is_control()).take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::host::samples::at;

    #[test]
    fn what_an_agent_saw_is_written_in_the_words_of_the_api_and_bounded() {
        let inventory: seen::Inventory = serde_json::from_value(json!({
            "system": {"manufacturer": "M\u{7}", "serialNumber": "", "firmwareVersion": "1.2"},
            "bootMode": "uefi", "cpu": {"architecture": "aarch64", "cores": 4}, "memoryBytes": 2_147_483_648_u64, "tpm": "2.0",
            "disks": [{"path": "/dev/nvme0n1", "serialNumber": "S1", "sizeBytes": 1000, "kind": "nvme", "model": "x".repeat(999)}],
            "nics": [
                {"name": "eth0", "macAddress": "52:54:00:00:00:01", "linkUp": true, "speedMbps": 1000,
                 "neighbour": {"chassis": "c", "port": "p"}},
                {"name": "eth1"},
            ],
            "pci": vec![json!({"address": "0000:00:02.0", "vendor": "8086"}); 2000],
        }))
        .unwrap();
        let found = inspection(&inventory, at(7));
        assert_eq!(found.pci.len(), MOST_PCI);
        let mut found = serde_json::to_value(Inspection { pci: Vec::new(), ..found }).unwrap();
        let model = found["hardware"]["storage"][0]["model"].take();
        assert_eq!(model.as_str().map(str::len), Some(LONGEST));
        found["hardware"]["storage"][0].as_object_mut().unwrap().remove("model");
        assert_eq!(
            found,
            json!({
                "time": "1970-01-01T00:00:07Z", "bootMode": "UEFI", "tpm": "2.0",
                "hardware": {
                    "manufacturer": "M", "cpu": {"architecture": "arm64", "cores": 4}, "memory": {"totalMiB": 2048},
                    "storage": [{"name": "/dev/nvme0n1", "serialNumber": "S1", "sizeBytes": 1000, "mediaType": "NVMe"}],
                    "nics": [
                        {"name": "eth0", "macAddress": "52:54:00:00:00:01", "speedMbps": 1000, "linkUp": true},
                        {"name": "eth1", "linkUp": false},
                    ],
                    "firmware": [{"name": "BIOS", "version": "1.2"}],
                },
                "neighbours": [{"nic": "eth0", "chassis": "c", "port": "p"}],
            })
        );
    }
}

//! What the machine is made of: resources that only ever tell.

use std::net::IpAddr;

use serde_json::{Value, json};

use super::Bmc;
use super::resource::{self, DRIVES, Resource, has_media};
use super::root::set;
use crate::profiles::habits::Home;

const OK: [(&str, &str); 2] = [("State", "Enabled"), ("Health", "OK")];

/// The capacity of one memory module.
pub(super) const DIMM_MIB: u64 = 32 * 1024;
/// The cores of one processor.
pub(super) const CORES: u64 = 16;
/// The capacity of one drive.
const DRIVE_BYTES: u64 = 480_103_981_056;

pub(super) fn ok() -> Value {
    OK.into_iter().map(|(key, value)| (key.to_owned(), json!(value))).collect()
}

impl Bmc {
    pub(super) fn bystander(&self, i: usize) -> Option<Value> {
        let id = self.profile.bystanders.get(i)?;
        Some(json!({
            "@odata.id": resource::path(self.profile, &Resource::Bystander(i)),
            "@odata.type": format!("#ComputerSystem.{0}.ComputerSystem", self.profile.schemas.system),
            "Id": id,
            "Name": id,
            "SystemType": "Physical",
            "PowerState": "On",
            "Status": ok(),
        }))
    }

    pub(super) fn processor(&self, i: usize) -> Value {
        let names = &self.profile.names;
        let is_arm = names.processor_vendor == "ARM";
        json!({
            "@odata.id": resource::path(self.profile, &Resource::Processor(i)),
            "@odata.type": "#Processor.v1_13_0.Processor",
            "Id": format!("CPU{}", i + 1),
            "Name": format!("Processor {}", i + 1),
            "Socket": format!("CPU {}", i + 1),
            "ProcessorType": "CPU",
            "ProcessorArchitecture": if is_arm { "ARM" } else { "x86" },
            "InstructionSet": if is_arm { "ARM-A64" } else { "x86-64" },
            "Manufacturer": names.processor_vendor,
            "Model": names.processor,
            "MaxSpeedMHz": 3200,
            "TotalCores": CORES,
            "TotalThreads": CORES * 2,
            "Status": ok(),
        })
    }

    pub(super) fn dimm(&self, i: usize) -> Value {
        json!({
            "@odata.id": resource::path(self.profile, &Resource::Dimm(i)),
            "@odata.type": "#Memory.v1_13_0.Memory",
            "Id": format!("DIMM{}", i + 1),
            "Name": format!("DIMM {}", i + 1),
            "MemoryType": "DRAM",
            "MemoryDeviceType": "DDR4",
            "CapacityMiB": DIMM_MIB,
            "OperatingSpeedMhz": 3200,
            "SerialNumber": format!("{}M{}", self.identity.serial, i + 1),
            "Status": ok(),
        })
    }

    pub(super) fn nic(&self, i: usize) -> Value {
        let mut body = json!({
            "@odata.id": resource::path(self.profile, &Resource::Nic(i)),
            "@odata.type": "#EthernetInterface.v1_8_0.EthernetInterface",
            "Id": format!("NIC{}", i + 1),
            "Name": format!("NIC {}", i + 1),
            "MACAddress": self.identity.mac(i),
            "PermanentMACAddress": self.identity.mac(i),
            "SpeedMbps": 25000,
            "FullDuplex": true,
            "LinkStatus": "LinkUp",
            "InterfaceEnabled": true,
            "Status": ok(),
        });
        // The first one is the one that is used.
        let (v4, v6): (Vec<&IpAddr>, Vec<&IpAddr>) =
            self.machine.addresses().iter().partition(|told| told.is_ipv4());
        for (name, told) in [("IPv4Addresses", v4), ("IPv6Addresses", v6)] {
            if i == 0 && !told.is_empty() {
                let all = told.iter().map(|address| json!({ "Address": address.to_string() })).collect();
                set(&mut body, name, all);
            }
        }
        body
    }

    pub(super) fn storage(&self) -> Value {
        let drives: Vec<Value> = (0..DRIVES).map(|i| self.link(&Resource::Drive(i))).collect();
        json!({
            "@odata.id": resource::path(self.profile, &Resource::Storage),
            "@odata.type": "#Storage.v1_10_0.Storage",
            "Id": self.profile.names.storage,
            "Name": "Storage",
            "Drives": drives,
            "Drives@odata.count": DRIVES,
            "Status": ok(),
        })
    }

    pub(super) fn drive(&self, i: usize) -> Value {
        json!({
            "@odata.id": resource::path(self.profile, &Resource::Drive(i)),
            "@odata.type": "#Drive.v1_13_0.Drive",
            "Id": format!("Disk{}", i + 1),
            "Name": format!("Disk {}", i + 1),
            "CapacityBytes": DRIVE_BYTES,
            "BlockSizeBytes": 512,
            "MediaType": "SSD",
            "Protocol": "NVMe",
            "Manufacturer": "Beskar7",
            "Model": "Simulated SSD",
            "SerialNumber": format!("{}D{}", self.identity.serial, i + 1),
            "Status": ok(),
        })
    }

    pub(super) fn manager(&self) -> Value {
        let names = &self.profile.names;
        let mut body = json!({
            "@odata.id": resource::path(self.profile, &Resource::Manager),
            "@odata.type": format!("#Manager.{}.Manager", self.profile.schemas.manager),
            "Id": names.manager,
            "Name": "Manager",
            "ManagerType": "BMC",
            "Model": names.manager_model,
            "FirmwareVersion": names.firmware,
            "UUID": self.identity.bmc_uuid,
            "ServiceEntryPointUUID": self.identity.bmc_uuid,
            "PowerState": "On",
            "Status": ok(),
            "EthernetInterfaces": self.link(&Resource::ManagerNics),
            "Links": {
                "ManagerForServers": [self.link(&Resource::System)],
                "ManagerForChassis": [self.link(&Resource::Chassis)],
            },
            "Actions": {
                "#Manager.Reset": {
                    "target": resource::path(self.profile, &Resource::ManagerReset),
                    "ResetType@Redfish.AllowableValues": ["GracefulRestart"],
                },
            },
        });
        if has_media(self.profile, Home::Manager) {
            set(&mut body, "VirtualMedia", self.link(&Resource::MediaOf(Home::Manager)));
        }
        body
    }

    pub(super) fn manager_nic(&self) -> Value {
        json!({
            "@odata.id": resource::path(self.profile, &Resource::ManagerNic),
            "@odata.type": "#EthernetInterface.v1_8_0.EthernetInterface",
            "Id": "eth0",
            "Name": "Manager Ethernet Interface",
            "MACAddress": self.identity.mac(0xbe),
            "PermanentMACAddress": self.identity.mac(0xbe),
            "IPv4Addresses": [{
                "Address": self.identity.address.to_string(),
                "SubnetMask": "255.0.0.0",
                "AddressOrigin": "Static",
                "Gateway": null,
            }],
            "InterfaceEnabled": true,
            "LinkStatus": "LinkUp",
            "Status": ok(),
        })
    }

    pub(super) fn chassis(&self) -> Value {
        let names = &self.profile.names;
        json!({
            "@odata.id": resource::path(self.profile, &Resource::Chassis),
            "@odata.type": format!("#Chassis.{0}.Chassis", self.profile.schemas.chassis),
            "Id": names.chassis,
            "Name": "Chassis",
            "ChassisType": "RackMount",
            "Manufacturer": names.manufacturer,
            "Model": names.model,
            "SerialNumber": self.identity.serial,
            "PowerState": self.power_state().name(),
            "Status": ok(),
            "Links": {
                "ComputerSystems": [self.link(&Resource::System)],
                "ManagedBy": [self.link(&Resource::Manager)],
            },
        })
    }
}

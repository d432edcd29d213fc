//! The service root, collections, and the services that stand around the machine.

use serde_json::{Value, json};

use super::Bmc;
use super::resource::{self, FIRMWARES, REGISTRIES, Resource};
use crate::clock::Moment;

impl Bmc {
    pub(super) fn link(&self, to: &Resource) -> Value {
        json!({ "@odata.id": resource::path(self.profile, to) })
    }

    /// A collection of resources of one schema.
    pub(super) fn collection(&self, schema: &str, at: &Resource, members: &[Resource]) -> Value {
        let links: Vec<Value> = members.iter().map(|member| self.link(member)).collect();
        json!({
            "@odata.id": resource::path(self.profile, at),
            "@odata.type": format!("#{schema}Collection.{schema}Collection"),
            "Name": format!("{schema} Collection"),
            "Members": links,
            "Members@odata.count": members.len(),
        })
    }

    /// A collection whose members differ by number.
    pub(super) fn numbered(
        &self,
        schema: &str,
        at: &Resource,
        count: usize,
        member: fn(usize) -> Resource,
    ) -> Value {
        let members: Vec<Resource> = (0..count).map(member).collect();
        self.collection(schema, at, &members)
    }

    pub(super) fn root(&self) -> Value {
        let names = &self.profile.names;
        let mut root = json!({
            "@odata.id": "/redfish/v1/",
            "@odata.type": format!("#ServiceRoot.{}.ServiceRoot", self.profile.schemas.root),
            "Id": "RootService",
            "Name": "Root Service",
            "RedfishVersion": names.redfish_version,
            "UUID": self.identity.bmc_uuid,
            "Systems": self.link(&Resource::Systems),
            "Chassis": self.link(&Resource::Chassises),
            "Managers": self.link(&Resource::Managers),
            "SessionService": self.link(&Resource::SessionService),
            "AccountService": self.link(&Resource::AccountService),
            "Tasks": self.link(&Resource::TaskService),
            "UpdateService": self.link(&Resource::UpdateService),
            "Registries": self.link(&Resource::Registries),
            "Links": { "Sessions": self.link(&Resource::Sessions) },
            "ProtocolFeaturesSupported": {
                "ExcerptQuery": false,
                "FilterQuery": false,
                "OnlyMemberQuery": false,
                "SelectQuery": false,
            },
        });
        let optional = [("Vendor", names.vendor), ("Product", names.product)];
        for (key, value) in optional.into_iter().filter_map(|(key, value)| Some((key, value?))) {
            set(&mut root, key, json!(value));
        }
        if let Some(oem) = names.oem {
            set(&mut root, "Oem", json!({ oem: { "ManagerFirmwareVersion": names.firmware } }));
        }
        root
    }

    pub(super) fn odata(&self) -> Value {
        let entry = |name: &str, resource: &Resource| json!({ "name": name, "kind": "Singleton", "url": resource::path(self.profile, resource) });
        json!({
            "@odata.context": "/redfish/v1/$metadata",
            "value": [
                json!({ "name": "Service", "kind": "Singleton", "url": "/redfish/v1/" }),
                entry("Systems", &Resource::Systems),
                entry("Chassis", &Resource::Chassises),
                entry("Managers", &Resource::Managers),
                entry("SessionService", &Resource::SessionService),
                entry("Sessions", &Resource::Sessions),
                entry("AccountService", &Resource::AccountService),
                entry("Tasks", &Resource::TaskService),
                entry("UpdateService", &Resource::UpdateService),
                entry("Registries", &Resource::Registries),
            ],
        })
    }

    pub(super) fn task_service(&self) -> Value {
        json!({
            "@odata.id": resource::path(self.profile, &Resource::TaskService),
            "@odata.type": "#TaskService.v1_2_0.TaskService",
            "Id": "TaskService",
            "Name": "Task Service",
            "ServiceEnabled": true,
            "CompletedTaskOverWritePolicy": "Oldest",
            "LifeCycleEventOnTaskStateChange": false,
            "Tasks": self.link(&Resource::Tasks),
            "Status": { "State": "Enabled", "Health": "OK" },
        })
    }

    pub(super) fn tasks_collection(&self, now: Moment) -> Value {
        let members: Vec<Resource> =
            self.tasks.visible(now).map(|task| Resource::Task(task.id.clone())).collect();
        self.collection("Task", &Resource::Tasks, &members)
    }

    pub(super) fn task(&self, id: &str, now: Moment) -> Option<Value> {
        let task = self.tasks.visible(now).find(|task| task.id == id)?;
        let done = now >= task.done;
        let mut body = json!({
            "@odata.id": resource::path(self.profile, &Resource::Task(task.id.clone())),
            "@odata.type": "#Task.v1_5_0.Task",
            "Id": task.id,
            "Name": task.name,
            "StartTime": self.clock.wall(task.started),
            "TaskState": if done { "Completed" } else { "Running" },
            "TaskStatus": "OK",
            "PercentComplete": if done { 100 } else { 0 },
            "Messages": [],
        });
        if done {
            set(&mut body, "EndTime", json!(self.clock.wall(task.done)));
        }
        Some(body)
    }

    pub(super) fn update_service(&self) -> Value {
        json!({
            "@odata.id": resource::path(self.profile, &Resource::UpdateService),
            "@odata.type": "#UpdateService.v1_11_0.UpdateService",
            "Id": "UpdateService",
            "Name": "Update Service",
            "ServiceEnabled": true,
            "FirmwareInventory": self.link(&Resource::FirmwareInventory),
            "Status": { "State": "Enabled", "Health": "OK" },
        })
    }

    pub(super) fn firmware(&self, i: usize) -> Value {
        let names = &self.profile.names;
        let (what, version) =
            if i == 0 { ("BMC firmware", names.firmware) } else { ("System BIOS", names.bios) };
        json!({
            "@odata.id": resource::path(self.profile, &Resource::Firmware(i)),
            "@odata.type": "#SoftwareInventory.v1_7_0.SoftwareInventory",
            "Id": FIRMWARES.get(i).unwrap_or(&""),
            "Name": what,
            "Manufacturer": names.manufacturer,
            "Version": version,
            "Updateable": false,
            "Status": { "State": "Enabled", "Health": "OK" },
        })
    }

    pub(super) fn registry(&self, i: usize) -> Value {
        let id = REGISTRIES.get(i).unwrap_or(&"");
        json!({
            "@odata.id": resource::path(self.profile, &Resource::Registry(i)),
            "@odata.type": "#MessageRegistryFile.v1_1_3.MessageRegistryFile",
            "Id": id,
            "Name": "Base Message Registry File",
            "Languages": ["en"],
            "Registry": id,
            "Location": [{
                "Language": "en",
                "PublicationUri": format!("https://redfish.dmtf.org/registries/{id}.0.json"),
            }],
        })
    }
}

/// Sets a property of an object.
pub(super) fn set(body: &mut Value, key: &str, value: Value) {
    if let Some(object) = body.as_object_mut() {
        object.insert(key.to_owned(), value);
    }
}

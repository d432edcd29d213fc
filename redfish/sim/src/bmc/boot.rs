//! The System as it is shown, and changes of its boot override.

use std::time::Duration;

use http::{StatusCode, header};
use serde_json::{Map, Value, json};

use super::Bmc;
use super::access::Who;
use super::answer::{Answer, Request, error_object};
use super::inventory::{CORES, DIMM_MIB, ok};
use super::resource::{self, DIMMS, PROCESSORS, Resource, has_settings};
use super::root::set;
use crate::clock::Moment;
use crate::faults::Fault;
use crate::machine::boot::{Override, OverrideEnabled, Target};
use crate::profiles::habits::{BootMode, BootPlace, Listed, MediaReply};

const ENABLED: &str = "BootSourceOverrideEnabled";
const TARGET: &str = "BootSourceOverrideTarget";
const MODE: &str = "BootSourceOverrideMode";
const UEFI_TARGET: &str = "UefiTargetBootSourceOverride";
const HTTP_URI: &str = "HttpBootUri";

impl Bmc {
    pub(super) fn systems(&self) -> Value {
        let bystanders = (0..self.profile.bystanders.len()).map(Resource::Bystander);
        let members: Vec<Resource> = bystanders.chain([Resource::System]).collect();
        self.collection("ComputerSystem", &Resource::Systems, &members)
    }

    pub(super) fn system(&self, now: Moment) -> Value {
        let names = &self.profile.names;
        let mut body = json!({
            "@odata.id": resource::path(self.profile, &Resource::System),
            "@odata.type": format!("#ComputerSystem.{0}.ComputerSystem", self.profile.schemas.system),
            "Id": names.system,
            "Name": "System",
            "SystemType": "Physical",
            "Manufacturer": names.manufacturer,
            "Model": names.model,
            "SKU": names.sku,
            "SerialNumber": self.identity.serial,
            "UUID": self.identity.uuid,
            "BiosVersion": names.bios,
            "PowerState": self.power_state().name(),
            "Status": ok(),
            "Boot": self.boot(),
            "ProcessorSummary": {
                "Count": PROCESSORS,
                "CoreCount": CORES * PROCESSORS as u64,
                "LogicalProcessorCount": CORES * 2 * PROCESSORS as u64,
                "Model": names.processor,
            },
            "MemorySummary": {
                "TotalSystemMemoryGiB": DIMM_MIB * DIMMS as u64 / 1024,
            },
            "Processors": self.link(&Resource::Processors),
            "Memory": self.link(&Resource::Memory),
            "EthernetInterfaces": self.link(&Resource::Nics),
            "Storage": self.link(&Resource::Storages),
            "Links": {
                "Chassis": [self.link(&Resource::Chassis)],
                "ManagedBy": [self.link(&Resource::Manager)],
            },
            "Actions": { "#ComputerSystem.Reset": self.reset_action() },
        });
        if self.profile.boot.progress {
            let last = json!({
                "LastState": self.machine.progress(now).name(),
                "LastStateTime": self.clock.wall(self.machine.phase_since()),
            });
            set(&mut body, "BootProgress", last);
        }
        if let Some(home) = self.profile.media.system_link {
            set(&mut body, "VirtualMedia", self.link(&Resource::MediaOf(home)));
        }
        if has_settings(self.profile) {
            let settings = json!({
                "@odata.type": "#Settings.v1_3_0.Settings",
                "SettingsObject": self.link(&Resource::Settings),
            });
            set(&mut body, "@Redfish.Settings", settings);
        }
        body
    }

    pub(super) fn settings(&self) -> Value {
        json!({
            "@odata.id": resource::path(self.profile, &Resource::Settings),
            "@odata.type": format!("#ComputerSystem.{0}.ComputerSystem", self.profile.schemas.system),
            "Id": self.profile.names.settings,
            "Name": "Pending Settings",
            "Boot": self.boot(),
        })
    }

    fn reset_action(&self) -> Value {
        let mut action = json!({ "target": resource::path(self.profile, &Resource::SystemReset) });
        let habits = &self.profile.reset;
        if habits.listed != Listed::ActionInfo {
            let types: Vec<&str> = habits.types.iter().map(|kind| kind.name()).collect();
            set(&mut action, "ResetType@Redfish.AllowableValues", json!(types));
        }
        if habits.listed != Listed::Inline {
            let info = resource::path(self.profile, &Resource::ResetActionInfo);
            set(&mut action, "@Redfish.ActionInfo", json!(info));
        }
        action
    }

    fn boot(&self) -> Value {
        let habits = &self.profile.boot;
        let now = self.machine.boot();
        let targets: Vec<&str> = habits.targets.iter().map(|target| target.name()).collect();
        let durations: &[&str] =
            if habits.continuous { &["Disabled", "Once", "Continuous"] } else { &["Disabled", "Once"] };
        let mut boot = json!({
            ENABLED: now.enabled.name(),
            format!("{ENABLED}@Redfish.AllowableValues"): durations,
            TARGET: now.target.name(),
            format!("{TARGET}@Redfish.AllowableValues"): targets,
        });
        if habits.mode != BootMode::Absent {
            set(&mut boot, MODE, json!(now.mode));
            set(&mut boot, &format!("{MODE}@Redfish.AllowableValues"), json!(["Legacy", "UEFI"]));
        }
        if habits.targets.contains(&Target::UefiTarget) {
            set(&mut boot, UEFI_TARGET, json!(now.uefi_target));
        }
        if habits.targets.contains(&Target::UefiHttp) {
            set(&mut boot, HTTP_URI, json!(now.http_uri));
        }
        boot
    }

    pub(super) fn patch_system(
        &mut self,
        request: &Request,
        found: &Resource,
        body: &Map<String, Value>,
        who: &Who,
        now: Moment,
    ) -> Answer {
        if let Some(other) = body.keys().find(|key| *key != "Boot") {
            return Answer::unknown_property(other);
        }
        let Some(boot) = body.get("Boot").and_then(Value::as_object) else { return Answer::malformed() };
        if self.profile.boot.place == BootPlace::Settings && *found == Resource::System {
            return Answer::not_writable("Boot");
        }
        if self.profile.boot.refused_during_post && self.machine.in_post() {
            return Answer::error(
                StatusCode::BAD_REQUEST,
                "iLO.2.15.UnableToModifyDuringSystemPOST",
                "The operation cannot be completed while the system is in POST.",
                &[],
            );
        }
        let mut wanted = match self.wanted(boot) {
            Ok(wanted) => wanted,
            Err(refusal) => return *refusal,
        };
        wanted.obeyed = !self.faults.strikes(Fault::IgnoredOverride, &request.path);
        let changes_mode = wanted.mode != self.machine.boot().mode;
        self.machine.set_override(now, who, wanted);
        match self.profile.boot.mode {
            BootMode::ByJob { hidden, takes } if changes_mode => self.job(now, hidden, takes),
            BootMode::ByJob { .. } | BootMode::Kept | BootMode::Absent | BootMode::FallsBack => {
                self.changed(found, now)
            }
        }
    }

    /// The answer to a change that is done: the resource as it is now.
    pub(super) fn changed(&self, found: &Resource, now: Moment) -> Answer {
        if self.profile.media.reply == MediaReply::SuccessMessage {
            return success();
        }
        let Some(mut body) = self.read(found, now, false) else {
            return Answer::empty(StatusCode::NO_CONTENT);
        };
        let Some(etag) = self.etag(found, &body) else { return Answer::json(StatusCode::OK, body) };
        set(&mut body, "@odata.etag", json!(etag));
        Answer::json(StatusCode::OK, body).with(header::ETAG, &etag)
    }

    fn job(&mut self, now: Moment, hidden: Duration, takes: Duration) -> Answer {
        let (hidden, takes) = (self.pace.of(hidden), self.pace.of(takes));
        let task = self.tasks.begin(now, "Configure: BIOS.Setup.1-1", hidden, takes);
        let path = resource::path(self.profile, &Resource::Task(task.id));
        Answer::empty(StatusCode::ACCEPTED).with(header::LOCATION, &path)
    }

    /// The override that a PATCH asks for, on top of what is there.
    fn wanted(&self, boot: &Map<String, Value>) -> Result<Override, Box<Answer>> {
        let habits = &self.profile.boot;
        let mut wanted = self.machine.boot().clone();
        if habits.wants_enabled && boot.contains_key(TARGET) && !boot.contains_key(ENABLED) {
            return Err(Box::new(missing(ENABLED)));
        }
        if habits.mode == BootMode::FallsBack && !boot.contains_key(MODE) {
            "Legacy".clone_into(&mut wanted.mode);
        }
        for (key, value) in boot {
            self.apply(&mut wanted, key, value)?;
        }
        if wanted.target == Target::UefiHttp && wanted.http_uri.is_none() {
            return Err(Box::new(missing(HTTP_URI)));
        }
        if wanted.enabled == OverrideEnabled::Disabled {
            wanted.target = Target::None;
        }
        Ok(wanted)
    }

    fn apply(&self, wanted: &mut Override, key: &str, value: &Value) -> Result<(), Box<Answer>> {
        let habits = &self.profile.boot;
        let text = value.as_str();
        let bad = || Box::new(Answer::not_in_list(key, &value.to_string()));
        match key {
            ENABLED => {
                let enabled = text.and_then(OverrideEnabled::parse).ok_or_else(bad)?;
                if enabled == OverrideEnabled::Continuous && !habits.continuous {
                    return Err(bad());
                }
                wanted.enabled = enabled;
            }
            TARGET => {
                let target = text.and_then(Target::parse).ok_or_else(bad)?;
                if !habits.targets.contains(&target) {
                    return Err(bad());
                }
                wanted.target = target;
            }
            MODE if habits.mode != BootMode::Absent => {
                let mode = text.filter(|mode| ["UEFI", "Legacy"].contains(mode)).ok_or_else(bad)?;
                mode.clone_into(&mut wanted.mode);
            }
            UEFI_TARGET if habits.targets.contains(&Target::UefiTarget) => {
                wanted.uefi_target = text.map(str::to_owned);
            }
            HTTP_URI if habits.targets.contains(&Target::UefiHttp) => {
                wanted.http_uri = text.map(str::to_owned);
            }
            other => return Err(Box::new(Answer::unknown_property(other))),
        }
        Ok(())
    }
}

/// 200 with a body called `error` that says that all is well.
pub(super) fn success() -> Answer {
    let text = "The operation completed successfully.";
    Answer::json(StatusCode::OK, json!({ "error": error_object("Base.1.12.Success", text, &[]) }))
}

fn missing(property: &str) -> Answer {
    let text = format!("The property {property} is a required property and must be included in the request.");
    Answer::error(StatusCode::BAD_REQUEST, "Base.1.12.PropertyMissing", &text, &[property])
}

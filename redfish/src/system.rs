//! Which ComputerSystem a host is, and what it says of itself.

use beskar7_machine_uuid::MachineUuid;

use crate::bmc::{Bmc, Changed};
use crate::error::Error;
use crate::resource::{Packed, Resource};
use crate::shown::shown;

/// As many systems of one BMC as are looked at to find the one that can be reset.
const MOST_SYSTEMS: usize = 16;

/// Power, as the BMC reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Power {
    /// On.
    On,
    /// Off.
    Off,
    /// On its way on.
    PoweringOn,
    /// On its way off.
    PoweringOff,
    /// Paused.
    Paused,
    /// It does not say, or says something else.
    Unknown,
}

impl Power {
    fn of(text: Option<&str>) -> Self {
        match text {
            Some("On") => Self::On,
            Some("Off") => Self::Off,
            Some("PoweringOn") => Self::PoweringOn,
            Some("PoweringOff") => Self::PoweringOff,
            Some("Paused") => Self::Paused,
            Some(_) | None => Self::Unknown,
        }
    }
}

/// How far a machine has come in its boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BootProgress {
    /// Before the operating system: the firmware's own stages.
    Firmware,
    /// The operating system was started.
    OsBootStarted,
    /// The operating system runs.
    OsRunning,
    /// Nothing was reported since the last reset.
    None,
}

impl BootProgress {
    fn of(text: Option<&str>) -> Option<Self> {
        Some(match text? {
            "None" => Self::None,
            "OSBootStarted" => Self::OsBootStarted,
            "OSRunning" => Self::OsRunning,
            _ => Self::Firmware,
        })
    }
}

/// What a system says of itself, all from one read.
#[derive(Debug, Clone)]
pub struct System {
    resource: Resource,
}

impl System {
    pub(crate) fn new(resource: Resource) -> Self {
        Self { resource }
    }

    /// Its path on the BMC.
    #[must_use]
    pub fn path(&self) -> &str {
        self.resource.path()
    }

    /// Who made it.
    #[must_use]
    pub fn manufacturer(&self) -> Option<&str> {
        self.resource.text("Manufacturer")
    }

    /// The maker's model name.
    #[must_use]
    pub fn model(&self) -> Option<&str> {
        self.resource.text("Model")
    }

    /// The maker's serial number. Dell writes the service tag, by which everybody knows the machine, into SKU.
    #[must_use]
    pub fn serial_number(&self) -> Option<&str> {
        self.resource.text("SerialNumber").or_else(|| self.resource.text("SKU"))
    }

    /// The SMBIOS UUID, in lower case.
    #[must_use]
    pub fn uuid(&self) -> Option<String> {
        self.resource.text("UUID").map(str::to_lowercase)
    }

    /// Whether it is the machine of this UUID, in whichever byte order the two tell it.
    #[must_use]
    pub fn has_uuid(&self, uuid: MachineUuid) -> bool {
        let own = self.resource.text("UUID").and_then(MachineUuid::parse);
        own.is_some_and(|own| own.is_same_machine(uuid))
    }

    /// Power.
    #[must_use]
    pub fn power(&self) -> Power {
        Power::of(self.resource.text("PowerState"))
    }

    /// Its own health: OK, Warning or Critical.
    #[must_use]
    pub fn health(&self) -> Option<&str> {
        self.resource.text("Status/Health")
    }

    /// The health of it and all its parts.
    #[must_use]
    pub fn health_rollup(&self) -> Option<&str> {
        self.resource.text("Status/HealthRollup")
    }

    /// Whether it is enabled, as the BMC sees it.
    #[must_use]
    pub fn state(&self) -> Option<&str> {
        self.resource.text("Status/State")
    }

    /// How far its boot has come, where the BMC tells.
    #[must_use]
    pub fn boot_progress(&self) -> Option<BootProgress> {
        BootProgress::of(self.resource.text("BootProgress/LastState"))
    }

    /// The BIOS version.
    #[must_use]
    pub fn bios_version(&self) -> Option<&str> {
        self.resource.text("BiosVersion")
    }

    /// Cores and memory as the summaries tell them: enough to choose a host before the inventory is read.
    #[must_use]
    pub fn summary(&self) -> Summary {
        Summary {
            sockets: self.resource.number("ProcessorSummary/Count"),
            cores: self.resource.number("ProcessorSummary/CoreCount"),
            threads: self.resource.number("ProcessorSummary/LogicalProcessorCount"),
            memory_gib: self.resource.number("MemorySummary/TotalSystemMemoryGiB"),
        }
    }

    /// The same, for keeping: small.
    #[must_use]
    pub fn packed(&self) -> PackedSystem {
        PackedSystem(Packed::of(&self.resource, &KEPT))
    }

    pub(crate) fn resource(&self) -> &Resource {
        &self.resource
    }
}

/// What is asked of a system after it was read.
const KEPT: [&str; 20] = [
    "@Redfish.Settings",
    "Actions",
    "BiosVersion",
    "Boot",
    "BootProgress",
    "EthernetInterfaces",
    "Links",
    "Manufacturer",
    "Memory",
    "MemorySummary",
    "Model",
    "PowerState",
    "ProcessorSummary",
    "Processors",
    "SKU",
    "SerialNumber",
    "Status",
    "Storage",
    "UUID",
    "VirtualMedia",
];

/// A system that is kept until it is looked at the next time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackedSystem(Packed);

impl PackedSystem {
    /// The system again.
    #[must_use]
    pub fn unpacked(&self) -> System {
        System::new(self.0.unpacked())
    }
}

/// What the summaries of a system tell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Summary {
    /// Processors.
    pub sockets: Option<i64>,
    /// Their cores.
    pub cores: Option<i64>,
    /// Their threads.
    pub threads: Option<i64>,
    /// Memory, in GiB.
    pub memory_gib: Option<i64>,
}

impl Bmc {
    /// Finds the system: the one with this id, the one that the address names, the only one, or the only one that
    /// can be reset.
    ///
    /// # Errors
    /// There is none, none of that id, or several and none was named.
    pub async fn system(&self, id: Option<&str>) -> Result<System, Error> {
        self.within_limit("which system it has", self.find_system(id)).await
    }

    async fn find_system(&self, id: Option<&str>) -> Result<System, Error> {
        if let (None, Some(path)) = (id, self.address().system()) {
            let path = path.to_owned();
            return Ok(System::new(self.get(&path).await?));
        }
        let root = self.root().await?;
        let systems = root.link("Systems").ok_or_else(|| self.no_system())?;
        let members = self.members(systems).await?;
        match id {
            Some(id) => self.system_of_id(id, &members).await,
            None => self.only_system(&members).await,
        }
    }

    /// Reads a system again, unless it is what it was.
    ///
    /// # Errors
    /// The BMC did not answer, or not with a system.
    pub async fn refresh(&self, system: &System) -> Result<System, Error> {
        match self.get_if_changed(system.path(), system.resource.etag()).await? {
            Changed::No => Ok(system.clone()),
            Changed::To(resource) => Ok(System::new(resource)),
        }
    }

    async fn system_of_id(&self, id: &str, members: &[String]) -> Result<System, Error> {
        match members.iter().find(|path| id_of(path) == id) {
            Some(path) => Ok(System::new(self.get(path).await?)),
            None => Err(Error::NoSuchSystem {
                address: self.address().to_string(),
                wanted: id.to_owned(),
                present: ids(members),
            }),
        }
    }

    async fn only_system(&self, members: &[String]) -> Result<System, Error> {
        let mut resettable = Vec::new();
        match members {
            [] => return Err(self.no_system()),
            [only] => return Ok(System::new(self.get(only).await?)),
            several => {
                // A baseboard of accelerators is a system, too, but none that can be turned off and on.
                for path in several.iter().take(MOST_SYSTEMS) {
                    let resource = self.get(path).await?;
                    if resource.at("Actions/#ComputerSystem.Reset").is_some() {
                        resettable.push(System::new(resource));
                    }
                }
            }
        }
        match (resettable.pop(), resettable.is_empty()) {
            (Some(only), true) => Ok(only),
            (Some(_) | None, _) => {
                Err(Error::SeveralSystems { address: self.address().to_string(), present: ids(members) })
            }
        }
    }

    fn no_system(&self) -> Error {
        Error::NoSystem { address: self.address().to_string() }
    }
}

/// The last part of a path, which Redfish demands to be the Id.
fn id_of(path: &str) -> &str {
    path.trim_end_matches('/').rsplit('/').next().unwrap_or_default()
}

fn ids(members: &[String]) -> Vec<String> {
    members.iter().take(MOST_SYSTEMS).map(|path| shown(id_of(path))).collect()
}

//! Which resources a BMC has, and their addresses in both directions.
//!
//! Nothing is read or changed here.

use http::Method;

use super::accounts::Role;
use crate::profiles::Profile;
use crate::profiles::habits::{BootPlace, Home, Listed, MediaControl};

/// How many processors, memory modules, NICs and drives each machine has.
pub const PROCESSORS: usize = 2;
/// See [`PROCESSORS`].
pub const DIMMS: usize = 4;
/// See [`PROCESSORS`].
pub const NICS: usize = 2;
/// See [`PROCESSORS`].
pub const DRIVES: usize = 2;
/// Firmware components: the BMC's and the host's.
pub const FIRMWARES: [&str; 2] = ["BMC", "BIOS"];
/// The message registries that are named.
pub const REGISTRIES: [&str; 1] = ["Base.1.12"];

/// One resource, or the target of an action.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Resource {
    Versions,
    Root,
    Metadata,
    OData,
    SessionService,
    Sessions,
    Session(String),
    AccountService,
    Accounts,
    Account(String),
    Roles,
    Role(Role),
    Systems,
    System,
    Bystander(usize),
    Settings,
    ResetActionInfo,
    SystemReset,
    Processors,
    Processor(usize),
    Memory,
    Dimm(usize),
    Nics,
    Nic(usize),
    Storages,
    Storage,
    Drive(usize),
    Managers,
    Manager,
    ManagerReset,
    ManagerNics,
    ManagerNic,
    MediaOf(Home),
    Media(usize),
    Insert(usize),
    Eject(usize),
    Chassises,
    Chassis,
    TaskService,
    Tasks,
    Task(String),
    UpdateService,
    FirmwareInventory,
    Firmware(usize),
    Registries,
    Registry(usize),
}

/// Finds the resource at a path; a slash at the end makes no difference.
#[must_use]
pub fn find(profile: &Profile, path: &str) -> Option<Resource> {
    let parts: Vec<&str> = path.trim_end_matches('/').split('/').skip(1).collect();
    let (redfish, rest) = parts.split_first()?;
    if *redfish != "redfish" {
        return None;
    }
    match rest {
        [] => Some(Resource::Versions),
        ["v1"] => Some(Resource::Root),
        ["v1", "$metadata"] => Some(Resource::Metadata),
        ["v1", "odata"] => Some(Resource::OData),
        ["v1", service, rest @ ..] => below_root(profile, service, rest),
        _ => None,
    }
}

fn below_root(profile: &Profile, service: &str, rest: &[&str]) -> Option<Resource> {
    match service {
        "Systems" => below_systems(profile, rest),
        "Managers" => below_managers(profile, rest),
        "SessionService" => match rest {
            [] => Some(Resource::SessionService),
            ["Sessions"] => Some(Resource::Sessions),
            ["Sessions", id] => Some(Resource::Session((*id).to_owned())),
            _ => None,
        },
        "AccountService" => match rest {
            [] => Some(Resource::AccountService),
            ["Accounts"] => Some(Resource::Accounts),
            ["Accounts", id] => Some(Resource::Account((*id).to_owned())),
            ["Roles"] => Some(Resource::Roles),
            ["Roles", id] => Role::parse(id).map(Resource::Role),
            _ => None,
        },
        "Chassis" => match rest {
            [] => Some(Resource::Chassises),
            [id] if *id == profile.names.chassis => Some(Resource::Chassis),
            _ => None,
        },
        "TaskService" => match rest {
            [] => Some(Resource::TaskService),
            ["Tasks"] => Some(Resource::Tasks),
            ["Tasks", id] => Some(Resource::Task((*id).to_owned())),
            _ => None,
        },
        "UpdateService" => match rest {
            [] => Some(Resource::UpdateService),
            ["FirmwareInventory"] => Some(Resource::FirmwareInventory),
            ["FirmwareInventory", id] => position(&FIRMWARES, id).map(Resource::Firmware),
            _ => None,
        },
        "Registries" => match rest {
            [] => Some(Resource::Registries),
            [id] => position(&REGISTRIES, id).map(Resource::Registry),
            _ => None,
        },
        _ => None,
    }
}

fn below_systems(profile: &Profile, rest: &[&str]) -> Option<Resource> {
    let (system, rest) = match rest.split_first() {
        None => return Some(Resource::Systems),
        Some(split) => split,
    };
    if let Some(bystander) = position(profile.bystanders, system) {
        return rest.is_empty().then_some(Resource::Bystander(bystander));
    }
    if *system != profile.names.system {
        return None;
    }
    match rest {
        [] => Some(Resource::System),
        [id] if has_settings(profile) && *id == profile.names.settings => Some(Resource::Settings),
        ["ResetActionInfo"] => (profile.reset.listed != Listed::Inline).then_some(Resource::ResetActionInfo),
        ["Actions", "ComputerSystem.Reset"] => Some(Resource::SystemReset),
        ["Processors"] => Some(Resource::Processors),
        ["Processors", id] => numbered("CPU", id, PROCESSORS).map(Resource::Processor),
        ["Memory"] => Some(Resource::Memory),
        ["Memory", id] => numbered("DIMM", id, DIMMS).map(Resource::Dimm),
        ["EthernetInterfaces"] => Some(Resource::Nics),
        ["EthernetInterfaces", id] => numbered("NIC", id, NICS).map(Resource::Nic),
        ["Storage"] => Some(Resource::Storages),
        ["Storage", id] if *id == profile.names.storage => Some(Resource::Storage),
        ["Storage", id, "Drives", drive] if *id == profile.names.storage => {
            numbered("Disk", drive, DRIVES).map(Resource::Drive)
        }
        ["VirtualMedia", rest @ ..] => below_media(profile, Home::System, rest),
        _ => None,
    }
}

fn below_managers(profile: &Profile, rest: &[&str]) -> Option<Resource> {
    match rest {
        [] => Some(Resource::Managers),
        [id, rest @ ..] if *id == profile.names.manager => match rest {
            [] => Some(Resource::Manager),
            ["Actions", "Manager.Reset"] => Some(Resource::ManagerReset),
            ["EthernetInterfaces"] => Some(Resource::ManagerNics),
            ["EthernetInterfaces", "eth0"] => Some(Resource::ManagerNic),
            ["VirtualMedia", rest @ ..] => below_media(profile, Home::Manager, rest),
            _ => None,
        },
        _ => None,
    }
}

fn below_media(profile: &Profile, home: Home, rest: &[&str]) -> Option<Resource> {
    let (id, rest) = match rest.split_first() {
        None => return has_media(profile, home).then_some(Resource::MediaOf(home)),
        Some(split) => split,
    };
    let slot = profile.media.slots.iter().position(|slot| slot.home == home && slot.id == *id)?;
    let by_action = profile.media.control != MediaControl::Patch;
    match rest {
        [] => Some(Resource::Media(slot)),
        ["Actions", "VirtualMedia.InsertMedia"] if by_action => Some(Resource::Insert(slot)),
        ["Actions", "VirtualMedia.EjectMedia"] if by_action => Some(Resource::Eject(slot)),
        _ => None,
    }
}

/// Whether there are slots under this home.
#[must_use]
pub fn has_media(profile: &Profile, home: Home) -> bool {
    profile.media.slots.iter().any(|slot| slot.home == home)
}

/// Whether the System has a Settings object.
#[must_use]
pub fn has_settings(profile: &Profile) -> bool {
    profile.boot.place == BootPlace::Settings
}

fn position(names: &[&str], name: &str) -> Option<usize> {
    names.iter().position(|candidate| *candidate == name)
}

fn numbered(prefix: &str, id: &str, count: usize) -> Option<usize> {
    (0..count).find(|i| id.strip_prefix(prefix) == Some((i + 1).to_string().as_str()))
}

/// The address of a resource, without a trailing slash.
#[must_use]
pub fn path(profile: &Profile, resource: &Resource) -> String {
    let names = &profile.names;
    let system = |rest: &str| format!("/redfish/v1/Systems/{}{rest}", names.system);
    let manager = |rest: &str| format!("/redfish/v1/Managers/{}{rest}", names.manager);
    match resource {
        Resource::Versions => "/redfish".to_owned(),
        Resource::Root => "/redfish/v1".to_owned(),
        Resource::Metadata => "/redfish/v1/$metadata".to_owned(),
        Resource::OData => "/redfish/v1/odata".to_owned(),
        Resource::SessionService => "/redfish/v1/SessionService".to_owned(),
        Resource::Sessions => "/redfish/v1/SessionService/Sessions".to_owned(),
        Resource::Session(id) => format!("/redfish/v1/SessionService/Sessions/{id}"),
        Resource::Systems => "/redfish/v1/Systems".to_owned(),
        Resource::System => system(""),
        Resource::Bystander(i) => {
            format!("/redfish/v1/Systems/{}", profile.bystanders.get(*i).unwrap_or(&""))
        }
        Resource::Settings => system(&format!("/{}", names.settings)),
        Resource::ResetActionInfo => system("/ResetActionInfo"),
        Resource::SystemReset => system("/Actions/ComputerSystem.Reset"),
        Resource::Processors => system("/Processors"),
        Resource::Processor(i) => system(&format!("/Processors/CPU{}", i + 1)),
        Resource::Memory => system("/Memory"),
        Resource::Dimm(i) => system(&format!("/Memory/DIMM{}", i + 1)),
        Resource::Nics => system("/EthernetInterfaces"),
        Resource::Nic(i) => system(&format!("/EthernetInterfaces/NIC{}", i + 1)),
        Resource::Storages => system("/Storage"),
        Resource::Storage => system(&format!("/Storage/{}", names.storage)),
        Resource::Drive(i) => system(&format!("/Storage/{}/Drives/Disk{}", names.storage, i + 1)),
        Resource::Managers => "/redfish/v1/Managers".to_owned(),
        Resource::Manager => manager(""),
        Resource::ManagerReset => manager("/Actions/Manager.Reset"),
        Resource::ManagerNics => manager("/EthernetInterfaces"),
        Resource::ManagerNic => manager("/EthernetInterfaces/eth0"),
        Resource::MediaOf(Home::System) => system("/VirtualMedia"),
        Resource::MediaOf(Home::Manager) => manager("/VirtualMedia"),
        Resource::Media(slot) => media_path(profile, *slot),
        Resource::Insert(slot) => format!("{}/Actions/VirtualMedia.InsertMedia", media_path(profile, *slot)),
        Resource::Eject(slot) => format!("{}/Actions/VirtualMedia.EjectMedia", media_path(profile, *slot)),
        Resource::Chassises => "/redfish/v1/Chassis".to_owned(),
        Resource::Chassis => format!("/redfish/v1/Chassis/{}", names.chassis),
        Resource::AccountService => "/redfish/v1/AccountService".to_owned(),
        Resource::Accounts => "/redfish/v1/AccountService/Accounts".to_owned(),
        Resource::Account(id) => format!("/redfish/v1/AccountService/Accounts/{id}"),
        Resource::Roles => "/redfish/v1/AccountService/Roles".to_owned(),
        Resource::Role(role) => format!("/redfish/v1/AccountService/Roles/{}", role.name()),
        Resource::TaskService => "/redfish/v1/TaskService".to_owned(),
        Resource::Tasks => "/redfish/v1/TaskService/Tasks".to_owned(),
        Resource::Task(id) => format!("/redfish/v1/TaskService/Tasks/{id}"),
        Resource::UpdateService => "/redfish/v1/UpdateService".to_owned(),
        Resource::FirmwareInventory => "/redfish/v1/UpdateService/FirmwareInventory".to_owned(),
        Resource::Firmware(i) => {
            format!("/redfish/v1/UpdateService/FirmwareInventory/{}", FIRMWARES.get(*i).unwrap_or(&""))
        }
        Resource::Registries => "/redfish/v1/Registries".to_owned(),
        Resource::Registry(i) => format!("/redfish/v1/Registries/{}", REGISTRIES.get(*i).unwrap_or(&"")),
    }
}

fn media_path(profile: &Profile, slot: usize) -> String {
    let Some(kind) = profile.media.slots.get(slot) else { return String::new() };
    format!("{}/{}", path(profile, &Resource::MediaOf(kind.home)), kind.id)
}

/// What may be done to a resource.
#[must_use]
pub fn methods(profile: &Profile, resource: &Resource) -> &'static [Method] {
    const READ: &[Method] = &[Method::GET, Method::HEAD];
    const CHANGE: &[Method] = &[Method::GET, Method::HEAD, Method::PATCH];
    match resource {
        Resource::Sessions | Resource::Accounts => &[Method::GET, Method::HEAD, Method::POST],
        Resource::Account(_) => &[Method::GET, Method::HEAD, Method::PATCH, Method::DELETE],
        Resource::Session(_) => &[Method::GET, Method::HEAD, Method::DELETE],
        Resource::System | Resource::Settings | Resource::SessionService => CHANGE,
        Resource::Media(_) if profile.media.control == MediaControl::Patch => CHANGE,
        Resource::SystemReset | Resource::ManagerReset | Resource::Insert(_) | Resource::Eject(_) => {
            &[Method::POST]
        }
        Resource::Versions
        | Resource::Root
        | Resource::Metadata
        | Resource::OData
        | Resource::AccountService
        | Resource::Roles
        | Resource::Role(_)
        | Resource::Systems
        | Resource::Bystander(_)
        | Resource::ResetActionInfo
        | Resource::Processors
        | Resource::Processor(_)
        | Resource::Memory
        | Resource::Dimm(_)
        | Resource::Nics
        | Resource::Nic(_)
        | Resource::Storages
        | Resource::Storage
        | Resource::Drive(_)
        | Resource::Managers
        | Resource::Manager
        | Resource::ManagerNics
        | Resource::ManagerNic
        | Resource::MediaOf(_)
        | Resource::Media(_)
        | Resource::Chassises
        | Resource::Chassis
        | Resource::TaskService
        | Resource::Tasks
        | Resource::Task(_)
        | Resource::UpdateService
        | Resource::FirmwareInventory
        | Resource::Firmware(_)
        | Resource::Registries
        | Resource::Registry(_) => READ,
    }
}

/// Whether a resource is readable without credentials.
#[must_use]
pub fn is_public(resource: &Resource) -> bool {
    matches!(resource, Resource::Versions | Resource::Root | Resource::Metadata | Resource::OData)
}

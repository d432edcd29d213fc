//! A drive that the BMC can show to the machine, and how well it suits an ISO.

use serde_json::Value;

use crate::resource::Resource;

const INSERT: &str = "Actions/#VirtualMedia.InsertMedia/target";
const EJECT: &str = "Actions/#VirtualMedia.EjectMedia/target";

/// How well a slot suits an ISO: less is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fit {
    Cd,
    Dvd,
    Unsaid,
    Usb,
}

/// A drive that the BMC can show to the machine.
#[derive(Debug, Clone)]
pub struct Slot {
    resource: Resource,
}

impl Slot {
    pub(super) fn new(resource: Resource) -> Self {
        Self { resource }
    }

    /// Its path on the BMC.
    #[must_use]
    pub fn path(&self) -> &str {
        self.resource.path()
    }

    /// What is in it, as the BMC says.
    #[must_use]
    pub fn image(&self) -> Option<&str> {
        self.resource.text("Image")
    }

    /// Whether something is in it, as the BMC says. BMCs lie about this one: an image that is named counts.
    #[must_use]
    pub fn is_inserted(&self) -> bool {
        self.resource.flag("Inserted").unwrap_or(false) || self.image().is_some()
    }

    /// Whether it holds what was put into it. Some name the image otherwise than they were told, or not at all.
    pub(super) fn holds(&self, url: &str) -> bool {
        self.resource.flag("Inserted") == Some(true) || self.image() == Some(url)
    }

    /// Whether another slot is the same drive, shown in another place: by the same name (Lenovo lists its drives under
    /// the system and under the manager), or with the same image in it (Dell names them differently).
    pub(super) fn is_same_drive(&self, other: &Self) -> bool {
        let name = |slot: &Self| {
            let path = slot.path().trim_end_matches('/');
            path.rsplit_once('/').map(|(_, name)| name.to_owned())
        };
        name(self) == name(other) || (self.image().is_some() && self.image() == other.image())
    }

    /// Whether the BMC checks the certificate of an image's server, where it lets that be chosen.
    pub(super) fn checks_certificate(&self) -> Option<bool> {
        self.resource.flag("VerifyCertificate")
    }

    /// Where an image is inserted by an action; a slot without one is changed itself.
    pub(super) fn insert_action(&self) -> Option<&str> {
        self.resource.text(INSERT)
    }

    /// Where it is ejected by an action.
    pub(super) fn eject_action(&self) -> Option<&str> {
        self.resource.text(EJECT)
    }

    /// Whether images are mounted by an action of the maker's own instead. Huawei's iBMC, xFusion and H3C have one
    /// (`VmmControl`), which takes NFS and CIFS, and refuses http with FileTransferProtocolMismatch.
    pub(super) fn has_own_action(&self) -> bool {
        let oem = self.resource.at("Oem").and_then(Value::as_object);
        oem.into_iter().flatten().any(|(_, maker)| {
            maker.get("Actions").and_then(|actions| actions.get("#VirtualMedia.VmmControl")).is_some()
        })
    }

    /// Its version.
    pub(super) fn etag(&self) -> Option<&str> {
        self.resource.etag()
    }

    /// How well it suits an ISO: by what it says it is, never by its name or number. iLOs have their CD in slot 2, Cisco
    /// calls all of them DVD, Gigabyte says nothing.
    pub(super) fn fit(&self) -> Option<Fit> {
        let types = self.resource.texts("MediaTypes");
        if types.contains(&"CD") {
            Some(Fit::Cd)
        } else if types.contains(&"DVD") {
            Some(Fit::Dvd)
        } else if types.is_empty() {
            Some(Fit::Unsaid)
        } else if types.contains(&"USBStick") {
            Some(Fit::Usb)
        } else {
            None
        }
    }
}

#[cfg(feature = "fuzzing")]
impl Slot {
    /// Reads a resource as a slot, whatever it is.
    pub(crate) fn read_as_slot(resource: Resource) {
        let slot = Self::new(resource);
        std::hint::black_box((
            slot.path(),
            slot.is_inserted(),
            slot.holds("http://192.0.2.1/a.iso"),
            slot.fit(),
        ));
        std::hint::black_box((slot.insert_action(), slot.eject_action(), slot.has_own_action()));
        std::hint::black_box((slot.checks_certificate(), slot.etag(), slot.is_same_drive(&slot)));
    }
}

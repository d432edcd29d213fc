//! What is odd about a BMC: classified once from its service root, then asked by name.
//!
//! No other file knows a vendor. Each habit names where it was seen; most habits need no entry here, because the
//! client looks at what the BMC offers instead of at who made it.

use serde_json::{Value, json};

use crate::resource::Resource;

/// Who made the BMC's firmware, as far as it matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Maker {
    Dell,
    Hpe,
    Lenovo,
    Supermicro,
    Ami,
    Other,
}

/// The habits of one BMC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quirks {
    maker: Maker,
}

/// A change of a manager's own attributes, which does what an override does elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AttributeChange {
    /// Where the attributes are.
    pub(crate) path: String,
    /// What they become.
    pub(crate) body: Value,
}

/// Which drive an old iDRAC boots from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FirstBoot {
    /// The virtual CD, once.
    VirtualCd,
    /// As the firmware is set.
    Normal,
}

impl Quirks {
    /// Classifies a BMC by its service root: Vendor where it is given, else the names under Oem, else the product.
    #[must_use]
    pub fn of(root: &Resource) -> Self {
        let oem: Vec<&str> = root
            .at("Oem")
            .and_then(|oem| oem.as_object())
            .into_iter()
            .flatten()
            .map(|(name, _)| name.as_str())
            .collect();
        let named = root.text("Vendor").into_iter().chain(oem).chain(root.text("Product"));
        let maker = named.map(maker).find(|maker| *maker != Maker::Other).unwrap_or(Maker::Other);
        Self { maker }
    }

    /// Mode, Enabled and Target of an override must come together, or the PATCH is refused (seen on AMI MegaRAC,
    /// also under ASRockRack's name).
    #[must_use]
    pub fn override_needs_mode(self) -> bool {
        self.maker == Maker::Ami
    }

    /// `Cd` is the physical drive; the virtual one is called `UsbCd`. On Supermicro X11 to X13, but not on the ARS-111GL
    /// (sushy, `set_system_boot_options`).
    #[must_use]
    pub fn virtual_cd_is_usb(self, model: Option<&str>) -> bool {
        let calls_it_cd = model.is_some_and(|model| model.to_lowercase().starts_with("ars-111gl"));
        self.maker == Maker::Supermicro && !calls_it_cd
    }

    /// The machine boots from the image in slot 1 and not from one in slot 2, and slot 2 may be listed first (iDRAC9 and
    /// iDRAC10; dell/terraform-provider-redfish 327, dell/iDRAC-Redfish-Scripting 324).
    #[must_use]
    pub fn boots_from_slot_one(self) -> bool {
        self.maker == Maker::Dell
    }

    /// The settings object of a system (`/SD`) is for the BIOS alone, not for the override (AMI MegaRAC).
    #[must_use]
    pub fn settings_are_for_firmware_only(self) -> bool {
        self.maker == Maker::Ami
    }

    /// How the virtual CD is chosen on an iDRAC9 with firmware before 6.00, where `Cd` is the physical drive and nothing
    /// in the override names the virtual one (sushy-oem-idrac, `set_virtual_boot_device`; the attributes stand in the
    /// manager's attribute registry).
    #[must_use]
    pub(crate) fn first_boot(self, manager: &Resource, first: FirstBoot) -> Option<AttributeChange> {
        // An iDRAC10 counts its versions from 1 again.
        if !self.may_choose_by_attribute() || !(2..6).contains(&major_version(manager)?) {
            return None;
        }
        let named =
            manager.links("Links/Oem/Dell/DellAttributes").into_iter().find(|path| path.contains("iDRAC"));
        let default = format!("{}/Attributes", manager.path().trim_end_matches('/'));
        let attributes = match first {
            FirstBoot::VirtualCd => {
                json!({ "ServerBoot.1.BootOnce": "Enabled", "ServerBoot.1.FirstBootDevice": "VCD-DVD" })
            }
            FirstBoot::Normal => json!({ "ServerBoot.1.FirstBootDevice": "Normal" }),
        };
        let path = named.map_or(default, ToOwned::to_owned);
        Some(AttributeChange { path, body: json!({ "Attributes": attributes }) })
    }

    /// Whether it is worth reading the manager for [`Self::first_boot`].
    #[must_use]
    pub(crate) fn may_choose_by_attribute(self) -> bool {
        self.maker == Maker::Dell
    }
}

fn major_version(manager: &Resource) -> Option<u32> {
    manager.text("FirmwareVersion")?.split('.').next()?.parse().ok()
}

fn maker(name: &str) -> Maker {
    let name = name.to_lowercase();
    let known = [
        ("dell", Maker::Dell),
        ("idrac", Maker::Dell),
        ("hpe", Maker::Hpe),
        ("hp", Maker::Hpe),
        ("lenovo", Maker::Lenovo),
        ("supermicro", Maker::Supermicro),
        ("ami", Maker::Ami),
        ("asrock", Maker::Ami),
    ];
    let words: Vec<&str> = name.split(|c: char| !c.is_alphanumeric()).collect();
    known
        .into_iter()
        .find(|(known, _)| {
            words.iter().any(|word| word == known || (known.len() > 3 && word.starts_with(known)))
        })
        .map_or(Maker::Other, |(_, maker)| maker)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_bmc_is_known_by_its_service_root() {
        for (root, expected) in [
            (json!({"Vendor": "Dell", "Product": "Integrated Dell Remote Access Controller"}), Maker::Dell),
            (json!({"Vendor": "HPE", "Oem": {"Hpe": {}}}), Maker::Hpe),
            (json!({"Oem": {"Hp": {}}}), Maker::Hpe),
            (json!({"Vendor": "Lenovo"}), Maker::Lenovo),
            (json!({"Vendor": "Supermicro"}), Maker::Supermicro),
            (json!({"Oem": {"Supermicro": {}}}), Maker::Supermicro),
            (json!({"Vendor": "AMI"}), Maker::Ami),
            (json!({"Vendor": "ASRockRack"}), Maker::Ami),
            (json!({"Product": "OpenBmc"}), Maker::Other),
            (json!({"Vendor": "Amiable Systems"}), Maker::Other),
            (json!({}), Maker::Other),
        ] {
            assert_eq!(Quirks::of(&Resource::new("/", None, root.clone())).maker, expected, "{root}");
        }
    }

    #[test]
    fn an_old_idrac_chooses_the_virtual_cd_by_attribute_and_a_new_one_does_not() {
        let manager = |version: &str, links: Value| {
            Resource::new(
                "/m/1",
                None,
                json!({"FirmwareVersion": version, "Links": {"Oem": {"Dell": links}}}),
            )
        };
        let dell = Quirks { maker: Maker::Dell };
        let linked = json!({"DellAttributes": [{"@odata.id": "/a/System.Embedded.1"}, {"@odata.id": "/a/iDRAC.Embedded.1"}]});
        let path =
            |version, links| dell.first_boot(&manager(version, links), FirstBoot::VirtualCd).map(|c| c.path);
        assert_eq!(path("5.10.50.00", linked), Some("/a/iDRAC.Embedded.1".into()));
        assert_eq!(path("4.40.00.00", json!({})), Some("/m/1/Attributes".into()));
        assert_eq!(path("6.00.30.00", json!({})), None);
        // An iDRAC10, and what tells nothing.
        assert_eq!(path("1.20.50.00", json!({})), None);
        assert_eq!(path("unknown", json!({})), None);
        let other = Quirks { maker: Maker::Other };
        assert_eq!(other.first_boot(&manager("1.0", json!({})), FirstBoot::VirtualCd), None);
    }
}

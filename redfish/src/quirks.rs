//! What is odd about a BMC: classified once from its service root, then asked by name.
//!
//! No other file knows a vendor. Each habit names where it was seen; most habits need no entry here, because the
//! client looks at what the BMC offers instead of at who made it.

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

    /// Mode, Enabled and Target of an override must come together, or the PATCH is refused (sushy, AMI MegaRAC and
    /// ASRockRack).
    #[must_use]
    pub fn override_needs_mode(self) -> bool {
        self.maker == Maker::Ami
    }

    /// `Cd` is the physical drive; the virtual one is called `UsbCd` (ironic's Supermicro vendor code).
    #[must_use]
    pub fn virtual_cd_is_usb(self) -> bool {
        self.maker == Maker::Supermicro
    }
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
}

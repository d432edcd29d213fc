//! What stands on a configuration volume, in the two forms that images look for.
//!
//! | form | label | who reads it |
//! |---|---|---|
//! | NoCloud | `cidata` | cloud-init (also as `CIDATA`; on vfat or iso9660), Talos, Kairos |
//! | OpenStack's config drive, version 2 | `config-2` | cloud-init, Ignition, Flatcar, cloudbase-init on Windows |
//!
//! The network's configuration stands only on `cidata`: a config drive's `network_data.json` is another format, with
//! links and networks by OpenStack's ids, and nothing here translates one into the other. Without it cloud-init asks for
//! an address by DHCP.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::{File, VolumeError, iso};
use crate::{delivery::Configuration, form};

/// Which volume an image looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// NoCloud's.
    Cidata,
    /// OpenStack's config drive.
    Config2,
}

impl Format {
    /// The label that it is found by.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Cidata => "cidata",
            Self::Config2 => "config-2",
        }
    }

    /// Whether it has a place for [`Configuration::network_config`]; where it has none, that is left out.
    #[must_use]
    pub const fn holds_network_config(self) -> bool {
        match self {
            Self::Cidata => true,
            Self::Config2 => false,
        }
    }

    /// The files that stand on it.
    #[must_use]
    pub fn files(self, configuration: &Configuration) -> Vec<File<'static>> {
        match self {
            Self::Cidata => cidata(configuration),
            Self::Config2 => config_2(configuration),
        }
    }

    /// The volume itself.
    ///
    /// # Errors
    /// The configuration is too large.
    pub fn volume(self, configuration: &Configuration) -> Result<Bytes, VolumeError> {
        iso(self.label(), &self.files(configuration))
    }
}

/// NoCloud takes a volume only with both user-data and meta-data.
fn cidata(configuration: &Configuration) -> Vec<File<'static>> {
    let Configuration { user_data, meta_data, network_config } = configuration;
    let mut files = vec![
        File { path: "user-data", content: user_data.clone() },
        File { path: "meta-data", content: form::meta_data(meta_data).into() },
        File { path: "vendor-data", content: form::vendor_data(meta_data).into() },
    ];
    files.extend(network_config.clone().map(|content| File { path: "network-config", content }));
    files
}

fn config_2(configuration: &Configuration) -> Vec<File<'static>> {
    let Configuration { user_data, meta_data, .. } = configuration;
    let mut about: Map<String, Value> =
        form::fields(meta_data).into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    // Readers take the uuid as the id of the instance, which need not look like one, and its name as that of the host. Who
    // calls them as NoCloud does means the same.
    for (name, on_nocloud) in [("uuid", "instance-id"), ("hostname", "local-hostname")] {
        let told = meta_data.more.get(name).or_else(|| about.get(on_nocloud)).cloned();
        about.insert(name.to_owned(), told.unwrap_or_default());
    }
    let usual = [
        ("name", about.get("hostname").cloned().unwrap_or_default()),
        ("meta", json!({ "provider_id": meta_data.provider_id, "phone_home_url": meta_data.phone_home_url })),
    ];
    for (name, value) in usual {
        about.entry(name).or_insert(value);
    }
    // Of an object cloud-init takes what stands under its own name.
    let vendor_data = json!({ "cloud-init": form::vendor_data(meta_data) });
    vec![
        File { path: "openstack/latest/meta_data.json", content: Value::from(about).to_string().into() },
        File { path: "openstack/latest/user_data", content: user_data.clone() },
        File { path: "openstack/latest/vendor_data.json", content: vendor_data.to_string().into() },
    ]
}

#[cfg(test)]
#[path = "contents_tests.rs"]
mod tests;

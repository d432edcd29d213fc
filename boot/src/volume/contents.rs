//! What stands on a configuration volume, in the two forms that images look for.
//!
//! | form | label | who reads it |
//! |---|---|---|
//! | NoCloud | `cidata` | cloud-init (also as `CIDATA`; on vfat or iso9660), Talos, Kairos, Flatcar |
//! | OpenStack's config drive, version 2 | `config-2` | cloud-init (also as `CONFIG-2`), Ignition, cloudbase-init on Windows |
//!
//! The network's configuration stands only on `cidata`: a config drive's `network_data.json` is another format, with
//! links and networks by OpenStack's ids, and nothing here translates one into the other. Without it cloud-init asks for
//! an address by DHCP.

use std::fmt;

use bytes::Bytes;
use serde_json::json;

use super::{File, VolumeError, iso};

/// What a machine is told.
#[derive(Clone, PartialEq, Eq)]
pub struct Configuration {
    /// The bootstrap data: cloud-config, a script, or what else the image takes.
    pub user_data: Bytes,
    /// Who the machine is.
    pub meta_data: MetaData,
    /// What the platform adds to the user's data.
    pub vendor_data: Option<Bytes>,
    /// The network's configuration, in NoCloud's form.
    pub network_config: Option<Bytes>,
}

/// Without what is in it: bootstrap data are secret.
impl fmt::Debug for Configuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Configuration").field("meta_data", &self.meta_data).finish_non_exhaustive()
    }
}

/// Who a machine is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetaData {
    /// Changes when the machine shall take its configuration as new.
    pub instance_id: String,
    /// What it is called.
    pub hostname: String,
}

/// Which volume an image looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
    ///
    /// # Errors
    /// The configuration can't be written in this form.
    pub fn files(self, configuration: &Configuration) -> Result<Vec<File<'static>>, ContentsError> {
        match self {
            Self::Cidata => Ok(cidata(configuration)),
            Self::Config2 => config_2(configuration),
        }
    }

    /// The volume itself.
    ///
    /// # Errors
    /// The configuration can't be written in this form, or is too large.
    pub fn volume(self, configuration: &Configuration) -> Result<Bytes, ContentsError> {
        Ok(iso(self.label(), &self.files(configuration)?)?)
    }
}

/// Why a configuration can't be put on a volume. Nothing of it is shown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ContentsError {
    /// Vendor data that JSON can't hold.
    #[error(
        "the vendor data can't stand on a config-2 volume, where they are JSON: they are not UTF-8. Use a cidata volume, \
         or vendor data in text"
    )]
    VendorData,
    /// The volume can't be made.
    #[error(transparent)]
    Volume(#[from] VolumeError),
}

/// NoCloud takes a volume only with both user-data and meta-data.
fn cidata(configuration: &Configuration) -> Vec<File<'static>> {
    let MetaData { instance_id, hostname } = &configuration.meta_data;
    // A JSON string is a YAML string, whatever is in it.
    let meta_data = format!("instance-id: {}\nlocal-hostname: {}\n", json!(instance_id), json!(hostname));
    let mut files = vec![
        File { path: "user-data", content: configuration.user_data.clone() },
        File { path: "meta-data", content: meta_data.into() },
    ];
    let more =
        [("vendor-data", &configuration.vendor_data), ("network-config", &configuration.network_config)];
    for (path, content) in more {
        files.extend(content.clone().map(|content| File { path, content }));
    }
    files
}

fn config_2(configuration: &Configuration) -> Result<Vec<File<'static>>, ContentsError> {
    let MetaData { instance_id, hostname } = &configuration.meta_data;
    // Readers take the uuid as the id of the instance; it need not look like one.
    let meta_data = json!({ "uuid": instance_id, "hostname": hostname, "name": hostname, "meta": {} });
    let mut files = vec![
        File { path: "openstack/latest/meta_data.json", content: meta_data.to_string().into() },
        File { path: "openstack/latest/user_data", content: configuration.user_data.clone() },
    ];
    if let Some(vendor_data) = &configuration.vendor_data {
        let text = str::from_utf8(vendor_data).map_err(|_| ContentsError::VendorData)?;
        // Of an object cloud-init takes what stands under its own name.
        let vendor_data = json!({ "cloud-init": text });
        files.push(File {
            path: "openstack/latest/vendor_data.json",
            content: vendor_data.to_string().into(),
        });
    }
    Ok(files)
}

#[cfg(test)]
#[path = "contents_tests.rs"]
mod tests;

//! Volumes that bring configuration on a second CD.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::Isos;
use super::tree::Tree;

/// A volume with configuration.
#[derive(Debug, Clone)]
pub enum Seed {
    /// As cloud-init's NoCloud reads it.
    NoCloud {
        /// `meta-data`.
        meta_data: String,
        /// `user-data`.
        user_data: String,
    },
    /// OpenStack's config drive.
    ConfigDrive {
        /// `meta_data.json`.
        meta_data: String,
        /// `user_data`.
        user_data: String,
    },
}

pub(super) async fn make(isos: &Isos, seed: &Seed, directory: &Path) -> Result<PathBuf> {
    let tree = Tree::new(isos.installed(), directory.join("tree"))?;
    let label = match seed {
        Seed::NoCloud { meta_data, user_data } => {
            tree.write("meta-data", meta_data)?;
            tree.write("user-data", user_data)?;
            "cidata"
        }
        Seed::ConfigDrive { meta_data, user_data } => {
            tree.write("openstack/latest/meta_data.json", meta_data)?;
            tree.write("openstack/latest/user_data", user_data)?;
            "config-2"
        }
    };
    tree.into_iso(&["-J", "-V", label], &directory.join("seed.iso")).await
}

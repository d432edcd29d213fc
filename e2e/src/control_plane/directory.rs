//! The directory of one control plane: kept when something went wrong, gone
//! when all went well.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Where everything of one control plane is written.
#[derive(Debug)]
pub(super) struct Directory {
    path: PathBuf,
    temporary: bool,
}

impl Directory {
    /// A new temporary directory, or a given one that is the caller's to
    /// remove.
    pub(super) fn new(given: Option<&Path>) -> Result<Self> {
        let (path, temporary) = match given {
            Some(path) => (path.to_owned(), false),
            None => {
                let made = tempfile::Builder::new().prefix("beskar7-").tempdir();
                (made.context("a temporary directory")?.keep(), true)
            }
        };
        for name in ["pki", "logs", "etcd", "kubeconfigs"] {
            let folder = path.join(name);
            std::fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
        }
        let path = path.canonicalize().with_context(|| format!("finding {}", path.display()))?;
        Ok(Self { path, temporary })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn at(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// All went well: nobody will want to look, unless `BESKAR7_KEEP` says so.
    pub(super) fn remove(&self) -> Result<()> {
        if !self.temporary || keep_asked() {
            return Ok(());
        }
        std::fs::remove_dir_all(&self.path).with_context(|| format!("removing {}", self.path.display()))
    }
}

fn keep_asked() -> bool {
    std::env::var_os("BESKAR7_KEEP").is_some_and(|value| !value.is_empty() && value != "0")
}

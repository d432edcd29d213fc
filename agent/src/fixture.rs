//! A small copy of `/sys`, `/proc` and `/dev` for tests.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

/// A directory that is gone with it.
pub struct Tree(tempfile::TempDir);

impl Tree {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn root(&self) -> &Path {
        self.0.path()
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.root().join(path)
    }

    pub fn file(&self, path: &str, content: impl AsRef<[u8]>) -> &Self {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    /// A link, with its target as sysfs has it: relative.
    pub fn link(&self, path: &str, target: &str) -> &Self {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(target, path).unwrap();
        self
    }

    /// A block device: its directory below `sys/devices`, the link in `sys/block`, and some attributes. `device` is the
    /// directory of what it belongs to, relative to its own.
    pub fn disk(&self, directory: &str, device: &str, attributes: &[(&str, &str)]) -> &Self {
        let name = directory.rsplit('/').next().unwrap();
        let defaults =
            [("size", "1953525168"), ("ro", "0"), ("removable", "0"), ("queue/logical_block_size", "512")];
        for (attribute, value) in defaults.iter().chain(attributes) {
            self.file(&format!("sys/devices/{directory}/{attribute}"), format!("{value}\n"));
        }
        if !device.is_empty() {
            fs::create_dir_all(self.path(&format!("sys/devices/{directory}/{device}"))).unwrap();
            self.link(&format!("sys/devices/{directory}/device"), device);
        }
        self.link(&format!("sys/block/{name}"), &format!("../devices/{directory}"))
    }
}
